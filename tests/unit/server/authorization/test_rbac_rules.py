"""Rules of roles: what they allow, which include others, who holds them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.authentication.user import ANONYMOUS_USER, LOCAL_USER, User
from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.server.authorization.policy_rule import (
    PolicyRule,
    covers_path,
    matches_group,
    matches_resource,
    matches_verb,
    parse_rules,
    to_json,
)
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.authorization.rbac.coverage import describe_rules, find_missing
from quarterdeck.server.authorization.rbac.grants import Grants, ResourceAccess, Source
from quarterdeck.server.authorization.rbac.policy import (
    AUTOUPDATE,
    RESOURCES,
    default_objects,
    merge_binding,
    merge_role,
)
from quarterdeck.storage.memory import open_memory

VERBS = ("get", "list", "*")
GROUPS = ("", "apps", "*")
RESOURCE_NAMES = ("pods", "pods/status", "deployments", "*/status", "*")
NAMES = ("a", "b")


def rules() -> st.SearchStrategy[PolicyRule]:
    def some(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...]]:
        return st.lists(st.sampled_from(values), min_size=1, max_size=2, unique=True).map(tuple)

    return st.builds(
        PolicyRule,
        verbs=some(VERBS),
        api_groups=some(GROUPS),
        resources=some(RESOURCE_NAMES),
        resource_names=st.one_of(st.just(()), some(NAMES)),
    )


def allows(rule: PolicyRule, access: ResourceAccess, name: str) -> bool:
    return (
        matches_verb(rule, access.verb)
        and matches_group(rule, access.group)
        and matches_resource(rule, access.resource, access.subresource)
        and (not rule.resource_names or name in rule.resource_names)
    )


ACCESSES = [
    (ResourceAccess(verb, group, resource, subresource), name)
    for verb in ("get", "list", "watch")
    for group in ("", "apps", "batch")
    for resource in ("pods", "deployments", "jobs")
    for subresource in ("", "status", "scale")
    for name in ("", "a", "b", "c")
]


@given(st.lists(rules(), max_size=3), st.lists(rules(), max_size=3))
def test_rules_without_missing_ones_allow_no_more(
    held: list[PolicyRule], wanted: list[PolicyRule]
) -> None:
    if find_missing(held, wanted):
        return
    for access, name in ACCESSES:
        if any(allows(rule, access, name) for rule in wanted):
            assert any(allows(rule, access, name) for rule in held)


@given(st.lists(rules(), max_size=3))
def test_rules_include_themselves(held: list[PolicyRule]) -> None:
    assert find_missing(held, held) == []


@given(st.lists(rules(), max_size=4))
def test_permissions_answer_as_the_rules_do(given_rules: list[PolicyRule]) -> None:
    grants = Grants()
    grants.put(Source.CLUSTER_ROLES, role("r", given_rules))
    grants.put(Source.CLUSTER_ROLE_BINDINGS, binding("b", "r", user("alice")))
    permissions = grants.get_permissions("alice", (), "")
    for access, name in ACCESSES:
        expected = any(allows(rule, access, name) for rule in given_rules)
        assert permissions.allows(access, name) is expected


def test_missing_rules_are_described_as_kubernetes_does() -> None:
    held = [PolicyRule(verbs=("get", "list"), api_groups=("",), resources=("pods",))]
    wanted = [
        PolicyRule(verbs=("get", "delete"), api_groups=("",), resources=("pods",)),
        PolicyRule(
            verbs=("list",), api_groups=("",), resources=("secrets",), resource_names=("a", "b")
        ),
        PolicyRule(verbs=("*",), api_groups=("apps",), resources=("deployments",)),
        PolicyRule(verbs=("get",), non_resource_urls=("/logs",)),
    ]
    assert describe_rules(find_missing(held, wanted)).splitlines() == [
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["list"]}',
        '{APIGroups:["apps"], Resources:["deployments"], Verbs:["*"]}',
        '{NonResourceURLs:["/logs"], Verbs:["get"]}',
    ]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/ping", False),
        ("/healthz/*", "/healthz/ping", True),
        ("/healthz/*", "/healthz", False),
        ("*", "/anything", True),
    ],
)
def test_paths_match_exactly_or_by_prefix(pattern: str, path: str, *, expected: bool) -> None:
    assert covers_path(pattern, path) is expected


READ = [PolicyRule(verbs=("get",), api_groups=("",), resources=("pods",))]
GET_PODS = ResourceAccess("get", "", "pods", "")


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name}


def role(name: str, given_rules: list[PolicyRule], namespace: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "rules": [to_json(rule) for rule in given_rules],
    }


def binding(
    name: str, role_name: str, *subjects: dict[str, str], namespace: str = "", kind: str = ""
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"kind": kind or "ClusterRole", "name": role_name},
        "subjects": list(subjects),
    }


def test_role_binding_grants_in_its_namespace_only() -> None:
    grants = Grants()
    grants.put(Source.ROLES, role("r", READ, "team"))
    grants.put(
        Source.ROLE_BINDINGS, binding("b", "r", user("alice"), namespace="team", kind="Role")
    )
    assert grants.get_permissions("alice", (), "team").allows(GET_PODS, "x")
    assert not grants.get_permissions("alice", (), "other").allows(GET_PODS, "x")
    assert not grants.get_permissions("alice", (), "").allows(GET_PODS, "x")


def test_service_account_of_the_binding_namespace_is_a_subject() -> None:
    grants = Grants()
    grants.put(Source.CLUSTER_ROLES, role("r", READ))
    subject = {"kind": "ServiceAccount", "name": "robot"}
    grants.put(Source.ROLE_BINDINGS, binding("b", "r", subject, namespace="team"))
    assert grants.get_permissions("system:serviceaccount:team:robot", (), "team").allows(
        GET_PODS, ""
    )
    assert not grants.get_permissions("robot", (), "team").allows(GET_PODS, "")


def test_user_named_like_a_group_is_not_the_group() -> None:
    grants = Grants()
    grants.put(Source.CLUSTER_ROLES, role("r", READ))
    grants.put(Source.CLUSTER_ROLE_BINDINGS, binding("b", "r", {"kind": "Group", "name": "devs"}))
    assert grants.get_permissions("alice", ("devs",), "").allows(GET_PODS, "")
    assert not grants.get_permissions("devs", (), "").allows(GET_PODS, "")


def test_changes_take_effect_at_once() -> None:
    grants = Grants()
    grants.put(Source.CLUSTER_ROLE_BINDINGS, binding("b", "r", user("alice")))
    assert not grants.get_permissions("alice", (), "").allows(GET_PODS, "")
    grants.put(Source.CLUSTER_ROLES, role("r", READ))
    assert grants.get_permissions("alice", (), "").allows(GET_PODS, "")
    grants.put(Source.CLUSTER_ROLE_BINDINGS, binding("b", "r", user("bob")))
    assert not grants.get_permissions("alice", (), "").allows(GET_PODS, "")
    assert grants.get_permissions("bob", (), "").allows(GET_PODS, "")
    grants.remove(Source.CLUSTER_ROLE_BINDINGS, "", "b")
    assert not grants.get_permissions("bob", (), "").allows(GET_PODS, "")


def test_default_policy_has_the_roles_clients_look_for() -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in default_objects()}
    for name in ("cluster-admin", "admin", "edit", "view", "system:discovery", "system:node"):
        assert ("ClusterRole", name) in names
    for name in ("cluster-admin", "system:public-info-viewer", "system:basic-user"):
        assert ("ClusterRoleBinding", name) in names


def test_missing_default_rules_are_added_and_others_kept() -> None:
    default = next(
        each for each in default_objects() if each["metadata"]["name"] == "system:basic-user"
    )
    assert merge_role(default, default) is None
    own = {"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"]}
    changed = {**default, "rules": [own]}
    merged = merge_role(changed, default)
    assert merged is not None
    assert merged["rules"][0] == own
    assert find_missing(parse_rules(merged["rules"]), parse_rules(default["rules"])) == []


def test_objects_that_refuse_updates_are_left_alone() -> None:
    default = next(each for each in default_objects() if each["kind"] == "ClusterRoleBinding")
    frozen = {
        **default,
        "metadata": {**default["metadata"], "annotations": {AUTOUPDATE: "false"}},
        "subjects": [],
    }
    assert merge_binding(frozen, default) is None
    emptied = {**default, "subjects": []}
    merged = merge_binding(emptied, default)
    assert merged is not None
    assert merged["subjects"] == default["subjects"]


@pytest.mark.parametrize(
    ("user", "attributes", "allowed"),
    [
        pytest.param(LOCAL_USER, Attributes("delete", resource="pods"), True, id="local"),
        pytest.param(ANONYMOUS_USER, Attributes("get", path="/version"), True, id="version"),
        pytest.param(ANONYMOUS_USER, Attributes("get", path="/api/v1"), False, id="discovery"),
        pytest.param(ANONYMOUS_USER, Attributes("get", path="/metrics"), False, id="metrics"),
        pytest.param(ANONYMOUS_USER, Attributes("post", path="/version"), False, id="post"),
        pytest.param(ANONYMOUS_USER, Attributes("list", resource="pods"), False, id="nobody"),
        pytest.param(
            User(name="alice", groups=("system:authenticated",)),
            Attributes("create", group="authorization.k8s.io", resource="selfsubjectaccessreviews"),
            True,
            id="asks about herself",
        ),
        pytest.param(
            User(name="alice", groups=("system:authenticated",)),
            Attributes("get", path="/apis/apps/v1"),
            True,
            id="discovery by somebody",
        ),
    ],
)
def test_default_roles_allow_what_kubernetes_does(
    user: User, attributes: Attributes, allowed: bool
) -> None:
    authorizer = RbacAuthorizer(open_memory())
    for default in default_objects():
        authorizer.grants.put(Source(RESOURCES[default["kind"]]), default)
    assert authorizer.allows(user, attributes) is allowed
