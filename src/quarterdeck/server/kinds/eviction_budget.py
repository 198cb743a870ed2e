"""Decides whether PodDisruptionBudgets allow an eviction. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.server.registry.resource import Object
from quarterdeck.wire.label_selector import Selector, SelectorError
from quarterdeck.wire.status import ApiError, Cause, Details, Forbidden, TooManyRequests

_REFUSAL_MESSAGE = "Cannot evict pod as it would violate the pod's disruption budget."
_CAUSE = "DisruptionBudget"
_RETRY_S = 10
_UNPROTECTED_PHASES = ("Succeeded", "Failed", "Pending")


def is_protected(pod: Object) -> bool:
    """Whether budgets apply to a pod: not if it is pending, has ended or is being deleted."""
    phase = (pod.get("status") or {}).get("phase")
    return phase not in _UNPROTECTED_PHASES and not pod["metadata"].get("deletionTimestamp")


def find_budget(pod: Object, budgets: Iterable[Object]) -> Object | None:
    """Find the budget that protects a pod.

    Raises:
        ApiError: 500 if there are several, as in Kubernetes.
    """
    labels = pod["metadata"].get("labels") or {}
    found = [budget for budget in budgets if _selects_labels(budget, labels)]
    if len(found) > 1:
        raise ApiError(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does"
            " not support.",
            code=500,
        )
    return found[0] if found else None


def _selects_labels(budget: Object, labels: Mapping[str, str]) -> bool:
    try:
        selector = Selector.from_label_selector((budget.get("spec") or {}).get("selector"))
    except SelectorError:
        return False
    return selector.matches(labels)


def is_evictable_unready(budget: Object, pod: Object) -> bool:
    """Whether a pod that is not ready may be evicted without counting as a disruption."""
    if _is_ready(pod):
        return False
    status, spec = budget.get("status") or {}, budget.get("spec") or {}
    if spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired: int = status.get("desiredHealthy") or 0
    return 0 < desired <= (status.get("currentHealthy") or 0)


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def count_disruption(budget: Object, now: str) -> None:
    """Count one disruption, in place.

    Raises:
        TooManyRequests: if none is allowed, or the status of the budget is not up to date.
        Forbidden: if the number of allowed disruptions is negative.
    """
    name = budget["metadata"]["name"]
    status: dict[str, Any] = budget.setdefault("status", {})
    if (status.get("observedGeneration") or 0) < (budget["metadata"].get("generation") or 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise _build_refusal(text, retry_after_s=_RETRY_S)
    allowed = status.get("disruptionsAllowed") or 0
    if allowed < 0:
        raise Forbidden.of(
            "poddisruptionbudgets", name, "pdb disruptions allowed is negative", group="policy"
        )
    if allowed == 0:
        raise _build_refusal(
            f"The disruption budget {name} needs {status.get('desiredHealthy') or 0} healthy pods"
            f" and has {status.get('currentHealthy') or 0} currently"
        )
    status["disruptionsAllowed"] = allowed - 1
    if allowed == 1:
        _set_exhausted(status, now)


def _build_refusal(text: str, *, retry_after_s: int = 0) -> TooManyRequests:
    details = Details(
        causes=(Cause(reason=_CAUSE, message=text),), retry_after_seconds=retry_after_s
    )
    return TooManyRequests(_REFUSAL_MESSAGE, details=details, retry_after_s=retry_after_s or None)


def _set_exhausted(status: dict[str, Any], now: str) -> None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionAllowed":
            condition |= {
                "status": "False",
                "reason": "InsufficientPods",
                "lastTransitionTime": now,
            }
