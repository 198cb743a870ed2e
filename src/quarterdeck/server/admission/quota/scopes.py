"""Scopes of quotas: which pods a quota counts; a quota without scopes counts all."""

from collections.abc import Iterator
from typing import Any

from quarterdeck.server.admission.quota.usage import PODS, Object
from quarterdeck.server.kinds.pod_defaults import compute_qos_class


def matches_scopes(quota: Object, resource: str, value: Object) -> bool:
    """Whether an object is in every scope of a quota; only pods are in any."""
    scopes = list(_list_selectors(quota.get("spec") or {}))
    return not scopes or (resource == PODS and all(_matches(value, each) for each in scopes))


def _list_selectors(spec: Object) -> Iterator[dict[str, Any]]:
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _matches(pod: Object, selector: dict[str, Any]) -> bool:
    spec = pod.get("spec") or {}
    deadline = spec.get("activeDeadlineSeconds")
    match selector.get("scopeName"):
        case "Terminating":
            return deadline is not None and deadline >= 0
        case "NotTerminating":
            return deadline is None or deadline < 0
        case "BestEffort":
            return compute_qos_class(spec) == "BestEffort"
        case "NotBestEffort":
            return compute_qos_class(spec) != "BestEffort"
        case "PriorityClass":
            return _has_priority(spec.get("priorityClassName") or "", selector)
        case "CrossNamespacePodAffinity":
            return any(
                _crosses_namespaces(term)
                for term in _list_affinity_terms(spec.get("affinity") or {})
            )
    return False


def _has_priority(name: str, selector: dict[str, Any]) -> bool:
    values = selector.get("values") or ()
    match selector.get("operator"):
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return bool(name) and name in values
        case "NotIn":
            return not name or name not in values
    return False


def _list_affinity_terms(affinity: Object) -> Iterator[Object]:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield weighted.get("podAffinityTerm") or {}


def _crosses_namespaces(term: Object) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None
