"""LimitRanger: defaults and limits of a namespace, whatever containers ask for."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import json
from quarterdeck.kit.quantity import Quantity
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugins.limit_ranger import LimitRanger
from quarterdeck.server.authentication.user import User
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreKey, open_memory
from quarterdeck.wire.status import Forbidden

PODS = next(each for each in build_builtin_resources() if each.gvr.group_resource == "pods")


async def make_store(*limits: Object) -> Store:
    store = open_memory()
    value = json.encode({"metadata": {"name": "r"}, "spec": {"limits": list(limits)}})
    await store.put(StoreKey("limitranges", "n", "r"), lambda _revision: value, expected=0)
    return store


def attributes(value: Object, namespace: str = "n") -> AdmissionAttributes:
    return AdmissionAttributes(
        verb="create",
        resource=PODS,
        namespace=namespace,
        name="p",
        user=User(name="alice"),
        value=value,
    )


def pod(*containers: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


def container(name: str = "c", **resources: dict[str, str]) -> Object:
    return {"name": name, "resources": resources}


async def test_other_namespaces_are_left_alone() -> None:
    store = await make_store({"type": "Container", "default": {"cpu": "1"}})
    value = pod(container())
    LimitRanger(store).admit(attributes(value, namespace="other"))
    assert value == pod(container())


async def test_what_a_container_says_stays() -> None:
    store = await make_store({"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}})
    value = pod(container(limits={"cpu": "2"}))
    LimitRanger(store).admit(attributes(value))
    [found] = value["spec"]["containers"]
    assert found["resources"]["limits"] == {"cpu": "2", "memory": "1Gi"}
    assert value["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: memory limit for container c"
    }


async def test_sidecars_count_with_the_containers_of_a_pod() -> None:
    store = await make_store({"type": "Pod", "max": {"cpu": "2"}})
    sidecar = {**container("s", limits={"cpu": "1500m"}), "restartPolicy": "Always"}
    once = container("o", limits={"cpu": "1500m"})
    main = container("m", limits={"cpu": "1"})
    LimitRanger(store).validate(attributes(pod(main, initContainers=[once])))
    with pytest.raises(Forbidden, match="maximum cpu usage per Pod is 2, but limit is 2500m"):
        LimitRanger(store).validate(attributes(pod(main, initContainers=[sidecar])))


async def test_container_without_a_limit_does_not_pass_a_maximum() -> None:
    store = await make_store({"type": "Container", "max": {"cpu": "1"}})
    with pytest.raises(Forbidden, match=r"is 1\.  No limit is specified"):
        LimitRanger(store).validate(attributes(pod(container())))


MILLIS = st.integers(min_value=1, max_value=5000)


@given(low=MILLIS, high=MILLIS, request=MILLIS, limit=MILLIS)
def test_what_passes_is_within_the_limits(low: int, high: int, request: int, limit: int) -> None:
    bounds = {"min": {"cpu": f"{low}m"}, "max": {"cpu": f"{high}m"}}
    store = asyncio.run(make_store({"type": "Container", **bounds}))
    value = pod(container(requests={"cpu": f"{request}m"}, limits={"cpu": f"{limit}m"}))
    is_within = low <= request <= high and low <= limit <= high
    try:
        LimitRanger(store).validate(attributes(value))
    except Forbidden:
        assert not is_within
    else:
        assert is_within


@given(st.lists(st.tuples(MILLIS, st.booleans()), min_size=1, max_size=5))
def test_pod_asks_for_its_containers_or_its_largest_init_container(
    asked: list[tuple[int, bool]],
) -> None:
    containers = [
        container("c", limits={"cpu": f"{cpu}m"}) for cpu, is_init in asked if not is_init
    ]
    init = [container("i", limits={"cpu": f"{cpu}m"}) for cpu, is_init in asked if is_init]
    together = sum(cpu for cpu, is_init in asked if not is_init)
    largest = max((cpu for cpu, is_init in asked if is_init), default=0)
    expected = max(together, largest)
    store = asyncio.run(make_store({"type": "Pod", "max": {"cpu": f"{expected}m"}}))
    LimitRanger(store).validate(attributes(pod(*containers, initContainers=init)))
    tight = asyncio.run(make_store({"type": "Pod", "max": {"cpu": f"{expected - 1}m"}}))
    if expected > 1:
        with pytest.raises(Forbidden, match=f"but limit is {Quantity.parse(f'{expected}m')}"):
            LimitRanger(tight).validate(attributes(pod(*containers, initContainers=init)))
