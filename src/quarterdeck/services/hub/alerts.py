"""What is wrong with a cluster: conditions that are not as they should be, and rules. Pure."""

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
"""Conditions that should be True; others report a problem when they are."""


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong."""

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
    """Everything that is wrong, worst first."""
    found = [
        *_cluster_alerts(cluster, status, conditions),
        *(alert for node in nodes for alert in _node_alerts(cluster, node)),
        *(alert for row in cluster_operators for alert in _operator_alerts(cluster, row)),
        *_version_alerts(cluster, info),
        *rules,
        *(_foreign_alert(cluster, each) for each in others),
    ]
    return sort_alerts(found)


def sort_alerts(alerts: Iterable[Alert]) -> list[Alert]:
    """Alerts, worst first."""
    return sorted(
        alerts,
        key=lambda each: (_ORDER.index(each.severity), each.cluster, each.source, each.object),
    )


def _cluster_alerts(cluster: str, status: Any, conditions: Sequence[Row]) -> Iterator[Alert]:
    """One alert for each condition that is not well; the health alone if there are none.

    Nodes that are ready and have too little CPU left are not well either.
    """
    since = _text(status.get("last_check")) if isinstance(status, dict) else ""
    for each in conditions:
        severity = _HEALTH.get(_text(each.get("health")))
        if severity is not None:
            yield _condition_alert(
                each, cluster=cluster, source="cluster", object_=cluster, how=severity
            )
    if not conditions and isinstance(status, dict):
        severity = _HEALTH.get(_text(status.get("health")))
        if severity is not None:
            told = {
                "type": "Health",
                "reason": _text(status.get("health")).capitalize(),
                "message": status.get("message"),
                "last_transition_time": since,
            }
            yield _condition_alert(
                told, cluster=cluster, source="cluster", object_=cluster, how=severity
            )


def _node_alerts(cluster: str, node: Row) -> Iterator[Alert]:
    for each in node.get("conditions") or ():
        if _is_wrong(each):
            severity: Severity = "critical" if each.get("type") == "Ready" else "warning"
            yield _condition_alert(
                each, cluster=cluster, source="node", object_=_text(node.get("name")), how=severity
            )


def _operator_alerts(cluster: str, row: Row) -> Iterator[Alert]:
    for each in row.get("conditions") or ():
        if not _is_wrong(each) or each.get("type") == "Progressing":
            continue
        severity = _OPERATOR_SEVERITY.get(_text(each.get("type")), "info")
        yield _condition_alert(
            each, cluster=cluster, source="operator", object_=_text(row.get("name")), how=severity
        )


def _version_alerts(cluster: str, info: Any) -> Iterator[Alert]:
    conditions = info.get("conditions") if isinstance(info, dict) else None
    for each in conditions or ():
        if _is_wrong(each) and each.get("type") in ("Available", "Degraded", "Failing"):
            yield _condition_alert(
                each, cluster=cluster, source="version", object_="version", how="warning"
            )


def _condition_alert(
    condition: Row, *, cluster: str, source: str, object_: str, how: Severity
) -> Alert:
    type_ = _text(condition.get("type"))
    return Alert(
        name=f"{source.capitalize()}{type_}",
        severity=how,
        cluster=cluster,
        source=source,
        object=object_,
        condition=type_,
        reason=_text(condition.get("reason")),
        message=_text(condition.get("message")),
        since=_text(condition.get("last_transition_time")),
    )


def _foreign_alert(cluster: str, fields: Mapping[str, str]) -> Alert:
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


def _is_wrong(condition: Any) -> bool:
    if not isinstance(condition, dict):
        return False
    status = condition.get("status")
    if condition.get("type") in _GOOD_TRUE:
        return status in ("False", "Unknown")
    return status == "True"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
