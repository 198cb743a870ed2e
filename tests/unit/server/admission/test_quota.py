"""What objects use, and what quotas say to it; the expectations are kube-apiserver's answers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quarterdeck.server.admission.quota.check import (
    QuotaExceeded,
    compute_charges,
    compute_remaining_pods,
)
from quarterdeck.server.admission.quota.scopes import matches_scopes
from quarterdeck.server.admission.quota.usage import list_resources, measure_usage

Object = dict[str, Any]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def quota(hard: Object, used: Object | None = None, name: str = "q", **spec: Any) -> Object:
    status = {"hard": hard, "used": dict.fromkeys(hard, "0") if used is None else used}
    return {"metadata": {"name": name}, "spec": {"hard": hard, **spec}, "status": status}


def container(name: str = "c1", *, asks: Object | None = None, may: Object | None = None) -> Object:
    resources = {"requests": asks, "limits": may}
    return {"name": name, "resources": {kind: each for kind, each in resources.items() if each}}


def pod(*containers: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


def texts(resource: str, value: Object, now: datetime | None = None) -> dict[str, str]:
    return {name: str(amount) for name, amount in measure_usage(resource, value, now).items()}


def service(kind: str, ports: int, **spec: Any) -> Object:
    return {"spec": {"type": kind, "ports": [{"port": 80 + n} for n in range(ports)], **spec}}


def claim(size: str, storage_class: str = "", **status: Any) -> Object:
    spec: Object = {"resources": {"requests": {"storage": size}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return {"spec": spec, "status": status}


def test_a_pod_uses_what_its_containers_ask_for_together() -> None:
    two = pod(
        container(asks={"cpu": "100m", "memory": "64Mi"}, may={"memory": "128Mi"}),
        container("c2", asks={"cpu": "150m"}),
    )
    assert texts("pods", two) == {
        "count/pods": "1",
        "pods": "1",
        "cpu": "250m",
        "requests.cpu": "250m",
        "memory": "64Mi",
        "requests.memory": "64Mi",
        "limits.memory": "128Mi",
    }


@pytest.mark.parametrize(
    ("start", "cpu"),
    [
        pytest.param([container("i", asks={"cpu": "50m"})], "100m", id="less than the rest"),
        pytest.param([container("i", asks={"cpu": "300m"})], "300m", id="more than the rest"),
        pytest.param(
            [{**container("s", asks={"cpu": "50m"}), "restartPolicy": "Always"}],
            "150m",
            id="one that stays",
        ),
        pytest.param(
            [
                {**container("s", asks={"cpu": "50m"}), "restartPolicy": "Always"},
                container("i", asks={"cpu": "120m"}),
            ],
            "170m",
            id="beside one that stays",
        ),
    ],
)
def test_containers_of_the_start_count_where_they_need_more(start: list[Object], cpu: str) -> None:
    starting = pod(container(asks={"cpu": "100m"}), initContainers=start)
    assert texts("pods", starting)["requests.cpu"] == cpu


def test_overhead_pages_and_devices_count_too() -> None:
    value = pod(
        container(
            asks={"cpu": "1", "hugepages-2Mi": "4Mi", "example.com/gpu": "2"}, may={"cpu": "2"}
        ),
        overhead={"cpu": "10m", "memory": "1Mi"},
    )
    found = texts("pods", value)
    assert found["requests.cpu"] == "1010m"
    assert found["limits.cpu"] == "2010m"
    assert found["requests.memory"] == "1Mi"
    assert "limits.memory" not in found
    assert found["hugepages-2Mi"] == found["requests.hugepages-2Mi"] == "4Mi"
    assert found["requests.example.com/gpu"] == "2"
    assert "example.com/gpu" not in found


@pytest.mark.parametrize(
    ("metadata", "status", "uses"),
    [
        pytest.param({}, {"phase": "Running"}, True, id="runs"),
        pytest.param({}, {"phase": "Succeeded"}, False, id="ended"),
        pytest.param({}, {"phase": "Failed"}, False, id="failed"),
        pytest.param({"ago": 10}, {}, True, id="is given time to end"),
        pytest.param({"ago": 40}, {}, False, id="should have ended"),
    ],
)
def test_pods_that_cannot_run_any_more_only_count_as_objects(
    metadata: Object, status: Object, *, uses: bool
) -> None:
    value = {**pod(container(asks={"cpu": "1"})), "status": status}
    if ago := metadata.get("ago"):
        since = (NOW - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
        value["metadata"] = {"deletionTimestamp": since, "deletionGracePeriodSeconds": 30}
    found = texts("pods", value, NOW)
    assert found["count/pods"] == "1"
    assert ("pods" in found, "requests.cpu" in found) == (uses, uses)


@pytest.mark.parametrize(
    ("value", "ports", "balancers"),
    [
        pytest.param(service("ClusterIP", 2), "0", "0", id="inside"),
        pytest.param(service("NodePort", 2), "2", "0", id="node ports"),
        pytest.param(service("LoadBalancer", 2), "2", "1", id="balancer"),
        pytest.param(
            service("LoadBalancer", 2, allocateLoadBalancerNodePorts=False), "0", "1", id="bare"
        ),
    ],
)
def test_services_use_node_ports_and_balancers(value: Object, ports: str, balancers: str) -> None:
    found = texts("services", value)
    assert (found["services.nodeports"], found["services.loadbalancers"]) == (ports, balancers)
    assert found["services"] == found["count/services"] == "1"


def test_claims_use_storage_of_their_class() -> None:
    found = texts("persistentvolumeclaims", claim("1Gi", "gold"))
    assert found["requests.storage"] == "1Gi"
    assert found["gold.storageclass.storage.k8s.io/requests.storage"] == "1Gi"
    assert found["gold.storageclass.storage.k8s.io/persistentvolumeclaims"] == "1"
    grown = claim("1Gi", allocatedResources={"storage": "2Gi"})
    assert texts("persistentvolumeclaims", grown)["requests.storage"] == "2Gi"


def test_other_objects_are_counted() -> None:
    assert texts("secrets", {}) == {"count/secrets": "1", "secrets": "1"}
    assert texts("deployments.apps", {}) == {"count/deployments.apps": "1"}
    members = ["count/widgets.example.com", "requests.cpu", "limits.memory", "secrets"]
    assert list(list_resources(members)) == ["widgets.example.com", "pods", "secrets"]


# --- what quotas say


def test_room_is_charged() -> None:
    limits = quota({"pods": "2", "requests.cpu": "1"}, {"pods": "1", "requests.cpu": "250m"})
    (charge,) = compute_charges("pods", pod(container(asks={"cpu": "0.5"})), None, [limits])
    assert charge.used == {"pods": "2", "requests.cpu": "750m"}


@pytest.mark.parametrize(
    ("limits", "value", "message"),
    [
        pytest.param(
            quota({"pods": "2"}, {"pods": "2"}),
            pod(container()),
            "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
            id="number",
        ),
        pytest.param(
            quota({"cpu": "1500m", "limits.memory": "256Mi"}),
            pod(container(asks={"cpu": "2"}, may={"memory": "1Gi"})),
            "exceeded quota: q, requested: cpu=2,limits.memory=1Gi, used: cpu=0,limits.memory=0,"
            " limited: cpu=1500m,limits.memory=256Mi",
            id="two at once",
        ),
        pytest.param(
            quota({"cpu": "1", "limits.memory": "1Gi", "requests.cpu": "1"}),
            pod(container(asks={"cpu": "1m"}), initContainers=[container("i0")]),
            "failed quota: q: must specify cpu for: i0; limits.memory for: c1,i0;"
            " requests.cpu for: i0",
            id="unsaid",
        ),
        pytest.param(
            quota({"pods": "5", "secrets": "1"}, {"secrets": "0"}),
            pod(container()),
            "status unknown for quota: q, resources: pods",
            id="not counted yet",
        ),
    ],
)
def test_refusals_are_in_the_words_of_kubernetes(
    limits: Object, value: Object, message: str
) -> None:
    with pytest.raises(QuotaExceeded) as refusal:
        compute_charges("pods", value, None, [limits])
    assert str(refusal.value) == message


def test_a_change_is_charged_what_it_adds_and_never_refused_for_less() -> None:
    limits = quota({"services.nodeports": "1"}, {"services.nodeports": "1"})
    two, one, none = service("NodePort", 2), service("NodePort", 1), service("ClusterIP", 1)
    assert compute_charges("services", none, one, [limits]) == []
    assert compute_charges("services", one, one, [limits]) == []
    with pytest.raises(QuotaExceeded, match=r"requested: services\.nodeports=1, used"):
        compute_charges("services", two, one, [limits])


def test_a_quota_without_status_limits_nothing_yet() -> None:
    limits = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}
    assert compute_charges("pods", pod(container()), None, [limits]) == []


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        pytest.param({"scopes": ["BestEffort"]}, pod(container()), True, id="best effort"),
        pytest.param(
            {"scopes": ["BestEffort"]}, pod(container(asks={"cpu": "1m"})), False, id="not best"
        ),
        pytest.param({"scopes": ["NotBestEffort"]}, pod(container()), False, id="best is not"),
        pytest.param(
            {"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True, id="terminating"
        ),
        pytest.param({"scopes": ["Terminating"]}, pod(), False, id="for ever"),
        pytest.param({"scopes": ["NotTerminating"]}, pod(), True, id="not terminating"),
        pytest.param({"scopes": ["BestEffort", "Terminating"]}, pod(), False, id="all of them"),
        pytest.param(
            {"scopes": ["CrossNamespacePodAffinity"]},
            pod(
                affinity={
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"podAffinityTerm": {"namespaceSelector": {}}}
                        ]
                    }
                }
            ),
            True,
            id="looks elsewhere",
        ),
        pytest.param({"scopes": ["CrossNamespacePodAffinity"]}, pod(), False, id="stays here"),
        pytest.param({}, pod(), True, id="no scope"),
    ],
)
def test_scopes_tell_pods_apart(spec: Object, value: Object, *, expected: bool) -> None:
    assert matches_scopes({"spec": spec}, "pods", value) is expected
    assert matches_scopes({"spec": spec}, "services", {}) is (not spec)


@pytest.mark.parametrize(
    ("operator", "values", "names"),
    [
        ("In", ["high"], ["high"]),
        ("NotIn", ["high"], ["low", ""]),
        ("Exists", [], ["high", "low"]),
        ("DoesNotExist", [], [""]),
    ],
)
def test_priority_classes_are_selected(operator: str, values: list[str], names: list[str]) -> None:
    rule = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    limits = {"spec": {"scopeSelector": {"matchExpressions": [rule]}}}
    found = [
        name
        for name in ("high", "low", "")
        if matches_scopes(limits, "pods", pod(priorityClassName=name))
    ]
    assert found == names


def test_room_is_how_many_pods_still_fit() -> None:
    value = pod(container(asks={"cpu": "300m"}))
    assert compute_remaining_pods(value, []) is None
    limits = quota({"requests.cpu": "1", "pods": "9"}, {"requests.cpu": "100m", "pods": "1"})
    number, refusal = compute_remaining_pods(value, [limits]) or (0, "")
    assert number == 3
    assert refusal == (
        "exceeded quota: q, requested: requests.cpu=300m, used: requests.cpu=1,"
        " limited: requests.cpu=1"
    )
    assert compute_remaining_pods(pod(container()), [limits]) == (
        0,
        "failed quota: q: must specify requests.cpu for: c1",
    )
