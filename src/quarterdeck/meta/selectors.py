"""Label selectors as objects carry them, matched against labels."""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Struct

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]


class LabelSelectorRequirement(Struct, frozen=True, kw_only=True):
    """One requirement on one label."""

    key: str
    """Name of the label."""
    operator: Operator
    """How the label relates to the values."""
    values: Annotated[tuple[str, ...], Schema(list_type="atomic")] = ()
    """Values for In and NotIn; empty for Exists and DoesNotExist."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels satisfy the requirement; an absent label satisfies NotIn."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return labels.get(self.key) not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels

    def __str__(self) -> str:
        match self.operator:
            case "In":
                return f"{self.key} in ({','.join(sorted(self.values))})"
            case "NotIn":
                return f"{self.key} notin ({','.join(sorted(self.values))})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"


class LabelSelector(Struct, frozen=True, kw_only=True):
    """All requirements must hold; the empty selector matches everything."""

    match_labels: Mapping[str, str] = {}
    """Labels with exactly these values."""
    match_expressions: Annotated[
        tuple[LabelSelectorRequirement, ...], Schema(list_type="atomic")
    ] = ()
    """Further requirements."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every requirement."""
        wanted = self.match_labels.items() <= labels.items()
        return wanted and all(entry.matches(labels) for entry in self.match_expressions)

    def __str__(self) -> str:
        """The selector in the grammar of `labelSelector=`, sorted by key."""
        parts = [(key, f"{key}={value}") for key, value in self.match_labels.items()]
        parts += [(entry.key, str(entry)) for entry in self.match_expressions]
        return ",".join(text for _, text in sorted(parts))
