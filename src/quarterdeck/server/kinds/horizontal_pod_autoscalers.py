"""HorizontalPodAutoscalers in both versions."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds.autoscaler_conversion import build_cpu_metric, to_v1, to_v2
from quarterdeck.server.kinds.autoscaler_validation import (
    validate_autoscaler,
    validate_autoscaler_status,
)
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    UNKNOWN,
    build_column,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object

_PERIOD_S = 15
_SCALE_UP: Object = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": _PERIOD_S},
        {"type": "Percent", "value": 100, "periodSeconds": _PERIOD_S},
    ],
}
_SCALE_DOWN: Object = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": _PERIOD_S}],
}


def _default_v2(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, minReplicas=1)
    if not spec.get("metrics"):
        spec["metrics"] = [build_cpu_metric()]
    if (behavior := spec.get("behavior")) is not None:
        for direction, rules in (("scaleUp", _SCALE_UP), ("scaleDown", _SCALE_DOWN)):
            set_defaults(behavior, **{direction: {}})
            set_defaults(behavior[direction], **copy_value(rules))


def _default_v1(value: Object) -> None:
    """Fill in an autoscaler, and convert it to `v2` and back, as Kubernetes does first."""
    set_defaults(value.setdefault("spec", {}), minReplicas=1)
    converted = to_v1(to_v2(value))
    value.clear()
    value.update(converted)


def _validate_new(value: Object, context: Context) -> Iterator[FieldError]:
    yield from validate_autoscaler(get_mapping(to_v2(value), "spec"), least=1)


def _validate_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    """Check a changed autoscaler; `minReplicas` may be 0 only if it was 0 before."""
    least = 0 if get_field(old, "spec", "minReplicas") == 0 else 1
    yield from validate_autoscaler(get_mapping(to_v2(value), "spec"), least=least)


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
    value = to_v2(value)
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

HORIZONTAL_POD_AUTOSCALER_V2 = Rules(
    default=_default_v2,
    validate_new=_validate_new,
    validate_change=_validate_change,
    validate_status=validate_autoscaler_status,
    to_served=to_v2,
    columns=_COLUMNS,
    cells=_build_autoscaler_cells,
    status_updates_labels=True,
)
HORIZONTAL_POD_AUTOSCALER_V1 = Rules(
    default=_default_v1,
    validate_new=_validate_new,
    validate_change=_validate_change,
    validate_status=validate_autoscaler_status,
    to_stored=to_v2,
    to_served=to_v1,
    converts=True,
    columns=_COLUMNS,
    cells=_build_autoscaler_cells,
    status_updates_labels=True,
)
