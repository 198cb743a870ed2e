"""The simulated scheduler: binds pods to nodes that fit, evenly."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.lifecycle.controllers.pod_termination import NODES
from quarterdeck.server.lifecycle.engine.actions import Action, Record
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_condition,
    get_labels,
    get_name,
    get_spec,
    get_status,
    get_uid,
    is_deleting,
    update,
    with_condition,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads.behavior import Effect, parse_behavior
from quarterdeck.server.lifecycle.workloads.nodes import is_node_ready
from quarterdeck.server.lifecycle.workloads.pods import PODS
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

_SCHEDULER = "default-scheduler"
_AFFINITY = "node(s) didn't match Pod's node affinity/selector"


class Scheduler:
    """Binds pods to nodes."""

    name = "scheduler"
    manager = "kube-scheduler"
    resources: frozenset[str] | None = frozenset({PODS, NODES})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._waiting: dict[StoreKey, None] = {}

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find a pod that is new or unscheduled; when a node changes, all unscheduled pods."""
        if event.key.resource == NODES:
            yield from tuple(self._waiting)
        elif event.after is None:
            self._waiting.pop(event.key, None)
        elif event.before is None or event.key in self._waiting:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Bind a pod, or set the condition PodScheduled to false with the cause."""
        pod = view.get(key)
        if pod is None or is_deleting(pod) or get_spec(pod).get("nodeName"):
            self._waiting.pop(key, None)
            return ()
        if (get_spec(pod).get("schedulerName") or _SCHEDULER) != _SCHEDULER:
            return ()
        self._waiting[key] = None
        if get_spec(pod).get("schedulingGates"):
            return list(_wait(pod, "SchedulingGated", "Scheduling is blocked", view))
        fitting, refusals = _filter_nodes(pod, list(view.list_few(NODES)))
        if not fitting:
            return list(_wait(pod, "Unschedulable", _explain(refusals), view))
        node = fitting[zlib.crc32(get_uid(pod).encode()) % len(fitting)]
        del self._waiting[key]
        return list(_bind(pod, node, view))


def _bind(pod: Object, node: Object, view: View) -> Iterator[Action]:
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": format_moment(view.now),
    }
    conditions = with_condition(get_status(pod).get("conditions"), scheduled)
    yield update(
        PODS,
        pod,
        "binding",
        spec={**get_spec(pod), "nodeName": get_name(node)},
        status={**get_status(pod), "conditions": conditions},
    )
    where = f"{pod['metadata'].get('namespace')}/{get_name(pod)} to {get_name(node)}"
    yield Record(
        about=pod,
        reason="Scheduled",
        message=f"Successfully assigned {where}",
        component=_SCHEDULER,
    )


def _wait(pod: Object, reason: str, message: str, view: View) -> Iterator[Action]:
    present = get_condition(get_status(pod).get("conditions"), "PodScheduled")
    if present is not None and (present.get("reason"), present.get("message")) == (reason, message):
        return
    waiting = {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": format_moment(view.now),
        "reason": reason,
        "message": message,
    }
    conditions = with_condition(get_status(pod).get("conditions"), waiting)
    yield update(PODS, pod, "status", status={**get_status(pod), "conditions": conditions})
    if reason == "Unschedulable":
        yield Record(
            about=pod,
            reason="FailedScheduling",
            message=message,
            component=_SCHEDULER,
            is_warning=True,
        )


def _filter_nodes(pod: Object, nodes: list[Object]) -> tuple[list[Object], list[str]]:
    """Return the nodes that a pod may run on, and for each other node why not."""
    failure = parse_behavior(pod).failure
    if failure is not None and failure.effect is Effect.NO_NODE:
        return [], [failure.message] * len(nodes)
    fitting: list[Object] = []
    refusals: list[str] = []
    for node in nodes:
        why = explain_misfit(pod, node)
        if why:
            refusals.append(why)
        else:
            fitting.append(node)
    return fitting, refusals


def _explain(refusals: list[str]) -> str:
    total = len(refusals)
    if not total:
        return "no nodes available to schedule pods"
    counted = ", ".join(f"{number} {why}" for why, number in sorted(Counter(refusals).items()))
    return f"0/{total} nodes are available: {counted}."


def explain_misfit(pod: Object, node: Object) -> str:
    """Explain why a pod may not run on a node; empty if it may."""
    if get_spec(node).get("unschedulable") and not _tolerates_taint(
        pod, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ):
        return "node(s) were unschedulable"
    for taint in get_spec(node).get("taints") or ():
        if taint.get("effect") == "PreferNoSchedule" or _tolerates_taint(pod, taint):
            continue
        return f"node(s) had untolerated taint {{{taint.get('key')}: {taint.get('value') or ''}}}"
    selector: Mapping[str, str] = get_spec(pod).get("nodeSelector") or {}
    if any(get_labels(node).get(key) != text for key, text in selector.items()):
        return _AFFINITY
    if not _has_affinity(pod, node):
        return _AFFINITY
    return "" if is_node_ready(node) or _is_daemon(pod) else "node(s) were not ready"


def _is_daemon(pod: Object) -> bool:
    return any(
        each.get("kind") == "DaemonSet" for each in pod["metadata"].get("ownerReferences") or ()
    )


def _tolerates_taint(pod: Object, taint: Mapping[str, Any]) -> bool:
    for each in get_spec(pod).get("tolerations") or ():
        if each.get("effect") and each["effect"] != taint.get("effect"):
            continue
        if each.get("key") and each["key"] != taint.get("key"):
            continue
        if (each.get("operator") or "Equal") == "Exists":
            return True
        if each.get("key") and (each.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


def _has_affinity(pod: Object, node: Object) -> bool:
    affinity = (get_spec(pod).get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_matches_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def _matches_term(term: Mapping[str, Any], node: Object) -> bool:
    fields = {"metadata.name": get_name(node)}
    return all(
        _matches(each, get_labels(node)) for each in term.get("matchExpressions") or ()
    ) and all(_matches(each, fields) for each in term.get("matchFields") or ())


def _matches(expression: Mapping[str, Any], values: Mapping[str, str]) -> bool:
    value = values.get(expression.get("key") or "")
    wanted: Sequence[str] = expression.get("values") or ()
    match expression.get("operator"):
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            number, bound = parse_digits(value or ""), parse_digits(wanted[0])
            if number is None or bound is None:
                return False
            return number > bound if operator == "Gt" else number < bound
        case _:
            return False
