"""HorizontalPodAutoscalers in both versions, and PodDisruptionBudgets.

Autoscalers are stored as `autoscaling/v2`; `v1` knows one metric, the share of CPU, and what else
there is travels in annotations.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, required
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    UNKNOWN,
    build_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object

_V1, _V2 = "autoscaling/v1", "autoscaling/v2"
_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CPU_TARGET = 80


def _build_cpu_metric(share: int) -> Object:
    return {
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": share},
        },
    }


def _default_v2(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, minReplicas=1)
    if not spec.get("metrics"):
        spec["metrics"] = [_build_cpu_metric(_CPU_TARGET)]


def _default_v1(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, minReplicas=1)


def _validate_v2(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < 1:
        yield invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high < 1:
        yield invalid("spec.maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        text = "must be greater than or equal to `minReplicas`"
        yield invalid("spec.maxReplicas", high, text)
    target = get_mapping(spec, "scaleTargetRef")
    for member in ("kind", "name"):
        path, given = f"spec.scaleTargetRef.{member}", target.get(member)
        if not given:
            yield required(path)
        else:
            yield from (invalid(path, given, each) for each in names.check_path_segment(given))
    kinds = ("ContainerResource", "External", "Object", "Pods", "Resource")
    for index, metric in enumerate(get_items(spec, "metrics")):
        place = f"spec.metrics[{index}]"
        yield from validators.validate_required_enum(f"{place}.type", metric.get("type"), kinds)
        for member in ("resource", "containerResource"):
            if metric.get(member) is not None:
                yield from _validate_resource_target(metric[member], f"{place}.{member}.target")


def _validate_resource_target(metric: Object, path: str) -> Iterator[FieldError]:
    """Check that a target is a utilization or a value, not both."""
    target = get_mapping(metric, "target")
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    if share is None and amount is None:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{path}.averageUtilization", text)
    elif share is not None and amount is not None:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{path}.averageValue", text)
    elif share is not None and share < 1:
        yield invalid(f"{path}.averageUtilization", share, "must be greater than 0")


def _to_v2(value: Object) -> Object:
    """From v1 to the stored form."""
    if value.get("apiVersion") != _V1:
        return value
    converted = copy_value(value) | {"apiVersion": _V2}
    spec, status = converted.get("spec") or {}, converted.get("status") or {}
    annotations = converted["metadata"].get("annotations") or {}
    metrics = _parse_json(annotations.pop(_METRICS, None)) or []
    share = spec.pop("targetCPUUtilizationPercentage", None)
    if share is not None:
        metrics.append(_build_cpu_metric(share))
    spec["metrics"] = metrics or [_build_cpu_metric(_CPU_TARGET)]
    if behavior := _parse_json(annotations.pop(_BEHAVIOR, None)):
        spec["behavior"] = behavior
    if not annotations:
        converted["metadata"].pop("annotations", None)
    current = status.pop("currentCPUUtilizationPercentage", None)
    status.setdefault("currentMetrics", None)
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    if current is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": current}}
        status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    return dict(converted)


def _to_v1(value: Object) -> Object:
    """From the stored form to v1."""
    if value.get("apiVersion") != _V2:
        return value
    converted = copy_value(value) | {"apiVersion": _V1}
    spec, status = converted.get("spec") or {}, converted.get("status") or {}
    others: list[Any] = []
    for metric in spec.pop("metrics", None) or ():
        share = get_field(metric, "resource", "target", "averageUtilization")
        if get_field(metric, "resource", "name") == "cpu" and share is not None:
            spec["targetCPUUtilizationPercentage"] = share
        else:
            others.append(metric)
    noted = {_METRICS: others, _BEHAVIOR: spec.pop("behavior", None)}
    for name, content in noted.items():
        if content:
            annotations = converted["metadata"].setdefault("annotations", {})
            annotations[name] = msgspec.json.encode(content).decode()
    for metric in status.pop("currentMetrics", None) or ():
        share = get_field(metric, "resource", "current", "averageUtilization")
        if get_field(metric, "resource", "name") == "cpu" and share is not None:
            status["currentCPUUtilizationPercentage"] = share
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    return dict(converted)


def _parse_json(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None  # an annotation of another writer


def _format_targets(value: Object) -> str:
    specs, statuses = (
        get_items(value, "spec", "metrics"),
        get_items(value, "status", "currentMetrics"),
    )
    if not specs:
        return "<none>"
    texts = [
        _format_target(spec, statuses[index] if index < len(statuses) else {})
        for index, spec in enumerate(specs)
    ]
    shown = ", ".join(texts[:2])
    return f"{shown} + {len(texts) - 2} more..." if len(texts) > 2 else shown


def _format_target(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    kind = spec.get("type") or ""
    member = kind[:1].lower() + kind[1:]
    source, current = spec.get(member) or {}, (status.get(member) or {}).get("current") or {}
    target = source.get("target") or {}
    prefix = f"{source.get('name')}: " if kind in ("Resource", "ContainerResource") else ""
    if target.get("averageValue") is not None:
        suffix = " (avg)" if kind in ("External", "Object") else ""
        return f"{prefix}{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{suffix}"
    if prefix:
        now, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        shown = UNKNOWN if now is None else f"{now}%"
        return f"{prefix}{shown}/{'<auto>' if wanted is None else f'{wanted}%'}"
    return f"{current.get('value', UNKNOWN)}/{target.get('value')}"


def _build_autoscaler_cells(value: Object, now: datetime) -> Sequence[object]:
    value = _to_v2(value)
    spec = get_mapping(value, "spec")
    target, low = get_mapping(spec, "scaleTargetRef"), spec.get("minReplicas")
    return (
        value["metadata"].get("name", ""),
        f"{target.get('kind')}/{target.get('name')}",
        _format_targets(value),
        "<unset>" if low is None else str(low),
        spec.get("maxReplicas") or 0,
        get_field(value, "status", "currentReplicas") or 0,
        format_creation_age(value, now),
    )


_COLUMNS = (
    NAME,
    build_column("Reference"),
    build_column("Targets"),
    build_column("MinPods"),
    build_column("MaxPods"),
    build_column("Replicas"),
    AGE,
)

AUTOSCALER_V2 = Rules(
    default=_default_v2,
    validate=_validate_v2,
    to_served=_to_v2,
    columns=_COLUMNS,
    cells=_build_autoscaler_cells,
)
AUTOSCALER_V1 = Rules(
    default=_default_v1,
    validate=lambda value, context: _validate_v2(_to_v2(value), context),
    to_stored=_to_v2,
    to_served=_to_v1,
    converts=True,
    columns=_COLUMNS,
    cells=_build_autoscaler_cells,
)


# disruption budgets ------------------------------------------------------------------------------


def _validate_budget(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", spec, text)
    for member, amount in (("minAvailable", least), ("maxUnavailable", most)):
        if amount is not None:
            yield from validators.validate_percent_or_number(f"spec.{member}", amount)
            yield from validators.validate_percent_limit(f"spec.{member}", amount)
    yield from validators.validate_label_selector("spec.selector", spec.get("selector"))
    policies = ("AlwaysAllow", "IfHealthyBudget")
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from validators.validate_enum("spec.unhealthyPodEvictionPolicy", policy, policies)


def _build_budget_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return (
        value["metadata"].get("name", ""),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        get_field(value, "status", "disruptionsAllowed") or 0,
        format_creation_age(value, now),
    )


DISRUPTION_BUDGET = Rules(
    validate=_validate_budget,
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(
        NAME,
        build_column("Min Available"),
        build_column("Max Unavailable"),
        build_column("Allowed Disruptions", "integer"),
        AGE,
    ),
    cells=_build_budget_cells,
    status_updates_labels=True,
)
