"""ValidatingAdmissionPolicies: what the recorded answers do not show."""

import asyncio
import json
from pathlib import Path
from typing import Any

from quarterdeck.server.options import ServerOptions
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{GROUP}/validatingadmissionpolicies"
BINDINGS = f"{GROUP}/validatingadmissionpolicybindings"
MAPS = "/api/v1/namespaces/default/configmaps"


def policy(name: str, *validations: Object, **spec: Any) -> Object:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }
    match = {"resourceRules": [rule]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": match, "validations": list(validations), **spec},
    }


def binding(name: str, *actions: str, **spec: Any) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": list(actions or ("Deny",)), **spec},
    }


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


async def install(api: Any, value: Object, *actions: str, **spec: Any) -> None:
    made = await api("POST", POLICIES, value)
    assert made.status == 201, made.body
    bound = await api("POST", BINDINGS, binding(value["metadata"]["name"], *actions, **spec))
    assert bound.status == 201, bound.body


async def test_policy_without_binding_decides_nothing(serving: Any) -> None:
    async with serving() as api:
        made = await api("POST", POLICIES, policy("never", {"expression": "false"}))
        assert made.status == 201
        assert (await api("POST", MAPS, config_map("a"))).status == 201


async def test_deleted_binding_ends_the_policy(serving: Any) -> None:
    async with serving() as api:
        await install(api, policy("never", {"expression": "false"}))
        assert (await api("POST", MAPS, config_map("a"))).status == 422
        await api("DELETE", f"{BINDINGS}/never")
        assert (await api("POST", MAPS, config_map("a"))).status == 201


async def test_expression_that_costs_too_much_is_stopped_and_refused(serving: Any) -> None:
    loop = "range.all(x, range.all(y, range.all(z, x + y + z != '!')))"
    greedy = policy(
        "greedy",
        {"expression": loop.replace("range", "variables.keys")},
        variables=[{"name": "keys", "expression": "object.data.map(k, k)"}],
    )
    many = {f"key-{number:03}": "v" for number in range(400)}
    async with serving() as api:
        await install(api, greedy)
        answer = await api("POST", MAPS, config_map("big", **many))
        assert answer.status == 422
        assert "cost" in answer.message
        assert (await api("POST", MAPS, config_map("small", a="1"))).status == 201


async def test_greedy_policy_that_ignores_failures_lets_the_write_pass(serving: Any) -> None:
    loop = "object.data.all(x, object.data.all(y, object.data.all(z, x + y + z != '!')))"
    many = {f"key-{number:03}": "v" for number in range(400)}
    async with serving() as api:
        await install(api, policy("greedy", {"expression": loop}, failurePolicy="Ignore"))
        assert (await api("POST", MAPS, config_map("big", **many))).status == 201


async def test_variable_is_computed_only_where_it_is_needed(serving: Any) -> None:
    lazy = policy(
        "lazy",
        {"expression": "!('n' in object.data) || variables.n > 3"},
        variables=[{"name": "n", "expression": "int(object.data.n)"}],
    )
    async with serving() as api:
        await install(api, lazy)
        assert (await api("POST", MAPS, config_map("none", other="x"))).status == 201
        assert (await api("POST", MAPS, config_map("more", n="4"))).status == 201
        assert (await api("POST", MAPS, config_map("less", n="3"))).status == 422


async def test_authorizer_knows_the_groups_of_service_accounts(serving: Any) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    check = "authorizer.serviceAccount('team', 'robot').group('').resource('secrets')"
    asks = policy("asks", {"expression": f"{check}.namespace('team').check('get').allowed()"})
    async with serving() as api:
        await install(api, asks)
        assert (await api("POST", MAPS, config_map("a"))).status == 422
        rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
        role = {"metadata": {"name": "readers"}, "rules": [rule]}
        assert (await api("POST", f"{rbac}/clusterroles", role)).status == 201
        bound = {
            "metadata": {"name": "readers"},
            "roleRef": {"kind": "ClusterRole", "name": "readers"},
            "subjects": [{"kind": "Group", "name": "system:serviceaccounts:team"}],
        }
        assert (await api("POST", f"{rbac}/clusterrolebindings", bound)).status == 201
        assert (await api("POST", MAPS, config_map("a"))).status == 201


async def test_authorizer_knows_what_the_request_is_about(serving: Any) -> None:
    asks = policy("asks", {"expression": "authorizer.requestResource.check('delete').allowed()"})
    async with serving() as api:
        await install(api, asks)
        assert (await api("POST", MAPS, config_map("a"))).status == 201


async def test_excluded_and_named_resources_are_left_alone(serving: Any) -> None:
    value = policy("never", {"expression": "false"})
    match = value["spec"]["matchConstraints"]
    match["excludeResourceRules"] = [{**match["resourceRules"][0], "resourceNames": ["free"]}]
    async with serving() as api:
        await install(api, value)
        assert (await api("POST", MAPS, config_map("free"))).status == 201
        assert (await api("POST", MAPS, config_map("bound"))).status == 422


async def test_binding_without_its_policy_is_no_error(serving: Any) -> None:
    async with serving() as api:
        assert (await api("POST", BINDINGS, binding("absent"))).status == 201
        assert (await api("POST", MAPS, config_map("a"))).status == 201


async def test_configurations_are_never_subject_to_policies(serving: Any) -> None:
    value = policy("all", {"expression": "false"})
    value["spec"]["matchConstraints"]["resourceRules"][0] |= {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
    }
    async with serving() as api:
        await install(api, value)
        assert (await api("POST", MAPS, config_map("a"))).status == 422
        assert (await api("DELETE", f"{POLICIES}/all")).status == 200
        assert (await api("POST", MAPS, config_map("a"))).status == 201


async def test_unreadable_stored_policy_is_skipped_and_reported(serving: Any) -> None:
    reported: list[str] = []
    async with serving() as api:
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(lambda _loop, context: reported.append(context["message"]))
        try:
            key = StoreKey("validatingadmissionpolicies.admissionregistration.k8s.io", "", "odd")
            await api.cluster.api.core.store.put(
                key, lambda _revision: b'{"metadata":{"name":"odd"},"spec":3}', expected=0
            )
            assert (await api("POST", MAPS, config_map("a"))).status == 201
        finally:
            loop.set_exception_handler(before)
    assert any("'odd'; it has no effect" in each for each in reported)


def as_user(name: str) -> dict[str, str]:
    return {"Impersonate_User": name}


async def allow(api: Any, user: str, *rules: Object) -> None:
    group = "/apis/rbac.authorization.k8s.io/v1"
    role = {"metadata": {"name": user}, "rules": list(rules)}
    binding = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }
    assert (await api("POST", f"{group}/clusterroles", role)).status == 201
    assert (await api("POST", f"{group}/clusterrolebindings", binding)).status == 201


POLICY_WRITER: Object = {
    "apiGroups": ["admissionregistration.k8s.io"],
    "resources": ["*"],
    "verbs": ["*"],
}
SECRET_READER: Object = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}


async def test_nobody_reads_secrets_through_the_parameters_of_a_policy(serving: Any) -> None:
    thief = policy(
        "thief",
        {"expression": "false", "messageExpression": "string(params.data.key)"},
        paramKind={"apiVersion": "v1", "kind": "Secret"},
    )
    reference = {"name": "s", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}
    bound = binding("thief", "Deny", paramRef=reference)
    async with serving() as api:
        await allow(api, "mallory", POLICY_WRITER)
        refused = await api("POST", POLICIES, thief, **as_user("mallory"))
        assert refused.status == 422
        assert 'must have "get" permission on all objects of the referenced' in refused.message
        assert (await api("POST", POLICIES, thief)).status == 201
        refused = await api("POST", BINDINGS, bound, **as_user("mallory"))
        assert refused.status == 422
        assert 'does not have "get" permission on the object' in refused.message
        await allow(api, "alice", POLICY_WRITER, SECRET_READER)
        assert (await api("POST", BINDINGS, bound, **as_user("alice"))).status == 201


async def test_binding_to_an_unknown_policy_needs_all_rights(serving: Any) -> None:
    reference = {"name": "s", "namespace": "kube-system", "parameterNotFoundAction": "Deny"}
    bound = binding("later", "Deny", paramRef=reference)
    async with serving() as api:
        await allow(api, "mallory", POLICY_WRITER, SECRET_READER)
        refused = await api("POST", BINDINGS, bound, **as_user("mallory"))
        assert refused.status == 422
        assert "unable to get policy later" in refused.message


async def test_every_failure_reaches_the_audit_log(serving: Any, tmp_path: Path) -> None:
    audit = tmp_path / "policy.yaml"
    audit.write_text(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
        "rules: [{level: Metadata, verbs: [create]}, {level: None}]\n"
    )
    log = tmp_path / "audit.log"
    failing = [{"expression": f"{number} < 0", "message": f"m{number}"} for number in range(2)]
    options = ServerOptions(audit_policy=audit, audit_log=log)
    async with serving(options=options) as api:
        await install(api, policy("first", *failing), "Audit")
        await install(api, policy("second", failing[0]), "Audit", "Warn")
        assert (await api("POST", MAPS, config_map("a"))).status == 201
    event = json.loads(log.read_text().splitlines()[-1])
    failures = json.loads(
        event["annotations"]["validation.policy.admission.k8s.io/validation_failure"]
    )
    found = [(each["policy"], each["expressionIndex"], each["message"]) for each in failures]
    assert found == [("first", 0, "m0"), ("first", 1, "m1"), ("second", 0, "m0")]
    assert failures[2]["validationActions"] == ["Audit", "Warn"]


async def test_failures_and_annotations_reach_the_audit_log(serving: Any, tmp_path: Path) -> None:
    audit = tmp_path / "policy.yaml"
    audit.write_text(
        "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
        "rules: [{level: Metadata, verbs: [create]}, {level: None}]\n"
    )
    log = tmp_path / "audit.log"
    noted = policy(
        "noted",
        {"expression": "size(object.data) < 2", "message": "too many"},
        auditAnnotations=[{"key": "keys", "valueExpression": "string(size(object.data))"}],
    )
    options = ServerOptions(audit_policy=audit, audit_log=log)
    async with serving(options=options) as api:
        await install(api, noted, "Audit")
        assert (await api("POST", MAPS, config_map("many", a="1", b="2"))).status == 201
    event = json.loads(log.read_text().splitlines()[-1])
    assert event["annotations"]["noted/keys"] == "2"
    [failure] = json.loads(
        event["annotations"]["validation.policy.admission.k8s.io/validation_failure"]
    )
    assert failure == {
        "message": "too many",
        "policy": "noted",
        "binding": "noted",
        "expressionIndex": 0,
        "validationActions": ["Audit"],
    }
