"""A second evaluator, straight from the words of the specification: slow, and over plain specs."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from quarterdeck.apis.clusterpulse.monitor_access_policy import (
    ClusterRule,
    MonitorAccessPolicySpec,
    NameFilter,
    ResourceRule,
)

Named = tuple[str, MonitorAccessPolicySpec]


def wildcard(pattern: str, text: str) -> bool:
    """By recursion over both texts."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return wildcard(pattern[1:], text) or (bool(text) and wildcard(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and wildcard(pattern[1:], text[1:])


def own_policies(
    policies: Sequence[Named], user: str, groups: Sequence[str], now: datetime
) -> list[Named]:
    chosen = []
    for name, spec in policies:
        subjects = spec.identity.subjects
        if user not in subjects.users and not set(groups) & set(subjects.groups):
            continue
        if not spec.access.enabled or not is_valid(spec, now):
            continue
        chosen.append((name, spec))
    return sorted(
        chosen,
        key=lambda each: (
            -each[1].identity.priority,
            0 if each[1].access.effect == "Deny" else 1,
            each[0],
        ),
    )


def is_valid(spec: MonitorAccessPolicySpec, now: datetime) -> bool:
    validity = spec.lifecycle.validity if spec.lifecycle else None
    if validity is None:
        return True
    form = "%Y-%m-%dT%H:%M:%SZ"
    start = validity.not_before
    if start and now < datetime.strptime(start, form).replace(tzinfo=UTC):
        return False
    if validity.not_after:
        return now <= datetime.strptime(validity.not_after, form).replace(tzinfo=UTC)
    return True


def find_rule(
    spec: MonitorAccessPolicySpec, name: str, labels: Mapping[str, str]
) -> ClusterRule | None:
    for rule in spec.scope.clusters.rules:
        selector = rule.selector
        if any(wildcard(each, name) for each in selector.match_names):
            return rule
        if selector.match_pattern and re.search(selector.match_pattern, name):
            return rule
        if selector.match_labels and selector.match_labels.items() <= labels.items():
            return rule
    return None


def decide(own: Sequence[Named], name: str, labels: Mapping[str, str]) -> tuple[str, bool]:
    """The decision, and whether metrics may be seen."""
    for _, spec in own:
        rule = find_rule(spec, name, labels)
        if rule is None:
            if spec.scope.clusters.default == "allow":
                return "allow", False
            if spec.scope.clusters.default == "deny":
                return "deny", False
            continue
        if spec.access.effect == "Deny":
            return "deny", False
        given = rule.permissions
        if given is not None and given.view is False:
            return "deny", False
        metrics = given is not None and given.view_metrics is True
        return ("partial" if rule.resources else "allow"), metrics
    return "deny", False


def find_type(
    own: Sequence[Named], name: str, labels: Mapping[str, str], type_: str
) -> ResourceRule | None:
    """The rule that shows a type of a MetricSource."""
    if decide(own, name, labels)[0] == "deny":
        return None
    for _, spec in own:
        rule = find_rule(spec, name, labels)
        listed = (
            next((each for each in rule.resources if each.type == type_), None) if rule else None
        )
        if rule is None or listed is None:
            continue
        if spec.access.effect == "Deny":
            return None
        if listed.visibility != "none" and not (
            rule.permissions and rule.permissions.view is False
        ):
            return listed
    return None


def name_passes(given: NameFilter | None, text: str) -> bool:
    if given is None:
        return True
    if any(wildcard(each, text) for each in given.denied):
        return False
    return not given.allowed or any(wildcard(each, text) for each in given.allowed)


def sees(rule: ResourceRule, item: Mapping[str, Any]) -> bool:
    """Whether an object with name, namespaces, labels and values (texts) passes."""
    if rule.visibility == "none":
        return False
    filters = rule.filters
    if filters is None:
        return True
    has_names = filters.names is not None and (filters.names.allowed or filters.names.denied)
    if has_names and (not item["name"] or not name_passes(filters.names, item["name"])):
        return False
    spaces = item["namespaces"]
    is_scoped = rule.type != "namespaces" and spaces and "*" not in spaces
    if is_scoped and not any(name_passes(filters.namespaces, each) for each in spaces):
        return False
    if not filters.labels.items() <= item["labels"].items():
        return False
    return all(
        name_passes(given, item["values"].get(field) or "")
        for field, given in filters.fields.items()
    )
