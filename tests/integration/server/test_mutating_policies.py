"""MutatingAdmissionPolicies: what they do to writes, and what they may not do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from webhook_server import webhook_server

from quarterdeck.kit import http, yaml
from quarterdeck.server.options import ServerOptions

Object = dict[str, Any]
GROUP = "/apis/admissionregistration.k8s.io/v1alpha1"
POLICIES = f"{GROUP}/mutatingadmissionpolicies"
BINDINGS = f"{GROUP}/mutatingadmissionpolicybindings"
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
WIDGETS = "/apis/stable.example.com/v1/namespaces/default/widgets"
OPTIONS = ServerOptions(feature_gates=frozenset({"MutatingAdmissionPolicy"}))


def apply(expression: str) -> Object:
    return {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    }


def patch(expression: str) -> Object:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def policy(name: str, *mutations: Object, resource: str = "configmaps", **spec: Any) -> Object:
    group = "stable.example.com" if resource == "widgets" else ""
    rule = {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [resource],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1alpha1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "reinvocationPolicy": "Never",
            "mutations": list(mutations),
            **spec,
        },
    }


async def install(api: Any, value: Object, **spec: Any) -> None:
    made = await api("POST", POLICIES, value)
    assert made.status == 201, made.body
    name = value["metadata"]["name"]
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1alpha1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, **spec},
    }
    bound = await api("POST", BINDINGS, binding)
    assert bound.status == 201, bound.body


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> Object:
    metadata: Object = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str) -> Object:
    containers = [{"name": "main", "image": "app"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers},
    }


LABEL = 'Object{metadata: Object.metadata{labels: {"team": "blue"}}}'


async def test_kind_is_served_only_with_its_feature_gate(serving: Any) -> None:
    async with serving() as api:
        assert (await api("GET", POLICIES)).status == 404
    async with serving(options=OPTIONS) as api:
        assert (await api("GET", POLICIES)).status == 200
        listed = (await api("GET", GROUP)).body["resources"]
        assert {each["kind"] for each in listed} == {
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
        }


async def test_configuration_is_merged_as_apply_merges(serving: Any) -> None:
    async with serving(options=OPTIONS) as api:
        await install(api, policy("label", apply(LABEL)))
        made = await api("POST", MAPS, config_map("a", {"app": "shop"}))
        assert made.body["metadata"]["labels"] == {"app": "shop", "team": "blue"}
        stored = await api("GET", f"{MAPS}/a")
        assert stored.body["metadata"]["labels"] == {"app": "shop", "team": "blue"}


async def test_update_is_mutated_and_keeps_its_identity(serving: Any) -> None:
    async with serving(options=OPTIONS) as api:
        made = await api("POST", MAPS, config_map("a"))
        await install(api, policy("label", apply(LABEL)))
        changed = await api("PUT", f"{MAPS}/a", config_map("a", x="1"))
        assert changed.status == 200, changed.body
        assert changed.body["metadata"]["labels"] == {"team": "blue"}
        assert changed.body["metadata"]["uid"] == made.body["metadata"]["uid"]


async def test_item_of_a_list_is_merged_by_its_key_and_defaulted(serving: Any) -> None:
    sidecar = (
        "Object{spec: Object.spec{containers: ["
        'Object.spec.containers{name: "proxy", image: "envoy"},'
        'Object.spec.containers{name: "main", imagePullPolicy: "Never"}]}}'
    )
    async with serving(options=OPTIONS) as api:
        await install(api, policy("sidecar", apply(sidecar), resource="pods"))
        made = await api("POST", PODS, pod("a"))
        assert made.status == 201, made.body
        containers = {each["name"]: each for each in made.body["spec"]["containers"]}
        assert containers["main"]["image"] == "app"
        assert containers["main"]["imagePullPolicy"] == "Never"
        assert containers["proxy"]["terminationMessagePath"] == "/dev/termination-log"


async def test_patch_may_use_variables_and_escaped_keys(serving: Any) -> None:
    expression = (
        '[JSONPatch{op: "add", path: "/metadata/labels", value: {}},'
        ' JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a.b/c"),'
        " value: variables.size}]"
    )
    variables = [{"name": "size", "expression": "string(object.data.size())"}]
    async with serving(options=OPTIONS) as api:
        await install(api, policy("count", patch(expression), variables=variables))
        made = await api("POST", MAPS, config_map("a", x="1", y="2"))
        assert made.body["metadata"]["labels"] == {"a.b/c": "2"}


async def test_patch_whose_test_fails_changes_nothing(serving: Any) -> None:
    expression = (
        '[JSONPatch{op: "test", path: "/data/x", value: "other"},'
        ' JSONPatch{op: "remove", path: "/data/x"}]'
    )
    async with serving(options=OPTIONS) as api:
        await install(api, policy("careful", patch(expression)))
        made = await api("POST", MAPS, config_map("a", x="1"))
        assert made.body["data"] == {"x": "1"}


async def test_mutations_see_what_those_before_them_did(serving: Any) -> None:
    first = patch('[JSONPatch{op: "add", path: "/data/n", value: "1"}]')
    second = patch('[JSONPatch{op: "add", path: "/data/m", value: object.data.n + "!"}]')
    async with serving(options=OPTIONS) as api:
        await install(api, policy("steps", first, second))
        made = await api("POST", MAPS, config_map("a", x="1"))
        assert made.body["data"] == {"x": "1", "n": "1", "m": "1!"}


async def test_params_and_conditions_decide(serving: Any) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'team': params.data.team}}}"
    value = policy(
        "team",
        apply(expression),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[{"name": "named", "expression": "object.metadata.name != 'params'"}],
    )
    reference = {"name": "params", "namespace": "default", "parameterNotFoundAction": "Deny"}
    async with serving(options=OPTIONS) as api:
        await install(api, value, paramRef=reference)
        refused = await api("POST", MAPS, config_map("early"))
        assert refused.status == 403
        assert "no params found for policy binding with `Deny`" in refused.message
        await api("DELETE", f"{BINDINGS}/team")
        await api("POST", MAPS, config_map("params", team="red"))
        await api(
            "POST",
            BINDINGS,
            {"metadata": {"name": "team"}, "spec": {"policyName": "team", "paramRef": reference}},
        )
        made = await api("POST", MAPS, config_map("late"))
        assert made.body["metadata"]["labels"] == {"team": "red"}
        again = await api("PUT", f"{MAPS}/params", config_map("params", team="green"))
        assert "labels" not in again.body["metadata"]


async def test_policy_without_binding_changes_nothing(serving: Any) -> None:
    async with serving(options=OPTIONS) as api:
        await api("POST", POLICIES, policy("label", apply(LABEL)))
        assert "labels" not in (await api("POST", MAPS, config_map("a"))).body["metadata"]


async def test_custom_objects_are_merged_by_their_schema(serving: Any) -> None:
    port = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}}
    ports = {
        "type": "array",
        "items": {**port, "required": ["name"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    expression = "Object{spec: Object.spec{ports: [Object.spec.ports{name: 'b', n: 2}]}}"
    async with serving(options=OPTIONS) as api:
        await api.define_widgets(type="object", properties={"ports": ports})
        await install(api, policy("ports", apply(expression), resource="widgets"))
        widget = {
            "apiVersion": "stable.example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w"},
            "spec": {"ports": [{"name": "a", "n": 1}]},
        }
        made = await api("POST", WIDGETS, widget)
        assert made.status == 201, made.body
        assert made.body["spec"]["ports"] == [{"name": "a", "n": 1}, {"name": "b", "n": 2}]


@pytest.mark.parametrize(
    ("mutation", "said"),
    [
        pytest.param(
            apply("Object{metadata: Object.wrong{labels: {'a': 'b'}}}"),
            'unexpected type name "Object.wrong", expected "Object.metadata"',
            id="type named after another field",
        ),
        pytest.param(
            apply("Object{nothing: 'here'}"),
            ".nothing: field not declared in schema",
            id="field the kind does not have",
        ),
        pytest.param(
            apply(
                "Object{metadata: Object.metadata{ownerReferences: [{'uid': object.data.none}]}}"
            ),
            "no such key: none",
            id="expression without a value",
        ),
        pytest.param(
            patch("[JSONPatch{op: 'remove', path: '/data/none'}]"),
            "JSON Patch: ",
            id="patch that does not apply",
        ),
        pytest.param(
            patch("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]"),
            "may not change the kind",
            id="patch that makes another kind of it",
        ),
    ],
)
async def test_mutation_that_fails_is_refused_or_ignored(
    serving: Any, mutation: Object, said: str
) -> None:
    async with serving(options=OPTIONS) as api:
        await install(api, policy("fails", mutation))
        refused = await api("POST", MAPS, config_map("a", x="1"))
        assert (refused.status, refused.body["reason"]) == (403, "Invalid")
        assert refused.message.startswith("policy 'fails' with binding 'fails' denied request: "), (
            refused.message
        )
        assert said in refused.message
        assert (await api("GET", f"{MAPS}/a")).status == 404
        current = (await api("GET", f"{POLICIES}/fails")).body
        current["spec"]["failurePolicy"] = "Ignore"
        assert (await api("PUT", f"{POLICIES}/fails", current)).status == 200
        assert (await api("POST", MAPS, config_map("a", x="1"))).body["data"] == {"x": "1"}


async def test_atomic_parts_cannot_be_applied(serving: Any) -> None:
    command = (
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'main',"
        " command: ['sh']}]}}"
    )
    async with serving(options=OPTIONS) as api:
        await install(api, policy("command", apply(command), resource="pods"))
        refused = await api("POST", PODS, pod("a"))
        assert "may not mutate atomic arrays, maps or structs: .spec.containers[0].command" in (
            refused.message
        )


async def test_greedy_mutation_is_stopped(serving: Any) -> None:
    loop = "object.data.all(x, object.data.all(y, object.data.all(z, x + y + z != '!')))"
    expression = f"Object{{metadata: Object.metadata{{labels: {{'a': string({loop})}}}}}}"
    many = {f"key-{number:03}": "v" for number in range(400)}
    async with serving(options=OPTIONS) as api:
        await install(api, policy("greedy", apply(expression)))
        refused = await api("POST", MAPS, {**config_map("big"), "data": many})
        assert refused.status == 403
        assert "cost" in refused.message


async def test_policy_cannot_move_an_object_or_lock_policies(serving: Any) -> None:
    moves = patch("[JSONPatch{op: 'replace', path: '/metadata/namespace', value: 'kube-system'}]")
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    breaks = policy("breaks", patch("[JSONPatch{op: 'remove', path: '/none'}]"))
    breaks["spec"]["matchConstraints"]["resourceRules"] = [rule]
    async with serving(options=OPTIONS) as api:
        await install(api, policy("moves", moves))
        assert (await api("POST", MAPS, config_map("a"))).status == 400
        await api("DELETE", f"{BINDINGS}/moves")
        await install(api, breaks)
        assert (await api("POST", MAPS, config_map("a"))).status == 403
        assert (await api("DELETE", f"{POLICIES}/breaks")).status == 200
        assert (await api("POST", MAPS, config_map("a"))).status == 201


@pytest.mark.parametrize(("reinvocation", "count"), [("IfNeeded", "2"), ("Never", "1")])
async def test_policy_sees_later_changes_if_it_asks_for_that(
    serving: Any, reinvocation: str, count: str
) -> None:
    counts = patch(
        '[JSONPatch{op: "add", path: "/data/seen", value:'
        " string(has(object.data.seen) ? int(object.data.seen) + 1 : 1)}]"
    )
    changes = patch('[JSONPatch{op: "add", path: "/data/late", value: "yes"}]')
    async with serving(options=OPTIONS) as api:
        await install(api, policy("a-counts", counts, reinvocationPolicy=reinvocation))
        await install(api, policy("b-changes", changes))
        made = await api("POST", MAPS, config_map("a", x="1"))
        assert made.body["data"] == {"x": "1", "seen": count, "late": "yes"}


async def test_policy_sees_what_a_webhook_changed(serving: Any) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'keys': string(object.data.size())}}}"

    async def add_key(request: http.Request) -> http.Response:
        review = json.loads(await request.read(1 << 20))
        operation = [{"op": "add", "path": "/data/hook", "value": "1"}]
        import base64

        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {
                "uid": review["request"]["uid"],
                "allowed": True,
                "patchType": "JSONPatch",
                "patch": base64.b64encode(json.dumps(operation).encode()).decode(),
            },
        }
        return http.Response(
            200, [("Content-Type", "application/json")], json.dumps(answer).encode()
        )

    async with serving(options=OPTIONS) as api, webhook_server(add_key) as hook:
        await install(api, policy("keys", apply(expression), reinvocationPolicy="IfNeeded"))
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["configmaps"],
        }
        made = await api(
            "POST",
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            {
                "metadata": {"name": "hook"},
                "webhooks": [
                    {
                        "name": "hook.example.com",
                        "clientConfig": {"url": hook.url, "caBundle": hook.ca_bundle},
                        "rules": [rule],
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                    }
                ],
            },
        )
        assert made.status == 201, made.body
        made = await api("POST", MAPS, config_map("a", x="1"))
        assert made.body["metadata"]["labels"] == {"keys": "2"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mutations": []}, "spec.mutations: Required value: mutations must contain at least one"),
        ({"reinvocationPolicy": ""}, "spec.reinvocationPolicy: Required value"),
        ({"reinvocationPolicy": "Often"}, 'supported values: "IfNeeded", "Never"'),
        ({"mutations": [{}]}, "spec.mutations[0].patchType: Required value"),
        ({"mutations": [{"patchType": "Merge"}]}, "spec.mutations[0].patchType: Unsupported value"),
        (
            {"mutations": [{"patchType": "JSONPatch"}]},
            "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is",
        ),
        (
            {"mutations": [{**apply(LABEL), "jsonPatch": {"expression": "[]"}}]},
            "spec.mutations[0].jsonPatch: Invalid value",
        ),
        ({"mutations": [apply("1")]}, "must evaluate to Object but got int"),
        ({"mutations": [patch("['a']")]}, "must evaluate to list(JSONPatch) but got list(string)"),
        ({"mutations": [apply("Nothing{}")]}, "undeclared reference to 'Nothing'"),
        ({"mutations": [patch("[JSONPatch{of: 'add'}]")]}, "undefined field 'of'"),
    ],
)
async def test_invalid_policy_is_refused_with_the_field(
    serving: Any, change: Object, said: str
) -> None:
    value = policy("bad", apply(LABEL))
    value["spec"].update(change)
    async with serving(options=OPTIONS) as api:
        refused = await api("POST", POLICIES, value)
        assert refused.status == 422
        assert said in refused.message


async def test_deletions_cannot_be_mutated(serving: Any) -> None:
    value = policy("bad", apply(LABEL))
    value["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = ["DELETE"]
    async with serving(options=OPTIONS) as api:
        refused = await api("POST", POLICIES, value)
        assert 'operations: Unsupported value: "DELETE"' in refused.message


async def test_plugin_can_be_switched_off(serving: Any) -> None:
    options = ServerOptions(
        feature_gates=OPTIONS.feature_gates,
        disabled_plugins=frozenset({"MutatingAdmissionPolicy"}),
    )
    async with serving(options=options) as api:
        await install(api, policy("label", apply(LABEL)))
        assert "labels" not in (await api("POST", MAPS, config_map("a"))).body["metadata"]


async def test_writer_must_be_allowed_to_read_the_params(serving: Any) -> None:
    value = policy("p", apply(LABEL), paramKind={"apiVersion": "v1", "kind": "Secret"})
    rules = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    roles = "/apis/rbac.authorization.k8s.io/v1"
    subject = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "p", "apiGroup": "rbac.authorization.k8s.io"}
    async with serving(options=OPTIONS) as api:
        await api("POST", f"{roles}/clusterroles", {"metadata": {"name": "p"}, "rules": rules})
        await api(
            "POST",
            f"{roles}/clusterrolebindings",
            {"metadata": {"name": "p"}, "roleRef": reference, "subjects": [subject]},
        )
        refused = await api("POST", POLICIES, value, Impersonate_User="eve")
        assert refused.status == 422
        assert 'must have "get" permission on all objects of the referenced paramKind' in (
            refused.message
        )


async def test_example_of_the_documentation_works(serving: Any) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "change-objects-by-policy.md"
    (text,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    async with serving(options=OPTIONS) as api:
        for document, path in zip(yaml.load_all(text), (POLICIES, BINDINGS), strict=True):
            made = await api("POST", path, document)
            assert made.status == 201, made.body
        wanted = pod("wanted")
        wanted["metadata"]["labels"] = {"proxy": "yes"}
        made = await api("POST", PODS, wanted)
        assert made.status == 201, made.body
        assert [each["name"] for each in made.body["spec"]["containers"]] == ["main", "proxy"]
        assert made.body["metadata"]["labels"]["example.com/by"] == "sidecar"
        other = await api("POST", PODS, pod("other"))
        assert [each["name"] for each in other.body["spec"]["containers"]] == ["main"]
