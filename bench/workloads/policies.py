"""What a validating admission policy adds to a write: processor time, without the network."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from bench.suite import OURS, Contenders
from bench.timing import per_call_us

POLICY: dict[str, Any] = {
    "metadata": {"name": "size"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["configmaps"],
                }
            ]
        },
        "variables": [{"name": "keys", "expression": "size(object.data)"}],
        "validations": [
            {"expression": "variables.keys < 100", "messageExpression": "string(variables.keys)"}
        ],
    },
}
BINDING: dict[str, Any] = {
    "metadata": {"name": "size"},
    "spec": {"policyName": "size", "validationActions": ["Deny"]},
}


@contextmanager
def open_policies(_: int) -> Iterator[Contenders]:
    """One bound policy with a variable, asked about a small ConfigMap that it allows."""
    yield {OURS: lambda: asyncio.run(_measure())}


async def _measure() -> float:
    validate = await _prepare()
    await validate()  # compiles the expressions, in a thread

    def run() -> None:
        with suppress(StopIteration):
            validate().send(None)

    return per_call_us(run)


async def _prepare() -> Callable[[], Coroutine[Any, Any, None]]:
    from quarterdeck.kit import json
    from quarterdeck.kit.clock import SystemClock
    from quarterdeck.kit.metrics import Registry as Metrics
    from quarterdeck.meta.identity import GVR
    from quarterdeck.server.admission.attributes import AdmissionAttributes
    from quarterdeck.server.admission.chain import Admission
    from quarterdeck.server.admission.computation import Computations
    from quarterdeck.server.admission.metrics import AdmissionMetrics
    from quarterdeck.server.admission.policies.plugin import (
        BINDINGS,
        POLICIES,
        ValidatingPolicies,
    )
    from quarterdeck.server.authentication.user import User
    from quarterdeck.server.authorization.always_allow import AlwaysAllow
    from quarterdeck.server.core.worker import Worker
    from quarterdeck.server.kinds import build_builtin_resources
    from quarterdeck.server.registry.registry import Registry
    from quarterdeck.storage import StoreKey, open_memory

    store, registry = open_memory(), Registry()
    registry.put("built-in", build_builtin_resources())
    for name, document in ((POLICIES, json.encode(POLICY)), (BINDINGS, json.encode(BINDING))):
        await store.put(StoreKey(name, "", "size"), partial(_choose, document), expected=0)
    metrics, inline = AdmissionMetrics(Metrics()), 32 * 1024
    computations = Computations(
        threads=Worker(inline), clock=SystemClock(), inline_bytes=inline, slice_s=0.002
    )
    plugin = ValidatingPolicies(
        store, registry, AlwaysAllow(), metrics=metrics, computations=computations
    )
    plugin.start()
    resource = registry.get(GVR("", "v1", "configmaps"))
    assert resource is not None
    value = {"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "b", "c": "d"}}
    attributes = AdmissionAttributes(
        verb="create",
        resource=resource,
        namespace="default",
        name="c",
        user=User(name="alice"),
        value=value,
    )
    chain = Admission((plugin,))
    return lambda: chain.validate(attributes)


def _choose(document: bytes, _revision: int) -> bytes:
    return document
