"""Whether a rule, or the selectors of a webhook, are about a write. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quarterdeck.meta.identity import GVR
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.webhooks.registration import Rule
from quarterdeck.server.registry.resource import Resource
from quarterdeck.wire.label_selector import Selector

_ALL = "*"
_OPERATIONS = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE", "connect": "CONNECT"}
EXEMPT_GROUP = "admissionregistration.k8s.io"
"""Configurations of webhooks and policies are never subject to them, so none can lock all out."""
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


def is_exempt(gvr: GVR) -> bool:
    """Whether no webhook is ever asked about a resource."""
    return gvr.group == EXEMPT_GROUP and gvr.resource in _NEVER_MATCHED


def find_match(
    rules: Iterable[Rule],
    attributes: AdmissionAttributes,
    equivalents: Sequence[Resource],
    *,
    is_exact: bool,
) -> Resource | None:
    """The resource as which a webhook wants to see the write; None if it does not.

    The resource of the request itself comes first. With the match policy `Equivalent` others that
    serve the same objects, in another version or group, count too.
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
    """Whether one rule is about an operation on a resource."""
    gvr = resource.gvr
    return (
        _has(rule.operations, operation)
        and _has(rule.groups, gvr.group)
        and _has(rule.versions, gvr.version)
        and _matches_scope(rule.scope, resource, attributes)
        and any(
            _matches_resource(pattern, gvr.resource, attributes.subresource)
            for pattern in rule.resources
        )
    )


def _has(values: Sequence[str], wanted: str) -> bool:
    return _ALL in values or wanted in values


def _matches_scope(scope: str, resource: Resource, attributes: AdmissionAttributes) -> bool:
    """A namespace itself is cluster-scoped, whatever the path of the request says."""
    match scope:
        case "Namespaced":
            return resource.namespaced and bool(attributes.namespace)
        case "Cluster":
            return not resource.namespaced
        case _:
            return True


def _matches_resource(pattern: str, resource: str, subresource: str) -> bool:
    """`pods` is the resource alone, `pods/*` it with all below, `*/*` everything."""
    name, slash, below = pattern.partition("/")
    if not slash:
        return not subresource and name in (_ALL, resource)
    if name not in (_ALL, resource):
        return False
    return below in (_ALL, subresource)


def matches_labels(selector: Selector, attributes: AdmissionAttributes) -> bool:
    """Whether the new or the old object has the labels a webhook asks for."""
    if not selector:
        return True
    return any(
        value is not None and selector.matches(get_labels(value))
        for value in (attributes.value, attributes.old)
    )


def get_labels(value: Mapping[str, Any]) -> dict[str, str]:
    """The labels of an object."""
    labels = (value.get("metadata") or {}).get("labels")
    return labels if isinstance(labels, dict) else {}
