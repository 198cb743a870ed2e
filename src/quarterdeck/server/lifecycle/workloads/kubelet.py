"""The simulated kubelet: moves pods through their phases without running containers."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from quarterdeck.kit import duration
from quarterdeck.kit.backoff import compute_doubled
from quarterdeck.server.kinds.simulation import SIMULATED_NODE
from quarterdeck.server.lifecycle.controllers.pod_termination import NODES, end_pod
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    get_annotations,
    get_spec,
    get_status,
    is_deleting,
    parse_time,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads import pod_state, pod_status
from quarterdeck.server.lifecycle.workloads.addresses import Addresses
from quarterdeck.server.lifecycle.workloads.behavior import Behavior, Effect, parse_behavior
from quarterdeck.server.lifecycle.workloads.nodes import get_address, is_down
from quarterdeck.server.lifecycle.workloads.pods import PODS, is_finished, is_ready
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

_FIRST_BACKOFF_S = 10.0
_LAST_BACKOFF_S = 300.0
_TERMINATED, _KILLED = 143, 137
"""Exit codes of containers that a signal ended: SIGTERM, and SIGKILL after the grace period."""


class _Status(msgspec.Struct, frozen=True):
    pod_ip: str = msgspec.field(default="", name="podIP")


class _Spec(msgspec.Struct, frozen=True):
    node_name: str = msgspec.field(default="", name="nodeName")


class _Pod(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_Pod).decode


class Kubelet:
    """The kubelet of all simulated nodes."""

    name = "kubelet"
    manager = "kubelet"
    resources: frozenset[str] | None = frozenset({PODS})
    initial: Sequence[StoreKey] = ()

    def __init__(self) -> None:
        self._addresses = Addresses()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find every pod once it has a node; the addresses of deleted pods are released."""
        if event.after is None:
            self._addresses.release(event.key)
            return
        if event.before is None:
            pod = _decode(event.after.value)
            self._addresses.record(event.key, pod.status.pod_ip)
            if not pod.spec.node_name:
                return
        yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Plan the next stage of one pod."""
        pod = view.get(key)
        host = "" if pod is None else get_spec(pod).get("nodeName") or ""
        node = view.get(StoreKey(NODES, "", host)) if host else None
        if pod is None or node is None:
            # a pod without a node ends at once
            orphaned = pod is not None and host and is_deleting(pod)
            return end_pod(pod) if pod is not None and orphaned else ()
        if SIMULATED_NODE not in get_annotations(node) or is_down(node):
            return ()
        place = pod_status.Placement(
            get_address(node), self._assign_address(pod, key, node), view.now
        )
        return list(_plan_next_stage(pod, parse_behavior(pod), place))

    def _assign_address(self, pod: Object, key: StoreKey, node: Object) -> str:
        if get_spec(pod).get("hostNetwork"):
            return get_address(node)
        return get_status(pod).get("podIP") or self._addresses.take(key)


def _plan_next_stage(pod: Object, wants: Behavior, place: pod_status.Placement) -> Iterator[Action]:
    if is_deleting(pod):
        yield from _stop(pod, wants, place)
    elif is_finished(pod):
        return
    elif get_status(pod).get("podIP") and (added := pod_state.find_unstarted_containers(pod)):
        yield _write(pod, pod_status.build_with_ephemeral(pod, added, place))
        for container in added:
            yield from _start_news(pod, container, member="ephemeralContainers")
    elif pod_state.get_start_time(pod) is not None:
        yield from _keep_running(pod, wants, place)
    elif (ended := pod_state.get_last_end(pod)) is not None:
        yield from _start_again(pod, ended, place)
    else:
        yield from _start(pod, wants, place)


def _start(pod: Object, wants: Behavior, place: pod_status.Placement) -> Iterator[Action]:
    begun = parse_time(get_status(pod).get("startTime"))
    left = _compute_time_left(begun or place.now, wants.start_delay, place.now)
    if left > 0:
        if begun is None:
            unborn = pod_status.Placement(place.host, "", place.now)
            yield _write(pod, pod_status.build_waiting(pod, unborn, "ContainerCreating"))
        yield Requeue(left)
        return
    failure = wants.failure
    if failure is not None and failure.effect in (Effect.WAITS, Effect.EVICTED):
        yield from _plan_start_failure(pod, wants, place)
        return
    ready = wants.ready_delay == 0 and (failure is None or failure.effect is not Effect.UNREADY)
    yield _write(pod, pod_status.build_running(pod, place, is_ready=ready))
    for container in get_spec(pod).get("containers") or ():
        yield from _start_news(pod, container)


def _plan_start_failure(
    pod: Object, wants: Behavior, place: pod_status.Placement
) -> Iterator[Action]:
    failure = wants.failure
    assert failure is not None  # the caller asked
    image = ((get_spec(pod).get("containers") or [{}])[0]).get("image") or ""
    text = failure.message.replace("{image}", image)
    if failure.effect is Effect.EVICTED:
        yield _write(pod, pod_status.build_evicted(pod, place, failure.reason, text))
    else:
        unborn = pod_status.build_waiting(pod, place, failure.reason, text)
        if unborn["containerStatuses"] == get_status(pod).get("containerStatuses"):
            return
        yield _write(pod, unborn)
    for container in get_spec(pod).get("containers") or ():
        yield _build_event(
            pod, failure.event, text, container, is_warning=failure.event != "BackOff"
        )


def _keep_running(pod: Object, wants: Behavior, place: pod_status.Placement) -> Iterator[Action]:
    started = parse_time(pod_state.get_start_time(pod)) or place.now
    if wants.run_for is not None:
        left = _compute_time_left(started, wants.run_for, place.now)
        if left <= 0:
            yield from _plan_exit(pod, wants, place)
            return
        yield Requeue(left)
    failure = wants.failure
    if failure is not None and failure.effect is Effect.UNREADY:
        return
    left = _compute_time_left(started, wants.ready_delay, place.now)
    if left > 0:
        yield Requeue(left)
        return
    if is_ready(pod) and pod_status.is_outdated(pod) and pod_state.needs_restart(pod):
        yield _write(pod, pod_status.build_restarted(pod, place))
        return
    new = pod_status.build_running(
        pod, place, is_ready=True, restarts=pod_state.count_restarts(pod)
    )
    is_due = not is_ready(pod) or pod_status.is_outdated(pod)
    if is_due and new != get_status(pod):
        yield _write(pod, new)


def _plan_exit(pod: Object, wants: Behavior, place: pod_status.Placement) -> Iterator[Action]:
    code = wants.exit_code
    reason = "Error" if code else "Completed"
    if wants.failure is not None and wants.failure.effect is Effect.CRASHES:
        reason = wants.failure.reason
    policy = get_spec(pod).get("restartPolicy") or "Always"
    if policy == "Never" or (policy == "OnFailure" and not code):
        yield _write(pod, pod_status.build_ended(pod, place, code, reason))
        return
    yield _write(pod, pod_status.build_backing_off(pod, place, code, reason))
    for container in get_spec(pod).get("containers") or ():
        text = f"Back-off restarting failed container {container.get('name')} in pod"
        text += f" {pod['metadata']['name']}_{pod['metadata'].get('namespace')}"
        yield _build_event(pod, "BackOff", text, container, is_warning=True)


def _start_again(pod: Object, ended: str, place: pod_status.Placement) -> Iterator[Action]:
    restarts = pod_state.count_restarts(pod)
    pause = compute_doubled(_FIRST_BACKOFF_S, restarts, _LAST_BACKOFF_S)
    left = _compute_time_left(parse_time(ended) or place.now, pause, place.now)
    if left > 0:
        yield Requeue(left)
    else:
        yield _write(pod, pod_status.build_restarted(pod, place))


def _stop(pod: Object, wants: Behavior, place: pod_status.Placement) -> Iterator[Action]:
    """Report the containers as stopping, wait, report that they ended, then remove the pod."""
    now = place.now
    end = parse_time(pod["metadata"].get("deletionTimestamp")) or now
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    asked = end - duration.from_seconds(grace)
    left = _compute_time_left(asked, min(wants.stop_delay, grace), now)
    runs = pod_state.get_start_time(pod) is not None
    if runs and grace and not pod_state.is_stopping(pod):
        yield _write(pod, pod_status.build_stopping(pod, place))
        for container in get_spec(pod).get("containers") or ():
            text = f"Stopping container {container.get('name')}"
            yield _build_event(pod, "Killing", text, container)
    elif left > 0:
        yield Requeue(left)
    elif runs and grace:
        code = _get_exit_code(pod, was_killed=wants.stop_delay > grace)
        reason = "Error" if code else "Completed"
        yield _write(pod, pod_status.build_ended(pod, place, code, reason))
    else:
        yield from end_pod(pod)


def _get_exit_code(pod: Object, *, was_killed: bool) -> int:
    """Return the exit code: 137 if killed, else 0 with restartPolicy Always and 143 otherwise."""
    if was_killed:
        return _KILLED
    return 0 if get_spec(pod).get("restartPolicy", "Always") == "Always" else _TERMINATED


def _compute_time_left(since: datetime, seconds: float, now: datetime) -> float:
    return seconds - (now - since).total_seconds()


def _write(pod: Object, new: Object) -> Action:
    return update(PODS, pod, "status", status=new)


def _start_news(pod: Object, container: Object, *, member: str = "containers") -> Iterator[Action]:
    image, called = container.get("image"), container.get("name")
    text = f'Container image "{image}" already present on machine'
    yield _build_event(pod, "Pulled", text, container, member=member)
    yield _build_event(pod, "Created", f"Created container: {called}", container, member=member)
    yield _build_event(pod, "Started", f"Started container {called}", container, member=member)


def _build_event(
    pod: Object,
    reason: str,
    message: str,
    container: Object,
    *,
    member: str = "containers",
    is_warning: bool = False,
) -> Record:
    return Record(
        about=pod,
        reason=reason,
        message=message,
        component="kubelet",
        host=get_spec(pod).get("nodeName") or "",
        field_path=f"spec.{member}{{{container.get('name')}}}",
        is_warning=is_warning,
    )
