"""Which plugins a write meets: those that concern its resource, in their order."""

import asyncio
import copy
import random
from collections.abc import Awaitable
from typing import Any

import pytest

from quarterdeck.server.admission.assembly import build_plugins, choose_plugins
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.chain import Admission
from quarterdeck.server.admission.plugin import (
    MutatingPlugin,
    Plugin,
    ScopedPlugin,
    ValidatingPlugin,
)
from quarterdeck.server.admission.plugins.certificate_requests import CertificateRequests
from quarterdeck.server.admission.plugins.role_escalation import RoleEscalation
from quarterdeck.server.admission.plugins.service_addresses import ServiceAddresses
from quarterdeck.server.admission.policies.param_access import ParamAccess
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import open_memory

RESOURCES = {
    each.gvr.group_resource: each for each in build_builtin_resources(("MutatingAdmissionPolicy",))
}
_OFF = (
    "AlwaysPullImages",
    "DenyServiceExternalIPs",
    "ExtendedResourceToleration",
    "LimitPodHardAntiAffinityTopology",
    "PodNodeSelector",
)


def build_scoped_plugins() -> list[Plugin]:
    store = open_memory()
    chosen, roles = choose_plugins(_OFF, ()), RbacAuthorizer(store)
    plugins = (
        *build_plugins(chosen, store, random.Random(1)),
        ServiceAddresses(store),
        RoleEscalation(roles),
        ParamAccess(store, Registry(), roles),
        CertificateRequests(roles, chosen),
    )
    return [plugin for plugin in plugins if isinstance(plugin, ScopedPlugin)]


def provoke() -> Object:
    """An object that each plugin would change or refuse, if it were of the plugin's kind."""
    term = {"topologyKey": "zone"}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "resources": {"requests": {"example.com/gpu": "1"}}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "overhead": {"cpu": "1"},
        "externalIPs": ["192.0.2.1"],
        "type": "NodePort",
        "paramKind": {"apiVersion": "v1", "kind": "Secret"},
        "groups": ["system:masters"],
        "signerName": "kubernetes.io/kube-apiserver-client",
    }
    return {
        "metadata": {"name": "x", "namespace": "g", "labels": {}},
        "spec": spec,
        "globalDefault": True,
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        "status": {"certificate": "aGk="},
    }


def attributes(resource: Resource, verb: str = "create", part: str = "") -> AdmissionAttributes:
    return AdmissionAttributes(
        verb=verb,
        resource=resource,
        namespace="g",
        name="x",
        user=User(name="somebody"),
        subresource=part,
        value=None if verb == "delete" else provoke(),
        old=None if verb == "create" else {"metadata": {"name": "x"}},
    )


@pytest.mark.parametrize("plugin", build_scoped_plugins(), ids=lambda each: type(each).__name__)
def test_a_scoped_plugin_has_nothing_to_say_about_other_resources(plugin: Plugin) -> None:
    assert isinstance(plugin, ScopedPlugin)
    for name, resource in RESOURCES.items():
        if name in plugin.resources:
            continue
        for verb in ("create", "update", "delete"):
            for part in ("", "status", "approval"):
                write = attributes(resource, verb, part)
                before = copy.deepcopy(write.value)
                assert plugin.admit(write) is None
                assert plugin.validate(write) is None
                assert write.value == before, name


class Recorder:
    def __init__(self, name: str, log: list[str]) -> None:
        self._name = name
        self._log = log

    def admit(self, attributes: AdmissionAttributes) -> None:
        self._log.append(f"{self._name} admits")

    def validate(self, attributes: AdmissionAttributes) -> None:
        self._log.append(f"{self._name} validates")


class PodRecorder(Recorder):
    resources = frozenset({"pods"})


class Mutator(MutatingPlugin):
    def admit(self, attributes: AdmissionAttributes) -> None:
        (attributes.value or {})["changed"] = True


class Validator(ValidatingPlugin):
    def validate(self, attributes: AdmissionAttributes) -> None:
        assert (attributes.value or {}).get("changed") is True


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        pytest.param("pods", ["a", "pods", "b"], id="concerned"),
        pytest.param("nodes", ["a", "b"], id="not concerned"),
    ],
)
async def test_plugins_are_called_in_order_where_they_are_concerned(
    resource: str, expected: list[str]
) -> None:
    log: list[str] = []
    chain = Admission(
        (
            Recorder("a", log),
            Validator(),
            PodRecorder("pods", log),
            Mutator(),
            Recorder("b", log),
        )
    )
    for _ in range(2):  # the first write finds out whom to call, the second one knows
        log.clear()
        write = attributes(RESOURCES[resource])
        await chain.admit(write)
        await chain.validate(write)
        admitted = [f"{name} admits" for name in expected]
        assert log == admitted + [f"{name} validates" for name in expected]


class Slow(Recorder):
    """Decides after a turn of the event loop."""

    def admit(self, attributes: AdmissionAttributes) -> Awaitable[None]:  # type: ignore[override]
        return self._decide(f"{self._name} admits")

    def validate(self, attributes: AdmissionAttributes) -> Awaitable[None]:  # type: ignore[override]
        return self._decide(f"{self._name} validates")

    async def _decide(self, text: str) -> None:
        await asyncio.sleep(0)
        self._log.append(text)


class Reviewer:
    """Asks others, and wants to be asked again when it is asked to."""

    def __init__(self, log: list[str], *, is_active: bool) -> None:
        self._log = log
        self.is_active = is_active

    async def admit(self, attributes: AdmissionAttributes) -> None:
        attributes.reinvocation.is_needed = True
        self._log.append("reviewer admits")

    async def validate(self, attributes: AdmissionAttributes) -> None:
        self._log.append("reviewer validates")


@pytest.mark.parametrize("is_active", [True, False])
@pytest.mark.parametrize("middle", [Recorder, Slow])
async def test_all_plugins_decide_in_order_whoever_has_to_wait(
    middle: type[Recorder], *, is_active: bool
) -> None:
    def build(log: list[str]) -> Admission:
        plugins = (Recorder("a", log), middle("b", log), Recorder("c", log))
        reviewer = Reviewer(log, is_active=is_active)
        return Admission(plugins, (reviewer,), (Recorder("last", log),))

    expected: list[str] = []
    chain, write = build(expected), attributes(RESOURCES["nodes"])
    await chain.admit(write)
    if is_active:
        await chain.admit_async(write)
    await chain.validate(write)
    if is_active:
        await chain.validate_async(write)

    log: list[str] = []
    chain, write = build(log), attributes(RESOURCES["nodes"])
    waits = middle is Slow or is_active
    pending = chain.admit_all(write)
    assert (pending is not None) == waits
    if pending is not None:
        await pending
    pending = chain.validate_all(write)
    assert (pending is not None) == waits
    if pending is not None:
        await pending
    assert log == expected
    assert log.count("c admits") == (2 if is_active else 1)


async def test_a_change_by_a_policy_makes_a_second_round_without_webhooks() -> None:
    class Policy(MutatingPlugin):
        def admit(self, attributes: AdmissionAttributes) -> None:
            attributes.reinvocation.is_needed = True

    log: list[str] = []
    chain = Admission((Recorder("a", log), Policy()))
    pending = chain.admit_all(attributes(RESOURCES["nodes"]))
    assert pending is not None
    await pending
    assert log == ["a admits", "a admits"]
