"""The selector of a Fleet as labels: given directly, or in `matchLabels` as Deployments have it."""

from collections.abc import Mapping
from typing import Any

from quarterdeck.operators.machines.conditions import Reason
from quarterdeck.runtime import Stalled

_MATCH_LABELS, _MATCH_EXPRESSIONS = "matchLabels", "matchExpressions"


def parse_selector_labels(selector: Mapping[str, Any]) -> dict[str, str]:
    """The labels that claims of the fleet have.

    The CRD cannot say that every other member is a text, because `matchLabels` is a map.

    Raises:
        Stalled: InvalidSelector, naming the member that is not a label.
    """
    if _MATCH_EXPRESSIONS in selector:
        raise _refuse(_MATCH_EXPRESSIONS, "is not supported: name the labels in matchLabels")
    direct = {key: value for key, value in selector.items() if key != _MATCH_LABELS}
    labels = {**direct, **selector.get(_MATCH_LABELS, {})}
    for key, value in labels.items():
        if not isinstance(value, str):
            raise _refuse(key, f"must be a string, not {value!r}")
        if direct.get(key, value) != value:
            raise _refuse(key, f"is {direct[key]!r}, but {value!r} in matchLabels")
    if not labels:
        raise _refuse(_MATCH_LABELS, "must name at least one label")
    return labels


def format_selector(labels: Mapping[str, str]) -> str:
    """The labels as `status.selector` has them for autoscalers."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _refuse(member: str, problem: str) -> Stalled:
    return Stalled(Reason.INVALID_SELECTOR, f"spec.selector.{member} {problem}")
