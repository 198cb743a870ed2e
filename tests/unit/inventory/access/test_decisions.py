"""Decisions: the vectors of the specification, and agreement with a naive evaluator."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.inventory.access import naive

from quarterdeck.apis.clusterpulse.monitor_access_policy import MonitorAccessPolicySpec
from quarterdeck.inventory.access.explanation import explain
from quarterdeck.inventory.access.filters import Item
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.inventory.access.viewer import PolicySet, Viewer
from quarterdeck.inventory.policy import CompiledPolicy, compile_policy

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ALICE = Principal(username="alice", email="alice@example.com", groups=("developers",))


def policy(
    *rules: dict[str, Any],
    effect: str = "Allow",
    priority: int = 100,
    default: str = "none",
    subjects: dict[str, Any] | None = None,
    validity: dict[str, str] | None = None,
    enabled: bool = True,
) -> MonitorAccessPolicySpec:
    document: dict[str, Any] = {
        "identity": {"subjects": subjects or {"users": ["alice"]}, "priority": priority},
        "access": {"effect": effect, "enabled": enabled},
        "scope": {"clusters": {"default": default, "rules": list(rules)}},
    }
    if validity is not None:
        document["lifecycle"] = {"validity": validity}
    return msgspec.convert(document, MonitorAccessPolicySpec)


def rule(*names: str, **more: Any) -> dict[str, Any]:
    return {"selector": {"matchNames": list(names)}, **more}


def compile_spec(name: str, spec: MonitorAccessPolicySpec) -> CompiledPolicy:
    return compile_policy(spec, name=name, namespace="hub", compiled_at="", hash_="")


def viewer(*specs: MonitorAccessPolicySpec, principal: Principal = ALICE) -> Viewer:
    compiled = [compile_spec(f"p{index}", each) for index, each in enumerate(specs)]
    stored = [
        msgspec.json.decode(msgspec.json.encode(each), type=CompiledPolicy) for each in compiled
    ]
    return PolicySet(stored).build_viewer(principal, NOW)


def decide(name: str, *specs: MonitorAccessPolicySpec, **labels: str) -> str:
    return viewer(*specs).decide_cluster(name, labels).decision


def test_without_a_policy_everything_is_denied() -> None:
    assert decide("x") == "deny"


def test_a_deny_of_higher_priority_hides_one_cluster() -> None:
    specs = (
        policy(rule("x"), effect="Deny", priority=200),
        policy({"selector": {"matchPattern": ".*"}}),
    )
    assert (decide("x", *specs), decide("y", *specs)) == ("deny", "allow")


def test_names_of_namespaces_are_filtered() -> None:
    filters = {"names": {"allowed": ["app-*"], "denied": ["app-internal"]}}
    listed = [{"type": "namespaces", "visibility": "filtered", "filters": filters}]
    access = viewer(policy(rule("x", resources=listed))).decide_cluster("x", {})
    assert access.decision == "partial"
    names = ["app-a", "app-internal", "default"]
    assert [n for n in names if access.get_filter("namespaces").allows(Item(name=n))] == ["app-a"]


def test_a_type_that_no_rule_lists_is_denied() -> None:
    assert viewer(policy(rule("x"))).decide_type("x", {}, "pvc") is None


def test_visibility_none_leaves_a_type_to_the_next_policy() -> None:
    hidden = policy(rule("x", resources=[{"type": "pvc", "visibility": "none"}]), priority=200)
    shown = policy(rule("x", resources=[{"type": "pvc"}]))
    assert viewer(hidden).decide_type("x", {}, "pvc") is None
    found = viewer(hidden, shown).decide_type("x", {}, "pvc")
    assert found is not None
    assert found.policy == "hub/p1"


def test_validity_counts_at_the_moment_of_the_decision() -> None:
    assert decide("x", policy(rule("x"), validity={"notAfter": "2026-04-30T23:59:59Z"})) == "deny"
    assert decide("x", policy(rule("x"), validity={"notBefore": "2026-05-02T00:00:00Z"})) == "deny"
    assert decide("x", policy(rule("x"), validity={"notBefore": "2026-05-01T00:00:00Z"})) == "allow"


@pytest.mark.parametrize(
    ("permissions", "actions"),
    [
        pytest.param(None, ("view",), id="left out"),
        pytest.param({"view": True, "viewMetrics": True}, ("view", "view_metrics"), id="both"),
        pytest.param({"view": True, "viewMetrics": False}, ("view",), id="no metrics"),
        pytest.param({"view": False, "viewMetrics": True}, (), id="nothing without view"),
        pytest.param({"viewMetrics": True}, ("view", "view_metrics"), id="view is the default"),
    ],
)
def test_permissions_are_compared_with_actions(
    permissions: dict[str, bool] | None, actions: tuple[str, ...]
) -> None:
    more = {} if permissions is None else {"permissions": permissions}
    assert viewer(policy(rule("x", **more))).decide_cluster("x", {}).actions == actions


def test_aggregations_need_view_metrics() -> None:
    listed = [{"type": "pvc"}]
    plain = viewer(policy(rule("x", resources=listed))).decide_type("x", {}, "pvc")
    assert plain is not None
    assert not plain.shows_aggregations


def test_labels_wildcards_and_defaults_select_clusters() -> None:
    labeled = policy({"selector": {"matchLabels": {"env": "prod"}}})
    assert (decide("x", labeled, env="prod"), decide("x", labeled, env="test")) == (
        "allow",
        "deny",
    )
    wild = policy(rule("prod-*"))
    assert (decide("prod-east", wild), decide("dev-east", wild)) == ("allow", "deny")
    assert decide("x", policy(default="allow")) == "allow"
    assert decide("x", policy(rule("x"), effect="Deny", default="allow")) == "deny"
    assert decide("x", policy(default="deny", priority=200), policy(rule("x"))) == "deny"


def test_an_empty_selector_selects_nothing() -> None:
    assert decide("x", policy({"selector": {}})) == "deny"


def test_deny_goes_first_on_equal_priority() -> None:
    allow, deny = policy(rule("x")), policy(rule("x"), effect="Deny")
    assert decide("x", allow, deny) == decide("x", deny, allow) == "deny"


def test_a_cluster_wide_operator_passes_every_namespace_filter() -> None:
    filters = {"namespaces": {"allowed": ["app"]}}
    spec = policy(rule("x", resources=[{"type": "operators", "filters": filters}]))
    found = viewer(spec).decide_cluster("x", {}).get_filter("operators")
    assert found.allows(Item(name="o", namespaces=["*"]))
    assert not found.allows(Item(name="o", namespaces=["other"]))


def test_exclusion_of_an_aggregation_beats_inclusion() -> None:
    rules = {"include": ["a", "b"], "exclude": ["a"]}
    spec = policy(rule("x", resources=[{"type": "pvc", "aggregations": rules}]))
    found = viewer(spec).decide_type("x", {}, "pvc")
    assert found is not None
    assert [n for n in ("a", "b", "c") if found.filter.shows_aggregation(n)] == ["b"]


def test_large_numbers_match_their_digits() -> None:
    filters = {"fields": {"size": {"allowed": ["1073741824"]}}}
    spec = policy(rule("x", resources=[{"type": "pvc", "filters": filters}]))
    found = viewer(spec).decide_type("x", {}, "pvc")
    assert found is not None
    assert found.filter.allows(Item(name="a", values={"size": 1073741824.0}))
    assert not found.filter.allows(Item(name="a", values={"size": None}))


@pytest.mark.parametrize(
    ("subjects", "principal"),
    [
        ({"users": ["alice@example.com"]}, ALICE),
        ({"groups": ["developers"]}, ALICE),
        (
            {"serviceAccounts": [{"name": "ci", "namespace": "tools"}]},
            Principal(username="system:serviceaccount:tools:ci"),
        ),
    ],
)
def test_subjects_are_users_groups_and_service_accounts(
    subjects: dict[str, Any], principal: Principal
) -> None:
    spec = policy(rule("x"), subjects=subjects)
    assert viewer(spec, principal=principal).decide_cluster("x", {}).is_visible
    stranger = Principal(username="mallory", email="", groups=("",))
    assert not viewer(spec, principal=stranger).decide_cluster("x", {}).is_visible


def test_masters_see_everything() -> None:
    root = Principal(username="root", groups=("system:masters",))
    found = viewer(principal=root)
    assert found.decide_cluster("x", {}).actions == ("view", "view_metrics")
    assert found.decide_type("x", {}, "pvc") is not None


@pytest.mark.parametrize(
    "text", ["(", "[", "a{2,1}", "(?=x)", "\\", "*", "(?P<n", "x**", "a{1001}"]
)
def test_policies_whose_pattern_is_not_re2_count_for_nothing(text: str) -> None:
    bad = compile_spec("bad", policy({"selector": {"matchPattern": text}}))
    assert list(PolicySet([bad]).broken) == ["hub/bad"]
    assert decide("x", policy({"selector": {"matchPattern": text}})) == "deny"


def test_a_deny_policy_whose_pattern_is_not_re2_denies_every_cluster() -> None:
    allow = policy(rule("*"))
    deny = policy(rule("y"), {"selector": {"matchPattern": "("}}, effect="Deny", priority=200)
    assert {decide(name, allow, deny) for name in ("x", "y")} == {"deny"}
    assert decide("x", allow, policy({"selector": {"matchPattern": "("}}, effect="Deny")) == "deny"
    disabled = policy({"selector": {"matchPattern": "("}}, effect="Deny", enabled=False)
    assert decide("x", allow, disabled) == "allow"
    found = explain(viewer(allow, deny), "x", {}, "")
    assert found.reason == "hub/p1 decides about cluster x"
    assert "invalid and denies in doubt: matchPattern of rule 1: " in found.steps[0].result


@pytest.mark.parametrize(
    ("validity", "expected"),
    [
        pytest.param({"notBefore": "soon"}, "deny", id="no beginning"),
        pytest.param({"notAfter": "2026"}, "deny", id="no end"),
        pytest.param({"notBefore": "soon", "notAfter": "2026-04-01T00:00:00Z"}, "allow", id="over"),
        pytest.param({"notBefore": "2026-06-01T00:00:00Z", "notAfter": "x"}, "allow", id="not yet"),
    ],
)
def test_a_time_that_cannot_be_read_sets_a_deny_policy_no_limit(
    validity: dict[str, str], expected: str
) -> None:
    deny = policy(rule("x"), effect="Deny", priority=200, validity=validity)
    assert decide("x", policy(rule("*")), deny) == expected
    assert decide("y", policy(rule("*")), deny) == "allow"


def test_a_pattern_that_backtracks_elsewhere_is_decided_in_linear_time() -> None:
    spec = policy({"selector": {"matchPattern": "(a+)+$"}})
    assert decide("a" * 5000 + "!", spec) == "deny"


def test_a_stored_policy_that_cannot_be_read_counts_for_nothing() -> None:
    good = compile_spec("good", policy(rule("x")))
    bad = msgspec.structs.replace(good, policy_name="bad", not_before="soon")
    found = PolicySet([bad, good])
    assert list(found.broken) == ["hub/bad"]
    assert found.build_viewer(ALICE, NOW).decide_cluster("x", {}).policy == "hub/good"


@given(st.text(alphabet="ab*?.[](){}|^$\\+-\n", max_size=8), st.text("ab.[\\\n", max_size=6))
def test_wildcards_never_break_and_agree(pattern: str, name: str) -> None:
    spec = policy(rule(pattern))
    expected = naive.wildcard(pattern, name)
    assert (decide(name, spec) == "allow") == expected


# --- agreement with the naive evaluator

Any_ = st.SearchStrategy[Any]


def optional(**members: Any_) -> Any_:
    """An object with any of the members."""
    return st.fixed_dictionaries({}, optional=dict(members))


_names = st.sampled_from(["prod-east", "prod-west", "dev-1", "x"])
_wilds = st.sampled_from(["prod-*", "*", "dev-?", "x", "prod-east", "*-east", "a", "b", "app-*"])
_labels = st.dictionaries(st.sampled_from(["env", "team"]), st.sampled_from(["a", "b"]), max_size=2)
_filter = optional(allowed=st.lists(_wilds, max_size=2), denied=st.lists(_wilds, max_size=2))
_filters = optional(
    names=_filter,
    namespaces=_filter,
    labels=_labels,
    fields=st.dictionaries(st.just("f"), _filter, max_size=1),
)
_resource: Any_ = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["nodes", "namespaces", "pvc"]),
        "visibility": st.sampled_from(["all", "none", "filtered"]),
    },
    optional={"filters": _filters},
)
_rule: Any_ = st.fixed_dictionaries(
    {
        "selector": optional(
            matchNames=st.lists(_wilds, max_size=2),
            matchPattern=st.sampled_from(["", "east$", "^dev", "o.-"]),
            matchLabels=_labels,
        )
    },
    optional={
        "permissions": optional(view=st.booleans(), viewMetrics=st.booleans()),
        "resources": st.lists(_resource, max_size=3, unique_by=lambda each: each["type"]),
    },
)
_times = st.sampled_from(["2026-04-01T00:00:00Z", "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z"])
_spec = st.builds(
    lambda rules, effect, priority, default, subjects, validity, enabled: policy(
        *rules,
        effect=effect,
        priority=priority,
        default=default,
        subjects=subjects,
        validity=validity,
        enabled=enabled,
    ),
    st.lists(_rule, max_size=3),
    st.sampled_from(["Allow", "Allow", "Deny"]),
    st.sampled_from([1, 2]),
    st.sampled_from(["none", "none", "allow", "deny"]),
    st.sampled_from([{"users": ["alice"]}, {"groups": ["developers"]}, {"users": ["bob"]}]),
    st.none() | optional(notBefore=_times, notAfter=_times),
    st.sampled_from([True, True, True, False]),
)
_item = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["", "a", "b", "app-1"]),
        "namespaces": st.lists(st.sampled_from(["a", "b", "app-1", "*"]), max_size=2),
        "labels": _labels,
        "values": st.dictionaries(st.just("f"), st.none() | st.sampled_from(["a", "b"])),
    }
)


@given(st.lists(_spec, max_size=4), _names, _labels, st.lists(_item, max_size=3))
def test_decisions_agree_with_the_naive_evaluator(
    specs: list[MonitorAccessPolicySpec],
    name: str,
    labels: dict[str, str],
    items: list[dict[str, Any]],
) -> None:
    found = viewer(*specs)
    named = [(f"hub/p{index}", each) for index, each in enumerate(specs)]
    own = naive.own_policies(named, "alice", ALICE.groups, NOW)
    access = found.decide_cluster(name, labels)
    assert (access.decision, access.view_metrics) == naive.decide(own, name, labels)
    custom = found.decide_type(name, labels, "pvc")
    expected = naive.find_type(own, name, labels, "pvc")
    assert (custom is None) == (expected is None)
    for item in items if custom is not None and expected is not None else ():
        assert custom is not None and expected is not None
        assert custom.filter.allows(Item(**item)) == naive.sees(expected, item)
    for type_ in ("", "nodes", "pvc"):
        told = explain(found, name, labels, type_)
        assert (told.decision == "deny") <= (not told.permissions)
        assert sum(step.decides for step in told.steps) <= 1
    assert explain(found, name, labels, "").decision == access.decision
    assert (explain(found, name, labels, "pvc").decision == "deny") == (custom is None)
