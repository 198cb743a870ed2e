"""Probable mistakes of a policy: unknown names, and parts without effect."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from quarterdeck.apis.clusterpulse.monitor_access_policy import (
    ClusterRule,
    ClusterSelector,
    MonitorAccessPolicySpec,
    ResourceRule,
)
from quarterdeck.inventory.policy import BUILT_IN_TYPES


class KnownType(msgspec.Struct, frozen=True, kw_only=True):
    """Fields and aggregations of a MetricSource that policies can name."""

    fields: frozenset[str]
    filterable: frozenset[str] = frozenset()
    """Fields that may be filtered by; empty means all of them."""
    aggregations: frozenset[str] = frozenset()


def lint_policy(spec: MonitorAccessPolicySpec, types: Mapping[str, KnownType]) -> tuple[str, ...]:
    """List probable mistakes of a policy; `types` are those of the MetricSources."""
    return tuple(dict.fromkeys(_lint(spec, types)))


def _lint(spec: MonitorAccessPolicySpec, types: Mapping[str, KnownType]) -> Iterator[str]:
    subjects = spec.identity.subjects
    if not (subjects.users or subjects.groups or subjects.service_accounts):
        yield "spec.identity.subjects is empty: the policy applies to no one"
    clusters = spec.scope.clusters
    if not clusters.rules and clusters.default == "none":
        yield "spec.scope.clusters has no rules and default none, so the policy selects no cluster"
    for index, rule in enumerate(clusters.rules):
        place = f"spec.scope.clusters.rules[{index}]"
        yield from _lint_rule(rule, place, is_deny=spec.access.effect == "Deny")
        for each in rule.resources:
            yield from _lint_resource(each, types)


def _lint_rule(rule: ClusterRule, place: str, *, is_deny: bool) -> Iterator[str]:
    if rule.selector == ClusterSelector():
        yield f"{place}.selector is empty and selects no cluster; write matchNames: ['*'] for all"
    if is_deny and rule.resources:
        yield f"{place} lists resources without effect: a Deny policy denies the whole cluster"
    yield from _lint_duplicates((each.type for each in rule.resources), place)


def _lint_duplicates(types: Iterable[str], place: str) -> Iterator[str]:
    seen: set[str] = set()
    for each in types:
        if each in seen:
            yield f"{place} lists {each} twice; only the first entry has effect"
        seen.add(each)


def _lint_resource(rule: ResourceRule, types: Mapping[str, KnownType]) -> Iterator[str]:
    if rule.type in BUILT_IN_TYPES:
        if rule.filters is not None and rule.filters.fields:
            yield f"{rule.type}: only types of MetricSources have fields to filter by"
        return
    known = types.get(rule.type)
    if known is None:
        yield f"no MetricSource has the resourceTypeName {rule.type!r}"
        return
    for name in rule.filters.fields if rule.filters is not None else ():
        if name not in known.fields:
            yield f"{rule.type}: unknown field {name!r}"
        elif known.filterable and name not in known.filterable:
            yield f"{rule.type}: field {name!r} is not one of rbac.filterableFields"
    named = rule.aggregations
    for name in (*named.include, *named.exclude) if named is not None else ():
        if name not in known.aggregations:
            yield f"{rule.type}: unknown aggregation {name!r}"
