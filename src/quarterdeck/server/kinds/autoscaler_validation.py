"""Validation of autoscalers: target, metrics and behavior."""

from collections.abc import Iterator
from typing import Any

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.go_quantity import format_go_quantity
from quarterdeck.server.kinds.resource_names import validate_container_resource_name
from quarterdeck.server.registry.resource import Context, Object

_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""Types of metrics and the members of their sources, in the order of checks."""
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
_LONGEST_WINDOW_S = 3600
_LONGEST_PERIOD_S = 1800
_POSITIVE = "must be greater than zero"


def validate_autoscaler(spec: Object, *, least: int) -> Iterator[FieldError]:
    """Check the spec of an autoscaler; `least` is the smallest minReplicas allowed."""
    low, high = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if low is not None and low < least:
        yield invalid("spec.minReplicas", low, f"must be greater than or equal to {least}")
    if high == 0 and has_feature("GroupsOfScaleTargets"):
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif high < 1:
        is_newer = has_feature("GroupsOfScaleTargets")
        text = "must be greater than or equal to 1" if is_newer else "must be greater than 0"
        yield invalid("spec.maxReplicas", high, text)
    if low is not None and high < low:
        text = "must be greater than or equal to `minReplicas`"
        yield invalid("spec.maxReplicas", high, text)
    target = get_mapping(spec, "scaleTargetRef")
    yield from _validate_reference(target, "spec.scaleTargetRef")
    yield from _validate_group(target, "spec.scaleTargetRef.apiVersion")
    metrics = get_items(spec, "metrics")
    for index, metric in enumerate(metrics):
        yield from _validate_metric(metric, f"spec.metrics[{index}]")
    if low == 0 and not any(each.get("type") in ("Object", "External") for each in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero"
        yield forbidden("spec.metrics", f"{text} replicas")
    for direction in ("scaleUp", "scaleDown"):
        rules = get_mapping(spec, "behavior").get(direction)
        if rules is not None:
            yield from _validate_scaling_rules(rules, f"spec.behavior.{direction}")


def validate_autoscaler_status(
    value: Object, old: Object, context: Context
) -> Iterator[FieldError]:
    """Check that the numbers in a status are not negative."""
    status = get_mapping(value, "status")
    for member in ("currentReplicas", "desiredReplicas"):
        yield from validators.validate_non_negative(f"status.{member}", status.get(member))


def _validate_reference(reference: Object, path: str) -> Iterator[FieldError]:
    for member in ("kind", "name"):
        place, given = f"{path}.{member}", reference.get(member)
        if not given:
            yield required(place)
        else:
            yield from (invalid(place, given, each) for each in names.check_path_segment(given))


def _validate_group(
    reference: Object, path: str, *, needs_group: bool = True
) -> Iterator[FieldError]:
    """Check the apiVersion of a scale target, which only newer releases do."""
    version = reference.get("apiVersion") or ""
    if not has_feature("GroupsOfScaleTargets"):
        return
    if version.count("/") > 1:
        yield invalid(path, version, f"unexpected GroupVersion string: {version}")
    elif needs_group and not version.partition("/")[1]:
        yield invalid(path, version, "apiVersion must specify API group")


def _validate_metric(metric: Object, path: str) -> Iterator[FieldError]:
    kind = metric.get("type") or ""
    unknown = not_supported(f"{path}.type", kind, sorted(_SOURCES))
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield unknown
    given = [member for member in _SOURCES.values() if metric.get(member) is not None]
    if given:
        yield from _validate_source(metric[given[0]], f"{path}.{given[0]}", given[0])
    expected = _SOURCES.get(kind)
    if expected is None:
        yield unknown
    elif expected not in given:
        text = "must populate information for the given metric source"
        yield required(f"{path}.{expected}", text)
    if len(given) != 1:
        for member in given:
            if member != expected:
                yield forbidden(f"{path}.{member}", "must populate the given metric source only")


def _validate_source(source: Object, path: str, member: str) -> Iterator[FieldError]:
    """Check what a metric is read from, and its target."""
    if member == "object":
        described = get_mapping(source, "describedObject")
        yield from _validate_reference(described, f"{path}.describedObject")
        place = f"{path}.describedObject.apiVersion"
        yield from _validate_group(described, place, needs_group=False)
    if member in ("object", "external", "pods"):
        yield from _validate_metric_name(source, path)
    else:
        yield from _validate_resource(source, path, member)
    target = get_mapping(source, "target")
    yield from _validate_target(target, f"{path}.target")
    yield from _validate_target_members(target, f"{path}.target", member)


def _validate_metric_name(source: Object, path: str) -> Iterator[FieldError]:
    name, place = get_mapping(source, "metric").get("name"), f"{path}.metric.name"
    if not name:
        yield required(place, "must specify a metric name")
    else:
        yield from (invalid(place, name, each) for each in names.check_path_segment(name))


def _validate_resource(source: Object, path: str, member: str) -> Iterator[FieldError]:
    name = source.get("name")
    if not name:
        yield required(f"{path}.name", "must specify a resource name")
    elif member == "containerResource":
        yield from validate_container_resource_name(f"{path}.name", name)
    if member != "containerResource":
        return
    container = source.get("container")
    if not container:
        yield required(f"{path}.container", "must specify a container")
    else:
        for problem in names.check_dns1123_label(container):
            yield invalid(f"{path}.container", container, problem)


def _validate_target(target: Object, path: str) -> Iterator[FieldError]:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for member in ("value", "averageValue"):
        if target.get(member) is not None:
            amount = Quantity.parse(str(target[member]))
            if amount.sign() < 1:
                yield invalid(f"{path}.{member}", format_go_quantity(amount), "must be positive")
    share = target.get("averageUtilization")
    if share is not None and share < 1:
        yield invalid(f"{path}.averageUtilization", share, "must be greater than 0")


def _validate_target_members(target: Object, path: str, member: str) -> Iterator[FieldError]:
    """Check that the members of a target are those that its source can have."""
    has = {name: target.get(name) is not None for name in target}
    value, average = has.get("value"), has.get("averageValue")
    share = has.get("averageUtilization")
    match member:
        case "object" if not value and not average:
            yield required(f"{path}.averageValue", "must set either a target value or averageValue")
        case "external" if not value and not average:
            text = "must set either a target value for metric or a per-pod target"
            yield required(f"{path}.averageValue", text)
        case "external" if value and average:
            text = "may not set both a target value for metric and a per-pod target"
            yield forbidden(f"{path}.value", text)
        case "pods" if not average:
            yield required(f"{path}.averageValue", "must specify a positive target averageValue")
        case "resource" | "containerResource" if not share and not average:
            text = "must set either a target raw value or a target utilization"
            yield required(f"{path}.averageUtilization", text)
        case "resource" | "containerResource" if share and average:
            text = "may not set both a target raw value and a target utilization"
            yield forbidden(f"{path}.averageValue", text)


def _validate_scaling_rules(rules: Object, path: str) -> Iterator[FieldError]:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        text = "must be greater than or equal to zero"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, text)
    if window is not None and window > _LONGEST_WINDOW_S:
        text = f"must be less than or equal to {_LONGEST_WINDOW_S}"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, text)
    select = rules.get("selectPolicy")
    yield from validators.validate_enum(f"{path}.selectPolicy", select, _SELECT_POLICIES)
    policies = get_items(rules, "policies")
    if not policies:
        yield required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        yield from _validate_policy(policy, f"{path}.policies[{index}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and has_feature("HPAConfigurableTolerance"):
        yield from validators.validate_quantity(f"{path}.tolerance", tolerance)


def _validate_policy(policy: Object, path: str) -> Iterator[FieldError]:
    kind: Any = policy.get("type") or ""
    if kind not in _POLICIES:
        yield not_supported(f"{path}.type", kind, _POLICIES)
    amount, period = policy.get("value") or 0, policy.get("periodSeconds") or 0
    if amount <= 0:
        yield invalid(f"{path}.value", amount, _POSITIVE)
    if period <= 0:
        yield invalid(f"{path}.periodSeconds", period, _POSITIVE)
    if period > _LONGEST_PERIOD_S:
        text = f"must be less than or equal to {_LONGEST_PERIOD_S}"
        yield invalid(f"{path}.periodSeconds", period, text)
