"""OpenShift's ClusterOperators: their conditions, versions and problems."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.inventory.forms import Document


class OperatorCondition(msgspec.Struct, frozen=True):
    """A condition of a ClusterOperator."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str


class OperandVersion(msgspec.Struct, frozen=True):
    """An operand and its version."""

    name: str
    version: str


class RelatedObject(msgspec.Struct, frozen=True):
    """An object that belongs to the operator."""

    group: str
    resource: str
    namespace: str
    name: str


class ClusterOperatorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One ClusterOperator, in the shape of an item of `cluster:{c}:cluster_operators`."""

    name: str
    version: str
    available: bool
    progressing: bool
    degraded: bool
    upgradeable: bool
    message: str
    reason: str
    last_transition_time: str
    conditions: tuple[OperatorCondition, ...]
    versions: tuple[OperandVersion, ...]
    related_objects: tuple[RelatedObject, ...]

    @property
    def issue(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if self.degraded:
            return f"{self.name}: degraded - {self.message}"
        if not self.available:
            return f"{self.name}: not available - {self.message}"
        return ""


class ClusterOperatorsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of all ClusterOperators: `cluster:{c}:cluster_operators_summary`."""

    total: int
    available: int
    degraded: int
    progressing: int
    upgradeable: int
    timestamp: str
    all_healthy: bool
    has_issues: bool
    issues: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


def read_cluster_operators(documents: Iterable[Document]) -> list[ClusterOperatorFacts]:
    """Every ClusterOperator, by name."""
    return sorted((_read(each) for each in documents), key=lambda each: each.name)


def summarize(operators: Sequence[ClusterOperatorFacts], *, now: str) -> ClusterOperatorsSummary:
    """Build the summary of all ClusterOperators."""
    issues = tuple(filter(None, (each.issue for each in operators)))
    return ClusterOperatorsSummary(
        total=len(operators),
        available=sum(each.available for each in operators),
        degraded=sum(each.degraded for each in operators),
        progressing=sum(each.progressing for each in operators),
        upgradeable=sum(each.upgradeable for each in operators),
        timestamp=now,
        all_healthy=not issues,
        has_issues=bool(issues),
        issues=issues or msgspec.UNSET,
    )


def _read(document: Document) -> ClusterOperatorFacts:
    name = _to_text(_to_map(document.get("metadata")).get("name"))
    status = _to_map(document.get("status"))
    conditions = tuple(
        _parse_condition(each) for each in map(_to_map, status.get("conditions") or ())
    )
    by_type = {each.type: each for each in conditions}
    versions = tuple(
        OperandVersion(_to_text(each.get("name")), _to_text(each.get("version")))
        for each in map(_to_map, status.get("versions") or ())
    )
    failing = _find_failing(by_type)
    return ClusterOperatorFacts(
        name=name,
        version=_find_version(name, versions),
        available=_is_true(by_type, "Available"),
        progressing=_is_true(by_type, "Progressing"),
        degraded=_is_true(by_type, "Degraded"),
        upgradeable=_is_true(by_type, "Upgradeable"),
        message=failing.message if failing else "",
        reason=failing.reason if failing else "",
        last_transition_time=max((each.last_transition_time for each in conditions), default=""),
        conditions=conditions,
        versions=versions,
        related_objects=tuple(
            RelatedObject(*(_to_text(each.get(key)) for key in RelatedObject.__struct_fields__))
            for each in map(_to_map, status.get("relatedObjects") or ())
        ),
    )


def _find_failing(by_type: Mapping[str, OperatorCondition]) -> OperatorCondition | None:
    """The condition whose message matters most: degraded, then not available, then progressing."""
    for type_, status in (("Degraded", "True"), ("Available", "False"), ("Progressing", "True")):
        found = by_type.get(type_)
        if found is not None and found.status == status:
            return found
    return None


def _find_version(name: str, versions: Sequence[OperandVersion]) -> str:
    for wanted in ("operator", name):
        for each in versions:
            if each.name == wanted:
                return each.version
    return versions[0].version if versions else ""


def _parse_condition(each: Mapping[str, Any]) -> OperatorCondition:
    names = ("type", "status", "reason", "message", "lastTransitionTime")
    return OperatorCondition(*(_to_text(each.get(name)) for name in names))


def _is_true(by_type: Mapping[str, OperatorCondition], type_: str) -> bool:
    return type_ in by_type and by_type[type_].status == "True"


def _to_map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else ""
