"""A kubelet that runs nothing: pods of simulated nodes go through their stages as they ask for."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec

from quarterdeck.server.lifecycle.controllers.pod_termination import NODES, SIMULATED_NODE, end_pod
from quarterdeck.server.lifecycle.engine.actions import Action, Record, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import (
    annotations,
    is_deleting,
    spec,
    status,
    time_of,
    update,
)
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.lifecycle.workloads import pod_status
from quarterdeck.server.lifecycle.workloads.addresses import Addresses
from quarterdeck.server.lifecycle.workloads.behaviour import Behaviour, Effect, behaviour_of
from quarterdeck.server.lifecycle.workloads.nodes import address_of, is_down
from quarterdeck.server.lifecycle.workloads.pods import PODS, is_finished, is_ready
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey

_FIRST_BACKOFF_S = 10.0
_LAST_BACKOFF_S = 300.0


class _Status(msgspec.Struct, frozen=True):
    pod_ip: str = msgspec.field(default="", name="podIP")


class _Pod(msgspec.Struct, frozen=True):
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

    def keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Every pod; addresses of those that are gone are free again."""
        if event.after is None:
            self._addresses.free(event.key)
            return
        if event.before is None:
            self._addresses.note(event.key, _decode(event.after.value).status.pod_ip)
        yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """The next stage of one pod."""
        pod = view.get(key)
        host = "" if pod is None else spec(pod).get("nodeName") or ""
        node = view.get(StoreKey(NODES, "", host)) if host else None
        if pod is None or node is None:
            # without a node nobody is asked whether the pod may go
            orphaned = pod is not None and host and is_deleting(pod)
            return end_pod(pod) if pod is not None and orphaned else ()
        if SIMULATED_NODE not in annotations(node) or is_down(node):
            return ()
        place = pod_status.Place(address_of(node), self._address(pod, key, node), view.now)
        return list(_next_stage(pod, behaviour_of(pod), place))

    def _address(self, pod: Object, key: StoreKey, node: Object) -> str:
        if spec(pod).get("hostNetwork"):
            return address_of(node)
        return status(pod).get("podIP") or self._addresses.take(key)


def _next_stage(pod: Object, wants: Behaviour, place: pod_status.Place) -> Iterator[Action]:
    if is_deleting(pod):
        yield from _stop(pod, wants, place.now)
    elif is_finished(pod):
        return
    elif pod_status.started_at(pod) is not None:
        yield from _keep_running(pod, wants, place)
    elif (ended := pod_status.last_end(pod)) is not None:
        yield from _start_again(pod, ended, place)
    else:
        yield from _start(pod, wants, place)


def _start(pod: Object, wants: Behaviour, place: pod_status.Place) -> Iterator[Action]:
    begun = time_of(status(pod).get("startTime"))
    left = _left(begun or place.now, wants.start_delay, place.now)
    if left > 0:
        if begun is None:
            unborn = pod_status.Place(place.host, "", place.now)
            yield _write(pod, pod_status.waiting(pod, unborn, "ContainerCreating"))
        yield Requeue(left)
        return
    failure = wants.failure
    if failure is not None and failure.effect in (Effect.WAITS, Effect.EVICTED):
        yield from _fail_to_start(pod, wants, place)
        return
    ready = wants.ready_delay == 0 and (failure is None or failure.effect is not Effect.UNREADY)
    yield _write(pod, pod_status.running(pod, place, is_ready=ready))
    for container in spec(pod).get("containers") or ():
        yield from _start_news(pod, container)


def _fail_to_start(pod: Object, wants: Behaviour, place: pod_status.Place) -> Iterator[Action]:
    failure = wants.failure
    assert failure is not None  # the caller asked
    image = ((spec(pod).get("containers") or [{}])[0]).get("image") or ""
    text = failure.message.replace("{image}", image)
    if failure.effect is Effect.EVICTED:
        yield _write(pod, pod_status.evicted(pod, place, failure.reason, text))
    else:
        unborn = pod_status.waiting(pod, place, failure.reason, text)
        if unborn["containerStatuses"] == status(pod).get("containerStatuses"):
            return
        yield _write(pod, unborn)
    for container in spec(pod).get("containers") or ():
        yield _news(pod, failure.event, text, container, is_warning=failure.event != "BackOff")


def _keep_running(pod: Object, wants: Behaviour, place: pod_status.Place) -> Iterator[Action]:
    started = time_of(pod_status.started_at(pod)) or place.now
    if wants.run_for is not None:
        left = _left(started, wants.run_for, place.now)
        if left <= 0:
            yield from _exit(pod, wants, place)
            return
        yield Requeue(left)
    failure = wants.failure
    if failure is not None and failure.effect is Effect.UNREADY:
        return
    left = _left(started, wants.ready_delay, place.now)
    if left > 0:
        yield Requeue(left)
        return
    new = pod_status.running(pod, place, is_ready=True, restarts=pod_status.restarts_of(pod))
    if not is_ready(pod) and new != status(pod):
        yield _write(pod, new)


def _exit(pod: Object, wants: Behaviour, place: pod_status.Place) -> Iterator[Action]:
    code = wants.exit_code
    reason = "Error" if code else "Completed"
    if wants.failure is not None and wants.failure.effect is Effect.CRASHES:
        reason = wants.failure.reason
    policy = spec(pod).get("restartPolicy") or "Always"
    if policy == "Never" or (policy == "OnFailure" and not code):
        yield _write(pod, pod_status.ended(pod, place, code, reason))
        return
    yield _write(pod, pod_status.backing_off(pod, place, code, reason))
    for container in spec(pod).get("containers") or ():
        text = f"Back-off restarting failed container {container.get('name')} in pod"
        text += f" {pod['metadata']['name']}_{pod['metadata'].get('namespace')}"
        yield _news(pod, "BackOff", text, container, is_warning=True)


def _start_again(pod: Object, ended: str, place: pod_status.Place) -> Iterator[Action]:
    pause = min(_FIRST_BACKOFF_S * 2 ** pod_status.restarts_of(pod), _LAST_BACKOFF_S)
    left = _left(time_of(ended) or place.now, pause, place.now)
    if left > 0:
        yield Requeue(left)
    else:
        yield _write(pod, pod_status.restarted(pod, place))


def _stop(pod: Object, wants: Behaviour, now: datetime) -> Iterator[Action]:
    end = time_of(pod["metadata"].get("deletionTimestamp")) or now
    grace = pod["metadata"].get("deletionGracePeriodSeconds") or 0
    asked = end - timedelta(seconds=grace)
    left = _left(asked, min(wants.stop_delay, grace), now)
    if left > 0:
        yield Requeue(left)
        return
    if pod_status.started_at(pod) is not None and grace:
        for container in spec(pod).get("containers") or ():
            yield _news(pod, "Killing", f"Stopping container {container.get('name')}", container)
    yield from end_pod(pod)


def _left(since: datetime, seconds: float, now: datetime) -> float:
    return seconds - (now - since).total_seconds()


def _write(pod: Object, new: Object) -> Action:
    return update(PODS, pod, "status", status=new)


def _start_news(pod: Object, container: Object) -> Iterator[Action]:
    image, called = container.get("image"), container.get("name")
    text = f'Container image "{image}" already present on machine'
    yield _news(pod, "Pulled", text, container)
    yield _news(pod, "Created", f"Created container: {called}", container)
    yield _news(pod, "Started", f"Started container {called}", container)


def _news(
    pod: Object, reason: str, message: str, container: Object, *, is_warning: bool = False
) -> Record:
    return Record(
        about=pod,
        reason=reason,
        message=message,
        component="kubelet",
        host=spec(pod).get("nodeName") or "",
        field_path=f"spec.containers{{{container.get('name')}}}",
        is_warning=is_warning,
    )
