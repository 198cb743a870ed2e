"""Policies and conditions whose expressions are expensive do not hold up the others."""

import asyncio
from typing import Any

import pytest
from occupied_server import INLINE, MAPS, Api, serving

from quarterdeck.kit import json as kit_json

GROUP = "/apis/admissionregistration.k8s.io/v1"
NUMBERS = "[1,2,3,4,5,6,7,8,9,10]"
EXPENSIVE = f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, {NUMBERS}.all(d, a + d > 0))))"
"""Costs more than an expression may on the event loop, whatever the object is."""
CHEAP = "object.metadata.name != 'refused'"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
ONLY_LARGE = {"matchLabels": {"asks": "much"}}
"""The small requests of others are not about these policies."""
LARGE = {f"key-{number}": "v" for number in range(INLINE // 8)}


async def create(api: Api, resource: str, name: str, spec: dict[str, Any]) -> None:
    member = spec if resource.endswith("webhookconfigurations") else {"spec": spec}
    group = f"{GROUP}alpha1" if resource.startswith("mutatingadmissionpol") else GROUP
    body = kit_json.encode({"metadata": {"name": name}, **member})
    assert await api.send("POST", f"{group}/{resource}", body) == 201


async def create_policy(api: Api, params: dict[str, Any] | None = None, **spec: Any) -> None:
    match = {"resourceRules": [RULE], "objectSelector": ONLY_LARGE}
    await create(api, "validatingadmissionpolicies", "policy", {"matchConstraints": match, **spec})
    binding = {"policyName": "policy", "validationActions": ["Deny"], "paramRef": params}
    await create(api, "validatingadmissionpolicybindings", "policy", binding)


def build_map(data: dict[str, str], name: str = "asking") -> bytes:
    return kit_json.encode({"metadata": {"name": name, "labels": {"asks": "much"}}, "data": data})


VALIDATIONS: dict[str, dict[str, Any]] = {
    "expression": {"validations": [{"expression": EXPENSIVE}]},
    "variable": {
        "variables": [{"name": "long", "expression": EXPENSIVE}],
        "validations": [{"expression": "variables.long"}],
    },
    "condition": {
        "matchConditions": [{"name": "long", "expression": EXPENSIVE}],
        "validations": [{"expression": CHEAP}],
    },
    "annotation": {
        "validations": [{"expression": CHEAP}],
        "auditAnnotations": [{"key": "long", "valueExpression": f"string({EXPENSIVE})"}],
    },
    "authorizer": {
        "validations": [
            {"expression": "authorizer.group('').resource('pods').check('get').allowed()"}
        ]
    },
}


async def check_delayed(api: Api, body: bytes, expected: int = 201) -> None:
    """A write waits for a thread, and everybody else is served meanwhile."""
    async with api.occupied():
        writing = asyncio.ensure_future(api.send("POST", MAPS, body))
        await api.check_served()
        assert not writing.done()
    assert await writing == expected


@pytest.mark.parametrize("name", VALIDATIONS)
async def test_expensive_policy_does_not_hold_up_others(name: str) -> None:
    async with serving() as api:
        await create_policy(api, **VALIDATIONS[name])
        assert await api.send("POST", MAPS, build_map({}, "first")) == 201  # compiles it
        await check_delayed(api, build_map({}))


async def test_policy_on_a_large_object_does_not_hold_up_others() -> None:
    async with serving() as api:
        await create_policy(api, validations=[{"expression": CHEAP}])
        assert await api.send("POST", MAPS, build_map({}, "first")) == 201
        worker = api.cluster.api.core.worker
        before = worker.computations
        assert await api.send("POST", MAPS, build_map({}, "small")) == 201
        assert worker.computations == before
        large = build_map(LARGE)
        assert await api.send("POST", f"{MAPS}?dryRun=All", large) == 201
        # read, completed, validated, asked about, and written into the answer
        assert worker.computations == before + 5
        assert await api.send("POST", MAPS, build_map(LARGE, "refused")) == 422


async def test_large_parameters_do_not_hold_up_others() -> None:
    reference = {
        "selector": ONLY_LARGE,
        "namespace": "default",
        "parameterNotFoundAction": "Deny",
    }
    async with serving() as api:
        for number in range(2):
            assert await api.send("POST", MAPS, build_map(LARGE, f"params-{number}")) == 201
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        validations = [{"expression": "params.data['key-1'] == 'v'"}]
        await create_policy(api, reference, paramKind=kind, validations=validations)
        assert await api.send("POST", f"{MAPS}?dryRun=All", build_map({})) == 201
        await check_delayed(api, build_map({}))


async def test_expensive_mutation_does_not_hold_up_others() -> None:
    expression = f'[JSONPatch{{op: "add", path: "/data", value: {{"a": string({EXPENSIVE})}}}}]'
    match = {"resourceRules": [RULE], "objectSelector": ONLY_LARGE}
    policy = {
        "matchConstraints": match,
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
    async with serving(feature_gates=frozenset({"MutatingAdmissionPolicy"})) as api:
        await create(api, "mutatingadmissionpolicies", "policy", policy)
        await create(api, "mutatingadmissionpolicybindings", "policy", {"policyName": "policy"})
        assert await api.send("POST", MAPS, build_map({}, "first")) == 201
        await check_delayed(api, build_map({}))
        stored = kit_json.decode(await api.read(f"{MAPS}/asking"))
        assert stored["data"] == {"a": "true"}


async def test_expensive_condition_of_a_webhook_does_not_hold_up_others() -> None:
    webhook = {
        "name": "long.example.com",
        "rules": [RULE],
        "objectSelector": ONLY_LARGE,
        "clientConfig": {"url": "https://127.0.0.1:9/never"},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "matchConditions": [{"name": "long", "expression": f"!({EXPENSIVE})"}],
    }
    async with serving() as api:
        spec = {"webhooks": [webhook]}
        await create(api, "validatingwebhookconfigurations", "hook", spec)
        await check_delayed(api, build_map({}))
