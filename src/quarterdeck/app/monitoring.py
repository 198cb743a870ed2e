"""A Grafana dashboard and alert rules for pipelines, made from the metrics' own declarations. Pure.

Panels exist because a metric is declared, and an alert that names an undeclared metric is an
error here, not a rule that never fires.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.kit.metrics import Registry
from quarterdeck.operators.pipelines.metrics import FleetMetrics

TITLE = "Quarterdeck: pipelines"
UID = "quarterdeck-pipelines"
_WIDTH, _HEIGHT = 12, 8
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WINDOW = "$__rate_interval"


def declare_metrics() -> Registry:
    """Every metric of the pipelines operator, without a value."""
    registry = Registry()
    FleetMetrics(registry)
    return registry


def build_dashboard(registry: Registry) -> dict[str, Any]:
    """A dashboard with one panel for each metric."""
    families = sorted(registry.families, key=lambda each: each.name)
    return {
        "uid": UID,
        "title": TITLE,
        "tags": ["quarterdeck"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [
            _build_panel(number, each.name, each.text, targets=_list_targets(each))
            for number, each in enumerate(families)
        ],
    }


def _build_panel(
    number: int, name: str, text: str, *, targets: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": text,
        "description": name,
        "datasource": _SOURCE,
        "gridPos": {
            "x": number % 2 * _WIDTH,
            "y": number // 2 * _HEIGHT,
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": "s" if name.endswith("_seconds") else "short"}},
        "targets": [
            {"refId": chr(ord("A") + at), "expr": expression, "legendFormat": legend}
            for at, (expression, legend) in enumerate(targets)
        ],
    }


def _list_targets(family: Any) -> list[tuple[str, str]]:
    """The expressions of a panel, with their legends."""
    by = ", ".join(family.label_names)
    legend = " ".join(f"{{{{{label}}}}}" for label in family.label_names) or family.name
    grouped = f"sum by ({by}) " if by else "sum"
    if family.kind == "counter":
        return [(f"{grouped}(rate({family.name}[{_WINDOW}]))", legend)]
    if family.kind == "gauge":
        return [(f"{grouped}({family.name})", legend)]
    return [
        (
            f"histogram_quantile({quantile}, sum by (le) (rate({family.name}_bucket[{_WINDOW}])))",
            f"p{int(quantile * 100)}",
        )
        for quantile in (0.5, 0.95)
    ]


class _Alert(NamedTuple):
    """An alert rule over one metric, which its expression calls METRIC."""

    name: str
    metric: str
    expression: str
    after: str
    """How long the expression must hold."""
    summary: str


_ALERTS = (
    _Alert(
        "FleetPipelineFailed",
        "fleet_pipeline_collectors",
        'sum by (namespace, pipeline) (METRIC{state="failed"}) > 0',
        after="5m",
        summary="collectors cannot load {{ $labels.namespace }}/{{ $labels.pipeline }}",
    ),
    _Alert(
        "FleetRolloutRolledBack",
        "fleet_pipeline_rollbacks_total",
        "increase(METRIC[15m]) > 0",
        after="0m",
        summary="a rollout was rolled back because collectors reported FAILED",
    ),
    _Alert(
        "FleetApiErrors",
        "fleet_api_errors_total",
        "sum by (operation, status) (rate(METRIC[5m])) > 0.1",
        after="10m",
        summary="{{ $labels.operation }} of the fleet server fails with {{ $labels.status }}",
    ),
    _Alert(
        "FleetRateLimited",
        "fleet_api_rate_limiter_wait_duration_seconds",
        "histogram_quantile(0.95, sum by (le) (rate(METRIC[5m]))) > 0.9",
        after="10m",
        summary="calls of the fleet server wait for the rate limit",
    ),
    _Alert(
        "FleetPipelineDrift",
        "fleet_pipeline_drift_total",
        'rate(METRIC{action="corrected"}[15m]) > 0',
        after="30m",
        summary="another writer keeps changing pipelines on the fleet server",
    ),
)


def list_alerts(registry: Registry) -> Iterator[Mapping[str, Any]]:
    """Alert rules over declared metrics.

    Raises:
        KeyError: if a rule names a metric that is not declared.
    """
    declared = {each.name: each for each in registry.families}
    for alert in _ALERTS:
        suffix = "_bucket" if declared[alert.metric].kind == "histogram" else ""
        yield {
            "alert": alert.name,
            "expr": alert.expression.replace("METRIC", f"{alert.metric}{suffix}"),
            "for": alert.after,
            "labels": {"severity": "warning"},
            "annotations": {"summary": alert.summary},
        }
