"""Builds the alerts of a cluster from conditions and rules. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from quarterdeck.services.hub.views import Row

Severity = Literal["critical", "warning", "info"]
_ORDER: tuple[Severity, ...] = ("critical", "warning", "info")
_HEALTH: dict[str, Severity] = {
    "unhealthy": "critical",
    "degraded": "warning",
    "warning": "warning",
    "unknown": "warning",
}
_OPERATOR_SEVERITY: dict[str, Severity] = {"Available": "critical", "Degraded": "warning"}
_GOOD_TRUE = ("Ready", "Available", "Upgradeable")
"""Conditions that are good when True; all others report a problem when True."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One problem of a cluster."""

    name: str
    severity: Severity
    cluster: str
    source: str
    """cluster, node, operator, version, rule, or store for alerts of other programs."""
    object: str
    condition: str
    reason: str
    message: str
    since: str
    namespaces: tuple[str, ...] = ()


def find_alerts(
    cluster: str,
    *,
    status: Any,
    conditions: Sequence[Row],
    nodes: Sequence[Row],
    cluster_operators: Sequence[Row],
    info: Any,
    others: Sequence[Mapping[str, str]],
    rules: Sequence[Alert] = (),
) -> list[Alert]:
    """All alerts of a cluster, worst first."""
    found = [
        *_find_cluster_alerts(cluster, status, conditions),
        *(alert for node in nodes for alert in _find_node_alerts(cluster, node)),
        *(alert for row in cluster_operators for alert in _find_operator_alerts(cluster, row)),
        *_find_version_alerts(cluster, info),
        *rules,
        *(_build_foreign_alert(cluster, each) for each in others),
    ]
    return sort_alerts(found)


def sort_alerts(alerts: Iterable[Alert]) -> list[Alert]:
    """Sort alerts, worst first."""
    return sorted(
        alerts,
        key=lambda each: (_ORDER.index(each.severity), each.cluster, each.source, each.object),
    )


def _find_cluster_alerts(cluster: str, status: Any, conditions: Sequence[Row]) -> Iterator[Alert]:
    """One alert for each condition that is not healthy; without conditions, one for the health.

    NodesReady may be True and not healthy: when too little CPU or memory is left.
    """
    since = _to_text(status.get("last_check")) if isinstance(status, dict) else ""
    for each in conditions:
        severity = _HEALTH.get(_to_text(each.get("health")))
        if severity is not None:
            yield _build_condition_alert(
                each, cluster=cluster, source="cluster", object_=cluster, severity=severity
            )
    if not conditions and isinstance(status, dict):
        severity = _HEALTH.get(_to_text(status.get("health")))
        if severity is not None:
            told = {
                "type": "Health",
                "reason": _to_text(status.get("health")).capitalize(),
                "message": status.get("message"),
                "last_transition_time": since,
            }
            yield _build_condition_alert(
                told, cluster=cluster, source="cluster", object_=cluster, severity=severity
            )


def _find_node_alerts(cluster: str, node: Row) -> Iterator[Alert]:
    for each in _list_conditions(node):
        if _is_wrong(each):
            severity: Severity = "critical" if each.get("type") == "Ready" else "warning"
            yield _build_condition_alert(
                each,
                cluster=cluster,
                source="node",
                object_=_to_text(node.get("name")),
                severity=severity,
            )


def _find_operator_alerts(cluster: str, row: Row) -> Iterator[Alert]:
    for each in _list_conditions(row):
        if not _is_wrong(each) or each.get("type") == "Progressing":
            continue
        severity = _OPERATOR_SEVERITY.get(_to_text(each.get("type")), "info")
        yield _build_condition_alert(
            each,
            cluster=cluster,
            source="operator",
            object_=_to_text(row.get("name")),
            severity=severity,
        )


def _find_version_alerts(cluster: str, info: Any) -> Iterator[Alert]:
    for each in _list_conditions(info):
        if _is_wrong(each) and each.get("type") in ("Available", "Degraded", "Failing"):
            yield _build_condition_alert(
                each, cluster=cluster, source="version", object_="version", severity="warning"
            )


def _build_condition_alert(
    condition: Row, *, cluster: str, source: str, object_: str, severity: Severity
) -> Alert:
    type_ = _to_text(condition.get("type"))
    return Alert(
        name=f"{source.capitalize()}{type_}",
        severity=severity,
        cluster=cluster,
        source=source,
        object=object_,
        condition=type_,
        reason=_to_text(condition.get("reason")),
        message=_to_text(condition.get("message")),
        since=_to_text(condition.get("last_transition_time")),
    )


def _build_foreign_alert(cluster: str, fields: Mapping[str, str]) -> Alert:
    given = fields.get("severity", "")
    severity: Severity = next((each for each in _ORDER if each == given), "warning")
    namespace = fields.get("namespace", "")
    return Alert(
        name=fields.get("name", "Alert"),
        severity=severity,
        cluster=cluster,
        source="store",
        object=fields.get("object", ""),
        condition=fields.get("condition", ""),
        reason=fields.get("reason", ""),
        message=fields.get("message", ""),
        since=fields.get("timestamp", ""),
        namespaces=(namespace,) if namespace else (),
    )


def _list_conditions(facts: Any) -> list[Row]:
    """The conditions of facts; a collector may have sent anything as the facts of its version."""
    found = facts.get("conditions") if isinstance(facts, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _is_wrong(condition: Row) -> bool:
    status = condition.get("status")
    if condition.get("type") in _GOOD_TRUE:
        return status in ("False", "Unknown")
    return status == "True"


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else ""
