"""Policy rules, and what they allow. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from quarterdeck.meta.field import quote

ALL = "*"


class PolicyRule(msgspec.Struct, frozen=True, kw_only=True):
    """What a role allows: verbs on resources, or verbs on paths that name no resource."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The rule as Kubernetes prints it in messages."""
        parts = [
            f"{name}:[{' '.join(quote(each) for each in values)}]"
            for name, values in (
                ("APIGroups", self.api_groups),
                ("Resources", self.resources),
                ("NonResourceURLs", self.non_resource_urls),
                ("ResourceNames", self.resource_names),
                ("Verbs", self.verbs),
            )
            if values
        ]
        return "{" + ", ".join(parts) + "}"


def parse_rules(rules: Iterable[Mapping[str, Any]] | None) -> tuple[PolicyRule, ...]:
    """Parse the rules of a Role or ClusterRole, from its JSON form."""
    return tuple(
        PolicyRule(
            verbs=tuple(rule.get("verbs") or ()),
            api_groups=tuple(rule.get("apiGroups") or ()),
            resources=tuple(rule.get("resources") or ()),
            resource_names=tuple(rule.get("resourceNames") or ()),
            non_resource_urls=tuple(rule.get("nonResourceURLs") or ()),
        )
        for rule in rules or ()
    )


def to_json(rule: PolicyRule) -> dict[str, Any]:
    """The JSON form, without empty members."""
    members = {
        "verbs": rule.verbs,
        "apiGroups": rule.api_groups,
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
        "nonResourceURLs": rule.non_resource_urls,
    }
    return {name: list(values) for name, values in members.items() if values}


def matches_verb(rule: PolicyRule, verb: str) -> bool:
    """Whether the rule is about a verb."""
    return ALL in rule.verbs or verb in rule.verbs


def matches_group(rule: PolicyRule, group: str) -> bool:
    """Whether the rule is about an API group."""
    return ALL in rule.api_groups or group in rule.api_groups


def matches_resource(rule: PolicyRule, resource: str, subresource: str) -> bool:
    """Whether the rule is about a resource, or about a subresource of it.

    `pods` does not include `pods/status`; `*/status` is that subresource of every resource.
    """
    if ALL in rule.resources:
        return True
    if not subresource:
        return resource in rule.resources
    return f"{resource}/{subresource}" in rule.resources or f"*/{subresource}" in rule.resources


def matches_path(rule: PolicyRule, path: str) -> bool:
    """Whether the rule is about a path; a trailing `*` matches any suffix."""
    return any(covers_path(url, path) for url in rule.non_resource_urls)


def covers_path(pattern: str, path: str) -> bool:
    """Whether one path of a rule includes another."""
    if pattern in (ALL, path):
        return True
    return pattern.endswith(ALL) and path.startswith(pattern.rstrip(ALL))
