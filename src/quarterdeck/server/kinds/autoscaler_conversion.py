"""Conversion of autoscalers between `autoscaling/v2`, which is stored, and `v1`.

`v1` has one metric, the CPU utilization. Other metrics, behavior, current metrics and conditions
are kept in annotations, in a separate JSON form with flat members.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.kinds.fields import get_field, get_mapping
from quarterdeck.server.registry.resource import Object

V1, V2 = "autoscaling/v1", "autoscaling/v2"
_PREFIX = "autoscaling.alpha.kubernetes.io"
_METRICS = f"{_PREFIX}/metrics"
_BEHAVIOR = f"{_PREFIX}/behavior"
_CURRENT_METRICS = f"{_PREFIX}/current-metrics"
_CONDITIONS = f"{_PREFIX}/conditions"
_ANNOTATIONS = (_METRICS, _BEHAVIOR, _CURRENT_METRICS, _CONDITIONS)
_CPU_TARGET = 80
_ZERO = "0"
_SOURCES = ("object", "pods", "resource", "containerResource", "external")
_BEHAVIOR_MEMBERS = (
    ("ScaleUp", "scaleUp"),
    ("ScaleDown", "scaleDown"),
)
_RULE_MEMBERS = (
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
)
_POLICY_MEMBERS = (("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds"))


def build_cpu_metric(share: int = _CPU_TARGET) -> Object:
    """Build the metric that `v1` has as a number."""
    target = {"type": "Utilization", "averageUtilization": share}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def to_v2(value: Object) -> Object:
    """Convert an autoscaler of `v1` to the stored form."""
    if value.get("apiVersion") != V1:
        return value
    converted = copy_value(value) | {"apiVersion": V2}
    spec, status = converted.setdefault("spec", {}), converted.setdefault("status", {})
    noted = _take_annotations(converted.get("metadata") or {})
    share = spec.pop("targetCPUUtilizationPercentage", None)
    metrics = [] if share is None else [build_cpu_metric(share)]
    spec["metrics"] = [
        *(_read_spec(each) for each in noted.get(_METRICS) or ()),
        *metrics,
    ] or [build_cpu_metric()]
    if behavior := _read_behavior(noted.get(_BEHAVIOR)):
        spec["behavior"] = behavior
    current = status.pop("currentCPUUtilizationPercentage", None)
    status["currentMetrics"] = None
    if current is not None:
        resource = {"name": "cpu", "current": {"averageUtilization": current}}
        status["currentMetrics"] = [{"type": "Resource", "resource": resource}]
    if noted.get(_CURRENT_METRICS) is not None:
        status["currentMetrics"] = [_read_status(each) for each in noted[_CURRENT_METRICS]] or None
    if noted.get(_CONDITIONS):
        status["conditions"] = noted[_CONDITIONS]
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return dict(converted)


def to_v1(value: Object) -> Object:
    """Convert an autoscaler from the stored form to `v1`."""
    if value.get("apiVersion") != V2:
        return value
    converted = copy_value(value) | {"apiVersion": V1}
    spec, status = converted.setdefault("spec", {}), converted.setdefault("status", {})
    _take_annotations(converted.get("metadata") or {})
    metrics = spec.pop("metrics", None) or ()
    shares = [share for each in metrics if (share := _get_cpu_share(each)) is not None]
    if shares:
        spec["targetCPUUtilizationPercentage"] = shares[0]
    current = status.pop("currentMetrics", None) or ()
    for each in current:
        share = get_field(each, "resource", "current", "averageUtilization")
        if _is_cpu(each) and share is not None:
            status["currentCPUUtilizationPercentage"] = share
    noted: dict[str, Any] = {
        _METRICS: [_write_spec(each) for each in metrics if _get_cpu_share(each) is None],
        _CURRENT_METRICS: [_write_status(each) for each in current],
        _BEHAVIOR: _write_behavior(spec.pop("behavior", None)),
        _CONDITIONS: [_write_condition(each) for each in status.pop("conditions", None) or ()],
    }
    for name, content in noted.items():
        if content:
            metadata = converted.setdefault("metadata", {})
            annotations = metadata.setdefault("annotations", {})
            annotations[name] = msgspec.json.encode(content).decode()
    status.setdefault("currentReplicas", 0)
    status.setdefault("desiredReplicas", 0)
    return dict(converted)


def _take_annotations(metadata: Object) -> dict[str, Any]:
    """Remove the annotations that contain members of `v2`, and return their values."""
    annotations = metadata.get("annotations")
    if not annotations:
        return {}
    found = {
        name: _parse_json(annotations.pop(name)) for name in _ANNOTATIONS if name in annotations
    }
    if not annotations:
        del metadata["annotations"]
    return found


def _parse_json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None  # an annotation of another writer


def _is_cpu(metric: Mapping[str, Any]) -> bool:
    return metric.get("type") == "Resource" and get_field(dict(metric), "resource", "name") == "cpu"


def _get_cpu_share(metric: Mapping[str, Any]) -> int | None:
    """Return the target CPU utilization of a metric; None if it is another metric."""
    if not _is_cpu(metric):
        return None
    share: int | None = get_field(dict(metric), "resource", "target", "averageUtilization")
    return share


# metrics -----------------------------------------------------------------------------------------


def _write_spec(metric: Object) -> Object:
    return _convert_metric(metric, lambda member, source: _write_source(member, source, "target"))


def _write_status(metric: Object) -> Object:
    return _convert_metric(metric, lambda member, source: _write_source(member, source, "current"))


def _read_spec(metric: Object) -> Object:
    return _convert_metric(metric, lambda member, source: _read_source(member, source, "target"))


def _read_status(metric: Object) -> Object:
    return _convert_metric(metric, lambda member, source: _read_source(member, source, "current"))


def _convert_metric(metric: Object, convert: Any) -> Object:
    made: Object = {"type": metric.get("type") or ""}
    for member in _SOURCES:
        if metric.get(member) is not None:
            made[member] = convert(member, metric[member])
    return made


def _write_source(member: str, source: Object, side: str) -> Object:
    """Convert a metric source, or its current value, to the flat members of the annotation."""
    amounts, metric = get_mapping(source, side), get_mapping(source, "metric")
    share, average = amounts.get("averageUtilization"), amounts.get("averageValue")
    selector, name = metric.get("selector"), metric.get("name") or ""
    is_status = side == "current"
    match member:
        case "object":
            made = {
                "target": _order_reference(get_mapping(source, "describedObject")),
                "metricName": name,
                f"{side}Value": amounts.get("value") or _ZERO,
                "selector": selector,
                "averageValue": average,
            }
        case "pods":
            made = {
                "metricName": name,
                f"{side}AverageValue": average or _ZERO,
                "selector": selector,
            }
        case "external":
            value = amounts.get("value")
            made = {
                "metricName": name,
                "metricSelector": selector,
                f"{side}Value": (value or _ZERO) if is_status else value,
                f"{side}AverageValue": average,
            }
        case _:
            made = {
                "name": source.get("name") or "",
                f"{side}AverageUtilization": share,
                f"{side}AverageValue": (average or _ZERO) if is_status else average,
            }
            if member == "containerResource":
                made["container"] = source.get("container") or ""
    return _drop_absent(made)


def _read_source(member: str, source: Object, side: str) -> Object:
    """Invert `_write_source`; the type of a target follows from the members that are set."""
    value, average = source.get(f"{side}Value"), source.get(f"{side}AverageValue")
    share = source.get(f"{side}AverageUtilization")
    if member == "object":
        average = source.get("averageValue")
    kind = {
        "object": "Value" if average is None else "AverageValue",
        "pods": "AverageValue",
        "external": "AverageValue" if value is None else "Value",
    }.get(member, "AverageValue" if share is None else "Utilization")
    amounts = _drop_absent(
        {
            "type": kind if side == "target" else None,
            "value": value,
            "averageValue": average,
            "averageUtilization": share,
        }
    )
    if member in ("resource", "containerResource"):
        made = {"name": source.get("name") or "", side: amounts}
        if member == "containerResource":
            made["container"] = source.get("container") or ""
        return made
    selector = source.get("metricSelector" if member == "external" else "selector")
    made = {"metric": _drop_absent({"name": source.get("metricName") or "", "selector": selector})}
    made[side] = amounts
    if member == "object":
        made["describedObject"] = get_mapping(source, "target")
    return made


def _order_reference(reference: Object) -> Object:
    return {
        "kind": reference.get("kind") or "",
        "name": reference.get("name") or "",
        **({"apiVersion": reference["apiVersion"]} if reference.get("apiVersion") else {}),
    }


def _write_condition(condition: Object) -> Object:
    return {
        "type": condition.get("type") or "",
        "status": condition.get("status") or "",
        "lastTransitionTime": condition.get("lastTransitionTime"),
        **{name: condition[name] for name in ("reason", "message") if condition.get(name)},
    }


def _drop_absent(value: Object) -> Object:
    return {name: each for name, each in value.items() if each is not None}


# behavior ----------------------------------------------------------------------------------------


def _write_behavior(behavior: Object | None) -> Object | None:
    """Convert behavior to the annotation, with Go's field names, as Kubernetes encodes it."""
    if behavior is None:
        return None
    return {go: _write_rules(behavior.get(name)) for go, name in _BEHAVIOR_MEMBERS}


def _write_rules(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    made = {go: rules.get(name) for go, name in _RULE_MEMBERS}
    policies = rules.get("policies")
    made["Policies"] = policies and [
        {go: policy.get(name) for go, name in _POLICY_MEMBERS} for policy in policies
    ]
    return made


def _read_behavior(behavior: object) -> Object | None:
    if not isinstance(behavior, dict):
        return None
    members = ((name, _read_rules(_get(behavior, go))) for go, name in _BEHAVIOR_MEMBERS)
    return _drop_absent(dict(members)) or None


def _read_rules(rules: object) -> Object | None:
    if not isinstance(rules, dict):
        return None
    made = _drop_absent({name: _get(rules, go) for go, name in _RULE_MEMBERS})
    policies: Sequence[Object] = _get(rules, "Policies") or ()
    if policies:
        made["policies"] = [
            _drop_absent({name: _get(policy, go) for go, name in _POLICY_MEMBERS})
            for policy in policies
        ]
    return made


def _get(value: Mapping[str, Any], name: str) -> Any:
    """Return a member by its name, ignoring case as Go does."""
    return next((each for key, each in value.items() if key.lower() == name.lower()), None)
