"""Lint: mistakes of policies that compile."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.monitor_access_policy import MonitorAccessPolicySpec
from quarterdeck.inventory.access.lint import KnownType, lint_policy

TYPES = {
    "pvc": KnownType(
        fields=frozenset({"size", "phase"}),
        filterable=frozenset({"phase"}),
        aggregations=frozenset({"total"}),
    )
}


def lint(resource: dict[str, Any] | None = None, **more: Any) -> tuple[str, ...]:
    rule: dict[str, Any] = {"selector": {"matchNames": ["x"]}}
    if resource is not None:
        rule["resources"] = [resource]
    document = {
        "identity": {"subjects": {"users": ["alice"]}},
        "access": {"effect": "Allow"},
        "scope": {"clusters": {"rules": [rule]}},
        **more,
    }
    return lint_policy(msgspec.convert(document, MonitorAccessPolicySpec), TYPES)


@pytest.mark.parametrize(
    ("resource", "warning"),
    [
        ({"type": "pcv"}, "no MetricSource has the resourceTypeName 'pcv'"),
        ({"type": "pvc", "filters": {"fields": {"nope": {}}}}, "pvc: unknown field 'nope'"),
        (
            {"type": "pvc", "filters": {"fields": {"size": {}}}},
            "pvc: field 'size' is not one of rbac.filterableFields",
        ),
        ({"type": "pvc", "aggregations": {"include": ["sum"]}}, "unknown aggregation 'sum'"),
        ({"type": "nodes", "filters": {"fields": {"a": {}}}}, "only types of MetricSources"),
    ],
)
def test_names_that_nothing_has_are_found(resource: dict[str, Any], warning: str) -> None:
    (found,) = lint(resource)
    assert warning in found


def test_a_policy_without_mistakes_has_no_warnings() -> None:
    assert lint({"type": "pvc", "filters": {"fields": {"phase": {"allowed": ["Bound"]}}}}) == ()


def test_subjects_and_selectors_that_mean_nothing_are_found() -> None:
    (nobody,) = lint(identity={"subjects": {}})
    assert "applies to no one" in nobody
    (nothing,) = lint(scope={"clusters": {"rules": [{"selector": {}}]}})
    assert "selects no cluster" in nothing
    (none,) = lint(scope={"clusters": {"default": "none"}})
    assert "has no rules and default none" in none
    assert lint(scope={"clusters": {"default": "allow"}}) == ()
    (denied,) = lint({"type": "nodes"}, access={"effect": "Deny"})
    assert "denies the whole cluster" in denied
