"""HorizontalPodAutoscalers: scaled by the load an annotation says there is.

    simulate.quarterdeck.dev/load: "240"    in percent of what one pod asked for, all pods together

Without the annotation there are no metrics, and the autoscaler says so and does nothing.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    annotations,
    is_deleting,
    namespace,
    spec,
    stamp,
    status,
    time_of,
    update,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.behaviour import PREFIX
from quarterdeck.server.lifecycle.workloads.replica_sets import wanted
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
LOAD = f"{PREFIX}load"
_SCALED = frozenset({"deployments.apps", "replicasets.apps", "statefulsets.apps"})
_COMPONENT = "horizontal-pod-autoscaler"
_TARGET = 80
_PERIOD_S = 15.0


class Autoscalers:
    """Scales what autoscalers point to."""

    name = _COMPONENT
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({AUTOSCALERS, *_SCALED})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._known: dict[str, dict[StoreKey, None]] = {}

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """The autoscaler itself, and all of a namespace when one of the scaled changes."""
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
    reference = spec(scaler).get("scaleTargetRef") or {}
    served = view.serves(reference.get("apiVersion") or "v1", reference.get("kind") or "")
    target = None
    if served is not None and served.resource in _SCALED:
        target = view.get(StoreKey(served.resource, namespace(scaler), reference.get("name") or ""))
    now = stamp(view.now)
    if target is None or served is None:
        text = "the HPA controller was unable to get the target's current scale: not found"
        conditions = [_condition("AbleToScale", "False", "FailedGetScale", text, now)]
        yield from _say(scaler, {"currentReplicas": 0, "desiredReplicas": 0}, conditions)
        return
    load = annotations(scaler).get(LOAD, "")
    current = int(status(target).get("replicas") or 0)
    able = _condition("AbleToScale", "True", "SucceededGetScale", "", now)
    if not load.isdigit():
        text = "the HPA was unable to compute the replica count: no metrics returned"
        conditions = [
            able,
            _condition("ScalingActive", "False", "FailedGetResourceMetric", text, now),
        ]
        idle = {"currentReplicas": current, "desiredReplicas": wanted(target)}
        yield from _say(scaler, idle, conditions)
        return
    desired, limited = _desired(scaler, int(load))
    active = _condition("ScalingActive", "True", "ValidMetricFound", "", now)
    numbers: Object = {"currentReplicas": current, "desiredReplicas": desired}
    if current:
        share = {"averageUtilization": int(load) // current, "averageValue": "0"}
        numbers["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": share}}
        ]
    left = _patience(scaler, view.now) if desired != wanted(target) else 0.0
    if desired != wanted(target) and left <= 0:
        numbers["lastScaleTime"] = now
    yield from _say(scaler, numbers, [able, active, {**limited, "lastTransitionTime": now}])
    if left > 0:
        yield Requeue(left)
    elif desired != wanted(target):
        yield update(served.resource, target, "scale", spec={**spec(target), "replicas": desired})
        text = f"New size: {desired}; reason: cpu resource utilization"
        news = "SuccessfulRescale"
        yield Record(about=scaler, reason=news, message=text, component=_COMPONENT)


def _patience(scaler: Object, now: datetime) -> float:
    """How long until it may scale again: two autoscalers of one target must not race."""
    last = time_of(status(scaler).get("lastScaleTime"))
    return 0.0 if last is None else _PERIOD_S - (now - last).total_seconds()


def _desired(scaler: Object, load: int) -> tuple[int, Object]:
    least = spec(scaler).get("minReplicas")
    low, high = int(1 if least is None else least), int(spec(scaler).get("maxReplicas") or 1)
    ideal = -(-load // _target(scaler))
    if ideal > high:
        return high, _limited("TooManyReplicas", "True")
    if ideal < low:
        return low, _limited("TooFewReplicas", "True")
    return ideal, _limited("DesiredWithinRange", "False")


def _target(scaler: Object) -> int:
    for metric in spec(scaler).get("metrics") or ():
        target = (metric.get("resource") or {}).get("target") or {}
        if target.get("averageUtilization"):
            return int(target["averageUtilization"])
    return _TARGET


def _limited(reason: str, state: str) -> Object:
    return {"type": "ScalingLimited", "status": state, "reason": reason, "message": ""}


def _condition(kind: str, state: str, reason: str, message: str, now: str) -> Object:
    return {
        "type": kind,
        "status": state,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _say(scaler: Object, numbers: Object, conditions: list[Object]) -> Iterator[Action]:
    merged = status(scaler).get("conditions") or []
    for each in conditions:
        merged = with_condition(merged, each)
    new = {**numbers, "conditions": merged}
    if "lastScaleTime" not in new and status(scaler).get("lastScaleTime"):
        new["lastScaleTime"] = status(scaler)["lastScaleTime"]
    if new != status(scaler):
        yield update(AUTOSCALERS, scaler, "status", status=new)
