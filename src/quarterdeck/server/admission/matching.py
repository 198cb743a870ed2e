"""Whether the rules and selectors of a webhook or policy are about a write."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.meta.identity import GVR
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Resource
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.label_selector import Selector
from quarterdeck.wire.status import NotFound

_ALL = "*"
_OPERATIONS = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE", "connect": "CONNECT"}
EXEMPT_GROUP = "admissionregistration.k8s.io"
"""The group of webhook and policy configurations, which are never subject to webhooks or policies.

Otherwise a faulty configuration could prevent its own repair.
"""
_NEVER_MATCHED = frozenset(
    {
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    }
)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of a webhook or policy: the operations and resources that it matches."""

    operations: tuple[str, ...]
    groups: tuple[str, ...]
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    scope: str = "*"
    names: tuple[str, ...] = ()
    """Names of objects; empty for all."""


def parse_rules(rules: Iterable[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
    """Parse rules from their stored form."""
    return tuple(
        Rule(
            operations=tuple(rule.get("operations") or ()),
            groups=tuple(rule.get("apiGroups") or ()),
            versions=tuple(rule.get("apiVersions") or ()),
            resources=tuple(rule.get("resources") or ()),
            scope=rule.get("scope") or "*",
            names=tuple(rule.get("resourceNames") or ()),
        )
        for rule in rules or ()
    )


class EquivalentResources:
    """Finds the resources that serve the same objects; cached until the registry changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = -1
        self._known: dict[GVR, tuple[Resource, ...]] = {}

    def get(self, resource: Resource) -> tuple[Resource, ...]:
        """Return the other resources that serve the same objects."""
        if self._generation != self._registry.generation:
            self._generation, self._known = self._registry.generation, {}
        found = self._known.get(resource.gvr)
        if found is None:
            found = self._known[resource.gvr] = tuple(
                each
                for each in self._registry
                if each is not resource and each.stored_name == resource.stored_name
            )
        return found


def is_exempt(gvr: GVR) -> bool:
    """Whether webhooks and policies are never called for a resource."""
    return gvr.group == EXEMPT_GROUP and gvr.resource in _NEVER_MATCHED


def find_match(
    rules: Iterable[Rule],
    attributes: AdmissionAttributes,
    equivalents: Sequence[Resource],
    *,
    is_exact: bool,
) -> Resource | None:
    """Return the resource by which the rules match a write; None if they do not match.

    The resource of the request is tried first. With the match policy `Equivalent` (not `is_exact`)
    resources that serve the same objects in another version or group are tried after it.
    """
    rules = tuple(rules)
    operation = _OPERATIONS.get(attributes.verb, "")
    candidates = (attributes.resource,) if is_exact else (attributes.resource, *equivalents)
    for resource in candidates:
        for rule in rules:
            if matches_rule(rule, operation, resource, attributes):
                return resource
    return None


def matches_rule(
    rule: Rule, operation: str, resource: Resource, attributes: AdmissionAttributes
) -> bool:
    """Whether one rule matches an operation on a resource."""
    gvr = resource.gvr
    return (
        _has(rule.operations, operation)
        and _has(rule.groups, gvr.group)
        and _has(rule.versions, gvr.version)
        and _matches_scope(rule.scope, resource, attributes)
        and (not rule.names or attributes.name in rule.names)
        and any(
            _matches_resource(pattern, gvr.resource, attributes.subresource)
            for pattern in rule.resources
        )
    )


def _has(values: Sequence[str], wanted: str) -> bool:
    return _ALL in values or wanted in values


def _matches_scope(scope: str, resource: Resource, attributes: AdmissionAttributes) -> bool:
    """Whether a scope matches; a Namespace is cluster-scoped, although a request for it has one."""
    match scope:
        case "Namespaced":
            return resource.namespaced and bool(attributes.namespace)
        case "Cluster":
            return not resource.namespaced
        case _:
            return True


def _matches_resource(pattern: str, resource: str, subresource: str) -> bool:
    """Match `pods` to the resource only, `pods/*` also to its subresources, `*/*` to everything."""
    name, slash, below = pattern.partition("/")
    if not slash:
        return not subresource and name in (_ALL, resource)
    if name not in (_ALL, resource):
        return False
    return below in (_ALL, subresource)


def matches_labels(selector: Selector, attributes: AdmissionAttributes) -> bool:
    """Whether the new or the old object matches the selector of a webhook or policy."""
    if not selector:
        return True
    return any(
        value is not None and selector.matches(get_labels(value))
        for value in (attributes.value, attributes.old)
    )


def matches_namespace(selector: Selector, attributes: AdmissionAttributes, store: Store) -> bool:
    """Whether the namespace of a write matches the selector of a webhook or policy.

    Raises:
        NotFound: if the namespace does not exist.
    """
    if not selector:
        return True
    if attributes.resource.gvr.group_resource == "namespaces" and not attributes.subresource:
        return selector.matches(get_labels(attributes.value or attributes.old or {}))
    if not attributes.namespace:
        return True
    entry = store.get_pending(StoreKey("namespaces", "", attributes.namespace))
    if entry is None:
        raise NotFound.of("namespaces", attributes.namespace)
    return selector.matches(get_object_meta(entry).labels or {})


def get_labels(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of an object; empty if they are not an object."""
    labels = (value.get("metadata") or {}).get("labels")
    return labels if isinstance(labels, dict) else {}
