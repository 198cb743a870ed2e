"""Whom a TenantPolicy binds, and to what."""

from typing import Any

import pytest

from quarterdeck.apis.authentication import UserInfo
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    GROUP,
    Collector,
    Pipeline,
    PipelineSet,
    RemoteAttributePolicy,
    TenantPolicy,
)
from quarterdeck.kit import json
from quarterdeck.meta.objects import Object, decode
from quarterdeck.operators.pipelines import tenancy

ACCOUNT = UserInfo(username="system:serviceaccount:ci:deployer", groups=("system:authenticated",))
ANNA = UserInfo(username="anna", groups=("team-a",))


def build(kind: type[Object], **spec: Any) -> Any:
    document = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": kind.KIND.kind,
        "metadata": {"name": "x"},
        "spec": spec,
    }
    return decode(kind, json.encode(document))


def policy(**spec: Any) -> TenantPolicy:
    found: TenantPolicy = build(TenantPolicy, **{"requiredMatchers": ["team=a"], **spec})
    return found


@pytest.mark.parametrize(
    ("subject", "user", "is_bound"),
    [
        pytest.param({"kind": "User", "name": "anna"}, ANNA, True, id="user"),
        pytest.param({"kind": "User", "name": "bert"}, ANNA, False, id="other user"),
        pytest.param({"kind": "Group", "name": "team-a"}, ANNA, True, id="group"),
        pytest.param(
            {"kind": "ServiceAccount", "name": "deployer", "namespace": "ci"},
            ACCOUNT,
            True,
            id="account",
        ),
        pytest.param(
            {"kind": "ServiceAccount", "name": "deployer", "namespace": "cd"},
            ACCOUNT,
            False,
            id="account of another namespace",
        ),
    ],
)
def test_subjects_are_bound_by_who_they_are(subject: Any, user: UserInfo, is_bound: bool) -> None:
    assert bool(tenancy.select_policies([policy(subjects=[subject])], user, {})) is is_bound


def test_a_policy_without_subjects_binds_everybody_in_its_namespaces() -> None:
    bound = policy(namespaceSelector={"matchLabels": {"tenant": "a"}})
    assert tenancy.select_policies([bound], ACCOUNT, {"tenant": "a"}) == [bound]
    assert tenancy.select_policies([bound], ACCOUNT, {"tenant": "b"}) == []


@pytest.mark.parametrize("matcher", ["team=a", 'team="a"', ' team = "a" '])
def test_quoting_of_a_required_matcher_does_not_matter(matcher: str) -> None:
    pipeline = build(Pipeline, contents="x", matchers=["env=prod", matcher])
    assert tenancy.find_violations(pipeline, [policy()]) == []


def test_what_lacks_the_matcher_or_names_collectors_is_refused() -> None:
    pipeline = build(Pipeline, contents="x", matchers=["team=~a.*"])
    assert 'team="a"' in tenancy.find_violations(pipeline, [policy()])[0]
    named = build(
        RemoteAttributePolicy,
        selector={"matchers": ["team=a"], "collectorIDs": ["edge-1"]},
        attributes={"x": "y"},
    )
    assert "collectorIDs" in tenancy.find_violations(named, [policy()])[0]


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "mine"), ("enabled", False), ("remoteAttributes", {"team": "a"})],
)
def test_a_tenant_sets_nothing_of_a_collector_that_it_names(field: str, value: Any) -> None:
    assert tenancy.find_violations(build(Collector, id="edge-1"), [policy()]) == []
    named = build(Collector, id="edge-1", **{field: value})
    assert tenancy.find_violations(named, []) == []
    [found] = tenancy.find_violations(named, [policy()])
    assert found.startswith(f"spec.{field}: not allowed under TenantPolicy x")


def test_each_pipeline_of_a_set_is_bound() -> None:
    members = [{"name": "p", "contents": "x", "matchers": ["env=prod"]}]
    free = build(PipelineSet, source={"namespace": "s"}, pipelines=members)
    assert "spec.pipelines[0].matchers" in tenancy.find_violations(free, [policy()])[0]
    bound = build(PipelineSet, source={"namespace": "s"}, pipelines=members, matchers=["team=a"])
    assert tenancy.find_violations(bound, [policy()]) == []


@pytest.mark.parametrize(
    ("before", "after", "widened"),
    [
        (["team=a", "env=prod"], ['team = "a"'], []),
        (["team=a"], ["env=prod"], ["x"]),
        (["team=a"], [], ["x"]),
        (["env=prod"], [], []),
    ],
)
def test_other_matchers_than_those_of_the_spec_keep_to_its_policies(
    before: list[str], after: list[str], widened: list[str]
) -> None:
    bound = policy(namespaceSelector={"matchLabels": {"tenant": "a"}})
    of_user = policy(subjects=[{"kind": "User", "name": "anna"}])
    for each in (bound, of_user):
        found = tenancy.list_widened([each], {"tenant": "a"}, before=before, after=after)
        assert found == widened
    assert tenancy.list_widened([bound], {"tenant": "b"}, before=before, after=after) == []
