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
from quarterdeck.server.kinds.fields import at, fill, items, mapping
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, NAME, UNKNOWN, column, created
from quarterdeck.server.registry.resource import Context, Object

_V1, _V2 = "autoscaling/v1", "autoscaling/v2"
_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CPU_TARGET = 80


def _cpu(share: int) -> Object:
    return {
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": share},
        },
    }


def _default_v2(value: Object) -> None:
    spec = value.setdefault("spec", {})
    fill(spec, minReplicas=1)
    if not spec.get("metrics"):
        spec["metrics"] = [_cpu(_CPU_TARGET)]


def _default_v1(value: Object) -> None:
    spec = value.setdefault("spec", {})
    fill(spec, minReplicas=1)


def _v2_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < 1:
        yield invalid("spec.minReplicas", low, "must be greater than or equal to 1")
    if high < 1:
        yield invalid("spec.maxReplicas", high, "must be greater than 0")
    if low is not None and high < low:
        text = "must be greater than or equal to `minReplicas`"
        yield invalid("spec.maxReplicas", high, text)
    target = mapping(spec, "scaleTargetRef")
    for member in ("kind", "name"):
        path, given = f"spec.scaleTargetRef.{member}", target.get(member)
        if not given:
            yield required(path)
        else:
            yield from (invalid(path, given, each) for each in names.path_segment(given))
    kinds = ("ContainerResource", "External", "Object", "Pods", "Resource")
    for index, metric in enumerate(items(spec, "metrics")):
        place = f"spec.metrics[{index}]"
        yield from validators.choice(f"{place}.type", metric.get("type"), kinds)
        for member in ("resource", "containerResource"):
            if metric.get(member) is not None:
                yield from _resource_target_problems(metric[member], f"{place}.{member}.target")


def _resource_target_problems(metric: Object, path: str) -> Iterator[FieldError]:
    """A share or an amount of a resource, not both."""
    target = mapping(metric, "target")
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
    metrics = _parsed(annotations.pop(_METRICS, None)) or []
    share = spec.pop("targetCPUUtilizationPercentage", None)
    if share is not None:
        metrics.append(_cpu(share))
    spec["metrics"] = metrics or [_cpu(_CPU_TARGET)]
    if behavior := _parsed(annotations.pop(_BEHAVIOR, None)):
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
        share = at(metric, "resource", "target", "averageUtilization")
        if at(metric, "resource", "name") == "cpu" and share is not None:
            spec["targetCPUUtilizationPercentage"] = share
        else:
            others.append(metric)
    noted = {_METRICS: others, _BEHAVIOR: spec.pop("behavior", None)}
    for name, content in noted.items():
        if content:
            annotations = converted["metadata"].setdefault("annotations", {})
            annotations[name] = msgspec.json.encode(content).decode()
    for metric in status.pop("currentMetrics", None) or ():
        share = at(metric, "resource", "current", "averageUtilization")
        if at(metric, "resource", "name") == "cpu" and share is not None:
            status["currentCPUUtilizationPercentage"] = share
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    return dict(converted)


def _parsed(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None  # somebody else's annotation


def _targets(value: Object) -> str:
    specs, statuses = items(value, "spec", "metrics"), items(value, "status", "currentMetrics")
    if not specs:
        return "<none>"
    texts = [
        _target(spec, statuses[index] if index < len(statuses) else {})
        for index, spec in enumerate(specs)
    ]
    shown = ", ".join(texts[:2])
    return f"{shown} + {len(texts) - 2} more..." if len(texts) > 2 else shown


def _target(spec: Mapping[str, Any], status: Mapping[str, Any]) -> str:
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


def _autoscaler_cells(value: Object, now: datetime) -> Sequence[object]:
    value = _to_v2(value)
    spec = mapping(value, "spec")
    target, low = mapping(spec, "scaleTargetRef"), spec.get("minReplicas")
    return (
        value["metadata"].get("name", ""),
        f"{target.get('kind')}/{target.get('name')}",
        _targets(value),
        "<unset>" if low is None else str(low),
        spec.get("maxReplicas") or 0,
        at(value, "status", "currentReplicas") or 0,
        created(value, now),
    )


_COLUMNS = (
    NAME,
    column("Reference"),
    column("Targets"),
    column("MinPods"),
    column("MaxPods"),
    column("Replicas"),
    AGE,
)

AUTOSCALER_V2 = Rules(
    default=_default_v2,
    validate=_v2_problems,
    to_served=_to_v2,
    columns=_COLUMNS,
    cells=_autoscaler_cells,
)
AUTOSCALER_V1 = Rules(
    default=_default_v1,
    validate=lambda value, context: _v2_problems(_to_v2(value), context),
    to_stored=_to_v2,
    to_served=_to_v1,
    converts=True,
    columns=_COLUMNS,
    cells=_autoscaler_cells,
)


# disruption budgets ------------------------------------------------------------------------------


def _budget_problems(value: Object, context: Context) -> Iterator[FieldError]:
    spec = mapping(value, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", spec, text)
    for member, amount in (("minAvailable", least), ("maxUnavailable", most)):
        if amount is not None:
            yield from validators.percent_or_number(f"spec.{member}", amount)
            yield from validators.at_most_all(f"spec.{member}", amount)
    yield from validators.label_selector("spec.selector", spec.get("selector"))
    policies = ("AlwaysAllow", "IfHealthyBudget")
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from validators.one_of("spec.unhealthyPodEvictionPolicy", policy, policies)


def _budget_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return (
        value["metadata"].get("name", ""),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        at(value, "status", "disruptionsAllowed") or 0,
        created(value, now),
    )


DISRUPTION_BUDGET = Rules(
    validate=_budget_problems,
    counted=("spec",),
    unconditional_update=False,
    columns=(
        NAME,
        column("Min Available"),
        column("Max Unavailable"),
        column("Allowed Disruptions", "integer"),
        AGE,
    ),
    cells=_budget_cells,
)
