"""The status of a simulated pod, stage by stage, as a kubelet would write it."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from quarterdeck.server.lifecycle.engine.objects import condition, is_true, spec, stamp, status, uid
from quarterdeck.server.registry.resource import Object


class Place(NamedTuple):
    """Where a pod runs."""

    host: str
    address: str
    now: datetime


def waiting(pod: Object, place: Place, reason: str, message: str = "") -> Object:
    """Bound to a node, its containers do not run yet."""
    state = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
    return _status(pod, place, "Pending", state)


def running(pod: Object, place: Place, *, is_ready: bool, restarts: int = 0) -> Object:
    """Its containers run; the time they started is kept."""
    started = started_at(pod) or stamp(place.now)
    state = {"running": {"startedAt": started}}
    return _status(pod, place, "Running", state, is_ready=is_ready, restarts=restarts)


def restarted(pod: Object, place: Place) -> Object:
    """Its containers run again."""
    state = {"running": {"startedAt": stamp(place.now)}}
    count = restarts_of(pod) + 1
    return _status(pod, place, "Running", state, is_ready=True, restarts=count)


def backing_off(pod: Object, place: Place, exit_code: int, reason: str) -> Object:
    """Its containers exited and are not started again just yet."""
    container = _first(pod).get("name")
    text = f"back-off restarting failed container={container} pod={pod['metadata']['name']}"
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
    last = {"terminated": _terminated(pod, place, exit_code, reason)}
    return _status(pod, place, "Running", state, restarts=restarts_of(pod), last=last)


def ended(pod: Object, place: Place, exit_code: int, reason: str) -> Object:
    """Its containers exited for good."""
    state = {"terminated": _terminated(pod, place, exit_code, reason)}
    phase = "Failed" if exit_code else "Succeeded"
    return _status(pod, place, phase, state, restarts=restarts_of(pod))


def evicted(pod: Object, place: Place, reason: str, message: str) -> Object:
    """Thrown out by its node."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": message,
        "startTime": status(pod).get("startTime") or stamp(place.now),
        "qosClass": status(pod).get("qosClass") or "BestEffort",
    }


# questions ---------------------------------------------------------------------------------------


def started_at(pod: Object) -> str | None:
    """When the containers last started, if they run."""
    found: str | None = _state(pod, "running").get("startedAt")
    return found


def last_end(pod: Object) -> str | None:
    """When the containers last exited, if they wait to be started again."""
    last = (_container(pod).get("lastState") or {}).get("terminated") or {}
    found: str | None = last.get("finishedAt")
    return found if _state(pod, "waiting") else None


def restarts_of(pod: Object) -> int:
    """How often the containers were started again."""
    return int(_container(pod).get("restartCount") or 0)


def _container(pod: Object) -> Object:
    statuses = status(pod).get("containerStatuses") or ()
    found: Object = statuses[0] if statuses else {}
    return found


def _state(pod: Object, member: str) -> Mapping[str, str]:
    return (_container(pod).get("state") or {}).get(member) or {}


def _first(pod: Object) -> Object:
    containers = spec(pod).get("containers") or ()
    found: Object = containers[0] if containers else {}
    return found


# parts -------------------------------------------------------------------------------------------


def _status(
    pod: Object,
    place: Place,
    phase: str,
    state: Object,
    *,
    is_ready: bool = False,
    restarts: int = 0,
    last: Object | None = None,
) -> Object:
    now = stamp(place.now)
    is_over = phase in ("Succeeded", "Failed")
    runs = "running" in state
    if last is None:
        last = _container(pod).get("lastState") or {}
    gates = spec(pod).get("readinessGates") or ()
    conditions = status(pod).get("conditions")
    open_gates = all(is_true(conditions, gate.get("conditionType") or "") for gate in gates)
    flags = {
        "PodReadyToStartContainers": (not is_over, ""),
        "Initialized": (True, "PodCompleted" if phase == "Succeeded" else ""),
        "Ready": (is_ready and open_gates, _why(phase, is_ready=is_ready)),
        "ContainersReady": (is_ready, _why(phase, is_ready=is_ready)),
        "PodScheduled": (True, ""),
    }
    new: Object = {
        "phase": phase,
        "conditions": _conditions(pod, flags, now),
        "hostIP": place.host,
        "hostIPs": [{"ip": place.host}],
        "startTime": status(pod).get("startTime") or now,
    }
    if place.address:
        new |= {"podIP": place.address, "podIPs": [{"ip": place.address}]}
    if inits := spec(pod).get("initContainers"):
        new["initContainerStatuses"] = [
            _init_status(pod, each, now, runs=runs or is_over) for each in inits
        ]
    new["containerStatuses"] = [
        {
            "name": each.get("name"),
            "state": state,
            "lastState": last,
            "ready": is_ready,
            "restartCount": restarts,
            "image": each.get("image"),
            "imageID": _image_id(each) if runs or is_over else "",
            **({"containerID": _container_id(pod, each)} if runs or is_over else {}),
            "started": runs,
        }
        for each in spec(pod).get("containers") or ()
    ]
    new["qosClass"] = status(pod).get("qosClass") or "BestEffort"
    return new


def _why(phase: str, *, is_ready: bool) -> str:
    if is_ready:
        return ""
    return "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"


def _conditions(pod: Object, flags: Mapping[str, tuple[bool, str]], now: str) -> list[Object]:
    present = status(pod).get("conditions") or []
    names = " ".join(each.get("name") or "" for each in spec(pod).get("containers") or ())
    result = []
    for kind, (holds, reason) in flags.items():
        new: Object = {
            "type": kind,
            "status": "True" if holds else "False",
            "lastProbeTime": None,
            "lastTransitionTime": now,
        }
        if reason:
            new["reason"] = reason
        if reason == "ContainersNotReady":
            new["message"] = f"containers with unready status: [{names}]"
        old = condition(present, kind)
        if old is not None and old.get("status") == new["status"]:
            new["lastTransitionTime"] = old.get("lastTransitionTime") or now
        result.append(new)
    return result + [each for each in present if each.get("type") not in flags]


def _init_status(pod: Object, container: Object, now: str, *, runs: bool) -> Object:
    state: Object = {"waiting": {"reason": "PodInitializing"}}
    if runs:
        since = status(pod).get("startTime") or now
        done = {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": since}
        state = {"terminated": done | {"containerID": _container_id(pod, container)}}
    return {
        "name": container.get("name"),
        "state": state,
        "lastState": {},
        "ready": runs,
        "restartCount": 0,
        "image": container.get("image"),
        "imageID": _image_id(container) if runs else "",
        "started": False,
    }


def _terminated(pod: Object, place: Place, exit_code: int, reason: str) -> Object:
    return {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": started_at(pod) or stamp(place.now),
        "finishedAt": stamp(place.now),
        "containerID": _container_id(pod, _first(pod)),
    }


def _container_id(pod: Object, container: Object) -> str:
    seed = f"{uid(pod)}/{container.get('name')}"
    return f"containerd://{hashlib.sha256(seed.encode()).hexdigest()}"


def _image_id(container: Object) -> str:
    image = container.get("image") or ""
    digest = hashlib.sha256(image.encode()).hexdigest()
    return f"{image.partition('@')[0]}@sha256:{digest}"
