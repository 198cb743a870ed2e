"""HorizontalPodAutoscalers: scale by the load in an annotation.

    simulate.quarterdeck.dev/load: "240"    sum over all pods, in percent of one pod's request

Without the annotation there are no metrics: the autoscaler sets a condition and does not scale.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.kinds.simulation import PREFIX
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_annotations,
    get_namespace,
    get_spec,
    get_status,
    is_deleting,
    parse_time,
    update,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.replica_sets import get_replicas
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
LOAD = f"{PREFIX}load"
_SCALED = frozenset({"deployments.apps", "replicasets.apps", "statefulsets.apps"})
_COMPONENT = "horizontal-pod-autoscaler"
_TARGET = 80
_PERIOD_S = 15.0


class Autoscalers:
    """Scales the targets of autoscalers."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({AUTOSCALERS, *_SCALED})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._known: dict[str, dict[StoreKey, None]] = {}

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the autoscaler, or those of the namespace when a scaled object changes."""
        home = event.key.namespace
        if event.key.resource != AUTOSCALERS:
            yield from tuple(self._known.get(home, ()))
            return
        if event.after is None:
            self._known.get(home, {}).pop(event.key, None)
        else:
            self._known.setdefault(home, {})[event.key] = None
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Scale the target to its load, within the bounds."""
        scaler = view.get(key)
        if scaler is None or is_deleting(scaler):
            return ()
        return list(_scale(view, scaler))


def _scale(view: View, scaler: Object) -> Iterator[Action]:
    now, found = format_moment(view.now), _find_target(view, scaler)
    if found is None:
        text = "the HPA controller was unable to get the target's current scale: not found"
        conditions = [_build_condition("AbleToScale", "False", "FailedGetScale", text, now)]
        yield from _update_status(scaler, {"currentReplicas": 0, "desiredReplicas": 0}, conditions)
        return
    resource, target = found
    load = parse_digits(get_annotations(scaler).get(LOAD, ""))
    current = int(get_status(target).get("replicas") or 0)
    able = _build_condition("AbleToScale", "True", "SucceededGetScale", "", now)
    if load is None:
        text = "the HPA was unable to compute the replica count: no metrics returned"
        conditions = [
            able,
            _build_condition("ScalingActive", "False", "FailedGetResourceMetric", text, now),
        ]
        idle = {"currentReplicas": current, "desiredReplicas": get_replicas(target)}
        yield from _update_status(scaler, idle, conditions)
        return
    desired, limited = _compute_desired(scaler, load)
    active = _build_condition("ScalingActive", "True", "ValidMetricFound", "", now)
    numbers: Object = {"currentReplicas": current, "desiredReplicas": desired}
    if current:
        share = {"averageUtilization": load // current, "averageValue": "0"}
        numbers["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": share}}
        ]
    left = _compute_cooldown(scaler, view.now) if desired != get_replicas(target) else 0.0
    if desired != get_replicas(target) and left <= 0:
        numbers["lastScaleTime"] = now
    yield from _update_status(
        scaler, numbers, [able, active, {**limited, "lastTransitionTime": now}]
    )
    if left > 0:
        yield Requeue(left)
    elif desired != get_replicas(target):
        yield update(resource, target, "scale", spec={**get_spec(target), "replicas": desired})
        text = f"New size: {desired}; reason: cpu resource utilization"
        reason = "SuccessfulRescale"
        yield Record(about=scaler, reason=reason, message=text, component=_COMPONENT)


def _find_target(view: View, scaler: Object) -> tuple[str, Object] | None:
    """Find the resource and the object that an autoscaler scales."""
    reference = get_spec(scaler).get("scaleTargetRef") or {}
    served = view.serves(reference.get("apiVersion") or "v1", reference.get("kind") or "")
    if served is None or served.resource not in _SCALED:
        return None
    name = reference.get("name") or ""
    target = view.get(StoreKey(served.resource, get_namespace(scaler), name))
    return None if target is None else (served.resource, target)


def _compute_cooldown(scaler: Object, now: datetime) -> float:
    """Compute the time until it may scale again: two autoscalers of one target must not race."""
    last = parse_time(get_status(scaler).get("lastScaleTime"))
    return 0.0 if last is None else _PERIOD_S - (now - last).total_seconds()


def _compute_desired(scaler: Object, load: int) -> tuple[int, Object]:
    least = get_spec(scaler).get("minReplicas")
    low, high = int(1 if least is None else least), int(get_spec(scaler).get("maxReplicas") or 1)
    ideal = -(-load // _get_target_utilization(scaler))
    if ideal > high:
        return high, _build_limited_condition("TooManyReplicas", "True")
    if ideal < low:
        return low, _build_limited_condition("TooFewReplicas", "True")
    return ideal, _build_limited_condition("DesiredWithinRange", "False")


def _get_target_utilization(scaler: Object) -> int:
    for metric in get_spec(scaler).get("metrics") or ():
        target = (metric.get("resource") or {}).get("target") or {}
        if target.get("averageUtilization"):
            return int(target["averageUtilization"])
    return _TARGET


def _build_limited_condition(reason: str, state: str) -> Object:
    return {"type": "ScalingLimited", "status": state, "reason": reason, "message": ""}


def _build_condition(kind: str, state: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": kind,
        "status": state,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _update_status(scaler: Object, numbers: Object, conditions: list[Object]) -> Iterator[Action]:
    merged = get_status(scaler).get("conditions") or []
    for each in conditions:
        merged = with_condition(merged, each)
    new = {**numbers, "conditions": merged}
    if "lastScaleTime" not in new and get_status(scaler).get("lastScaleTime"):
        new["lastScaleTime"] = get_status(scaler)["lastScaleTime"]
    if new != get_status(scaler):
        yield update(AUTOSCALERS, scaler, "status", status=new)
