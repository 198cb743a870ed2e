"""Compiles access policies to the shape of `policy:{ns}:{name}`, as readers expect it. Pure.

Service accounts become user names, and wildcards become regular expressions. The package `access`
makes the decisions.
"""

from collections.abc import Mapping, Sequence

import msgspec

from quarterdeck.apis.clusterpulse.monitor_access_policy import (
    ClusterRule,
    MonitorAccessPolicySpec,
    NameFilter,
    ResourceRule,
)

_WILDCARDS = frozenset("*?")
_SPECIAL = frozenset(r"\.+()[]{}|^$")
BUILT_IN_TYPES = frozenset({"nodes", "operators", "namespaces", "pods", "alerts", "events"})

Pattern = tuple[str, str]
"""A wildcard, and its regular expression."""


class CompiledFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The allowed and denied values of one field."""

    allowed_literals: tuple[str, ...] = ()
    denied_literals: tuple[str, ...] = ()
    allowed_patterns: tuple[Pattern, ...] = ()
    denied_patterns: tuple[Pattern, ...] = ()


class CompiledResource(msgspec.Struct, frozen=True, kw_only=True):
    """Visibility and filters of one resource type."""

    type: str
    visibility: str
    allowed_names: tuple[str, ...] = ()
    denied_names: tuple[str, ...] = ()
    name_patterns: tuple[Pattern, ...] = ()
    deny_name_patterns: tuple[Pattern, ...] = ()
    allowed_ns: tuple[str, ...] = ()
    denied_ns: tuple[str, ...] = ()
    ns_patterns: tuple[Pattern, ...] = ()
    deny_ns_patterns: tuple[Pattern, ...] = ()
    labels: Mapping[str, str] = {}
    field_filters: Mapping[str, CompiledFilter] = {}
    aggregation_rules: Mapping[str, tuple[str, ...]] = {}


class CompiledSelector(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Selects clusters by name, pattern or labels."""

    match_names: tuple[str, ...] = ()
    match_pattern: str = ""
    match_labels: Mapping[str, str] = {}


class CompiledRule(msgspec.Struct, frozen=True, kw_only=True):
    """Permissions and resource rules for the selected clusters."""

    cluster_selector: CompiledSelector
    permissions: Mapping[str, bool]
    resources: tuple[CompiledResource, ...] = ()


class CompiledPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, in the shape of field `data` of `policy:{ns}:{name}`."""

    policy_name: str
    namespace: str
    priority: int
    effect: str
    enabled: bool
    users: tuple[str, ...]
    groups: tuple[str, ...]
    service_accounts: tuple[str, ...]
    default_cluster_access: str
    cluster_rules: tuple[CompiledRule, ...]
    not_before: str
    not_after: str
    compiled_at: str
    hash: str
    custom_resource_types: tuple[str, ...]


def compile_policy(
    spec: MonitorAccessPolicySpec, *, name: str, namespace: str, compiled_at: str, hash_: str
) -> CompiledPolicy:
    """Compile a policy to the shape that the store keeps."""
    subjects = spec.identity.subjects
    validity = spec.lifecycle.validity if spec.lifecycle is not None else None
    return CompiledPolicy(
        policy_name=name,
        namespace=namespace,
        priority=spec.identity.priority,
        effect=spec.access.effect,
        enabled=spec.access.enabled,
        users=subjects.users,
        groups=subjects.groups,
        service_accounts=tuple(
            f"system:serviceaccount:{each.namespace or 'default'}:{each.name}"
            for each in subjects.service_accounts
        ),
        default_cluster_access=spec.scope.clusters.default,
        cluster_rules=tuple(_compile_rule(each) for each in spec.scope.clusters.rules),
        not_before=validity.not_before if validity is not None else "",
        not_after=validity.not_after if validity is not None else "",
        compiled_at=compiled_at,
        hash=hash_,
        custom_resource_types=list_custom_types(spec),
    )


def list_custom_types(spec: MonitorAccessPolicySpec) -> tuple[str, ...]:
    """The types of MetricSources that a policy names."""
    named = (each.type for rule in spec.scope.clusters.rules for each in rule.resources)
    return tuple(sorted(set(named) - BUILT_IN_TYPES))


def _compile_rule(rule: ClusterRule) -> CompiledRule:
    selector, wanted = rule.selector, rule.permissions
    view = True if wanted is None or wanted.view is None else wanted.view
    metrics = bool(wanted is not None and wanted.view_metrics)
    return CompiledRule(
        cluster_selector=CompiledSelector(
            match_names=selector.match_names,
            match_pattern=selector.match_pattern,
            match_labels=selector.match_labels,
        ),
        permissions={"view": view, "viewMetrics": metrics},
        resources=tuple(_compile_resource(each) for each in rule.resources),
    )


def _compile_resource(rule: ResourceRule) -> CompiledResource:
    filters = rule.filters
    names = _filter(filters.names if filters is not None else None)
    spaces = _filter(filters.namespaces if filters is not None else None)
    fields = filters.fields if filters is not None else {}
    aggregations = rule.aggregations
    return CompiledResource(
        type=rule.type,
        visibility=rule.visibility,
        allowed_names=names.allowed_literals,
        denied_names=names.denied_literals,
        name_patterns=names.allowed_patterns,
        deny_name_patterns=names.denied_patterns,
        allowed_ns=spaces.allowed_literals,
        denied_ns=spaces.denied_literals,
        ns_patterns=spaces.allowed_patterns,
        deny_ns_patterns=spaces.denied_patterns,
        labels=filters.labels if filters is not None else {},
        field_filters={name: _filter(each) for name, each in fields.items()},
        aggregation_rules={"include": aggregations.include, "exclude": aggregations.exclude}
        if aggregations is not None
        else {},
    )


def _filter(given: NameFilter | None) -> CompiledFilter:
    if given is None:
        return CompiledFilter()
    allowed, allowed_patterns = _split(given.allowed)
    denied, denied_patterns = _split(given.denied)
    return CompiledFilter(
        allowed_literals=allowed,
        denied_literals=denied,
        allowed_patterns=allowed_patterns,
        denied_patterns=denied_patterns,
    )


def _split(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[Pattern, ...]]:
    """Split names into literals and wildcards, the latter with their regular expressions."""
    literals = tuple(name for name in names if not _WILDCARDS & set(name))
    patterns = tuple((name, _compile_wildcard(name)) for name in names if _WILDCARDS & set(name))
    return literals, patterns


def _compile_wildcard(wildcard: str) -> str:
    parts = {"*": ".*", "?": "."}
    escaped = (parts.get(each, f"\\{each}" if each in _SPECIAL else each) for each in wildcard)
    return f"^{''.join(escaped)}$"
