"""The status of a simulated pod, stage by stage, as a kubelet would write it."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from quarterdeck.meta.release import has_feature
from quarterdeck.server.lifecycle.engine.objects import (
    format_moment,
    get_condition,
    get_spec,
    get_status,
    get_uid,
    is_true,
)
from quarterdeck.server.lifecycle.workloads.pod_state import (
    count_restarts,
    get_container_status,
    get_start_time,
)
from quarterdeck.server.registry.resource import Object

_ENDS = ("Succeeded", "Failed")


class Placement(NamedTuple):
    """The addresses of a pod and its node, and the current time."""

    host: str
    address: str
    now: datetime


class _Stage(NamedTuple):
    """The state that all containers of a pod share."""

    state: Object
    is_ready: bool = False
    restarts: int = 0
    last: Object | None = None
    """The `lastState` of the containers; None keeps that of the current status."""

    @property
    def runs(self) -> bool:
        """Whether the containers run."""
        return "running" in self.state


def build_waiting(pod: Object, place: Placement, reason: str, message: str = "") -> Object:
    """Build the status of a pod that is bound to a node, with containers that do not run yet."""
    state = {"waiting": {"reason": reason} | ({"message": message} if message else {})}
    return _build_status(pod, place, "Pending", _Stage(state))


def build_running(pod: Object, place: Placement, *, is_ready: bool, restarts: int = 0) -> Object:
    """Build the status of a running pod; the start time of its containers is kept."""
    started = get_start_time(pod) or format_moment(place.now)
    state = {"running": {"startedAt": started}}
    stage = _Stage(state, is_ready=is_ready, restarts=restarts)
    return _build_status(pod, place, "Running", stage)


def build_restarted(pod: Object, place: Placement) -> Object:
    """Build the status of a pod whose containers were restarted."""
    state = {"running": {"startedAt": format_moment(place.now)}}
    stage = _Stage(state, is_ready=True, restarts=count_restarts(pod) + 1)
    return _build_status(pod, place, "Running", stage)


def build_backing_off(pod: Object, place: Placement, exit_code: int, reason: str) -> Object:
    """Build the status of a pod in CrashLoopBackOff, whose containers exited."""
    container = _get_first_container(pod).get("name")
    text = f"back-off restarting failed container={container} pod={pod['metadata']['name']}"
    state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
    last = {"terminated": _build_terminated(pod, place, exit_code, reason)}
    stage = _Stage(state, restarts=count_restarts(pod), last=last)
    return _build_status(pod, place, "Running", stage)


def build_ended(pod: Object, place: Placement, exit_code: int, reason: str) -> Object:
    """Build the status of a pod whose containers exited and are not restarted."""
    state = {"terminated": _build_terminated(pod, place, exit_code, reason)}
    phase = "Failed" if exit_code else "Succeeded"
    return _build_status(pod, place, phase, _Stage(state, restarts=count_restarts(pod)))


def build_stopping(pod: Object, place: Placement) -> Object:
    """Build the status of a stopping pod: its containers still run, but get no more traffic."""
    started = get_start_time(pod) or format_moment(place.now)
    state = {"running": {"startedAt": started}}
    return _build_status(pod, place, "Running", _Stage(state, restarts=count_restarts(pod)))


def build_evicted(pod: Object, place: Placement, reason: str, message: str) -> Object:
    """Build the status of a pod that its node evicted."""
    return {
        "phase": "Failed",
        "reason": reason,
        "message": message,
        "startTime": get_status(pod).get("startTime") or format_moment(place.now),
        "qosClass": get_status(pod).get("qosClass") or "BestEffort",
    }


def build_with_ephemeral(pod: Object, added: Sequence[Object], place: Placement) -> Object:
    """Build the current status of a pod with ephemeral containers that start now."""
    started = [
        {
            "name": container.get("name"),
            "state": {"running": {"startedAt": format_moment(place.now)}},
            "lastState": {},
            "ready": False,
            "restartCount": 0,
            "image": container.get("image"),
            "imageID": _build_image_id(container),
            "containerID": _build_container_id(pod, container),
        }
        for container in added
    ]
    present = get_status(pod).get("ephemeralContainerStatuses") or []
    return get_status(pod) | {"ephemeralContainerStatuses": present + started}


def is_outdated(pod: Object) -> bool:
    """Whether the spec changed since the status was written."""
    return bool(_build_generation(pod)) and any(
        get_status(pod).get(name) != value for name, value in _build_generation(pod).items()
    )


def _get_first_container(pod: Object) -> Object:
    containers = get_spec(pod).get("containers") or ()
    found: Object = containers[0] if containers else {}
    return found


def _build_status(pod: Object, place: Placement, phase: str, stage: _Stage) -> Object:
    now = format_moment(place.now)
    has_begun = stage.runs or phase in _ENDS
    new: Object = {
        "phase": phase,
        "conditions": _build_conditions(pod, _build_flags(pod, phase, stage), now),
        "hostIP": place.host,
        "hostIPs": [{"ip": place.host}],
        "startTime": get_status(pod).get("startTime") or now,
    }
    if place.address:
        new |= {"podIP": place.address, "podIPs": [{"ip": place.address}]}
    if inits := get_spec(pod).get("initContainers"):
        new["initContainerStatuses"] = [
            _build_init_status(pod, each, now, runs=has_begun) for each in inits
        ]
    new["containerStatuses"] = [
        _build_container_status(pod, each, stage, has_begun=has_begun)
        for each in get_spec(pod).get("containers") or ()
    ]
    if added := get_status(pod).get("ephemeralContainerStatuses"):
        new["ephemeralContainerStatuses"] = [
            _end_with_pod(each, now) if phase in _ENDS else each for each in added
        ]
    new["qosClass"] = get_status(pod).get("qosClass") or "BestEffort"
    return new | _build_generation(pod)


def _build_flags(pod: Object, phase: str, stage: _Stage) -> dict[str, tuple[bool, str]]:
    """Return for each condition whether it is true, and the reason."""
    gates = get_spec(pod).get("readinessGates") or ()
    conditions = get_status(pod).get("conditions")
    open_gates = all(is_true(conditions, gate.get("conditionType") or "") for gate in gates)
    reason = _get_reason(phase, is_ready=stage.is_ready)
    return {
        "PodReadyToStartContainers": (phase not in _ENDS, ""),
        "Initialized": (True, "PodCompleted" if phase == "Succeeded" else ""),
        "Ready": (stage.is_ready and open_gates, reason),
        "ContainersReady": (stage.is_ready, reason),
        "PodScheduled": (True, ""),
    }


def _build_container_status(
    pod: Object, container: Object, stage: _Stage, *, has_begun: bool
) -> Object:
    last = stage.last
    if last is None:
        last = get_container_status(pod).get("lastState") or {}
    return {
        "name": container.get("name"),
        "state": stage.state,
        "lastState": last,
        "ready": stage.is_ready,
        "restartCount": stage.restarts,
        "image": container.get("image"),
        "imageID": _build_image_id(container) if has_begun else "",
        **({"containerID": _build_container_id(pod, container)} if has_begun else {}),
        "started": stage.runs,
        **_build_resources(container, runs=stage.runs),
    }


def _build_resources(container: Object, *, runs: bool) -> Object:
    """Build the resources in the status of a running container, if pods can be resized."""
    if not runs or not has_feature("InPlacePodVerticalScaling"):
        return {}
    wanted = container.get("resources") or {}
    given = {name: wanted[name] for name in ("limits", "requests") if wanted.get(name)}
    allocated = {"allocatedResources": given["requests"]} if "requests" in given else {}
    return {**allocated, "resources": given}


def _build_generation(pod: Object) -> Object:
    """Build `observedGeneration`; empty if the release does not have it."""
    generation = pod["metadata"].get("generation")
    if not generation or not has_feature("PodObservedGenerationTracking"):
        return {}
    return {"observedGeneration": generation}


def _get_reason(phase: str, *, is_ready: bool) -> str:
    if is_ready:
        return ""
    return "PodCompleted" if phase == "Succeeded" else "ContainersNotReady"


def _build_conditions(pod: Object, flags: Mapping[str, tuple[bool, str]], now: str) -> list[Object]:
    present = get_status(pod).get("conditions") or []
    names = " ".join(each.get("name") or "" for each in get_spec(pod).get("containers") or ())
    result = []
    for kind, (holds, reason) in flags.items():
        new: Object = {
            "type": kind,
            "status": "True" if holds else "False",
            "lastProbeTime": None,
            "lastTransitionTime": now,
            **_build_generation(pod),
        }
        if reason:
            new["reason"] = reason
        if reason == "ContainersNotReady":
            new["message"] = f"containers with unready status: [{names}]"
        old = get_condition(present, kind)
        if old is not None and old.get("status") == new["status"]:
            new["lastTransitionTime"] = old.get("lastTransitionTime") or now
        result.append(new)
    return result + [each for each in present if each.get("type") not in flags]


def _build_init_status(pod: Object, container: Object, now: str, *, runs: bool) -> Object:
    state: Object = {"waiting": {"reason": "PodInitializing"}}
    if runs:
        since = get_status(pod).get("startTime") or now
        done = {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": since}
        state = {"terminated": done | {"containerID": _build_container_id(pod, container)}}
    return {
        "name": container.get("name"),
        "state": state,
        "lastState": {},
        "ready": runs,
        "restartCount": 0,
        "image": container.get("image"),
        "imageID": _build_image_id(container) if runs else "",
        "started": False,
    }


def _end_with_pod(status: Object, now: str) -> Object:
    """Return the status of an ephemeral container after the end of its pod."""
    running = status["state"].get("running")
    if running is None:
        return status
    ended = {"exitCode": 0, "reason": "Completed", **running, "finishedAt": now}
    return status | {"state": {"terminated": ended | {"containerID": status["containerID"]}}}


def _build_terminated(pod: Object, place: Placement, exit_code: int, reason: str) -> Object:
    return {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": get_start_time(pod) or format_moment(place.now),
        "finishedAt": format_moment(place.now),
        "containerID": _build_container_id(pod, _get_first_container(pod)),
    }


def _build_container_id(pod: Object, container: Object) -> str:
    seed = f"{get_uid(pod)}/{container.get('name')}"
    return f"containerd://{hashlib.sha256(seed.encode()).hexdigest()}"


def _build_image_id(container: Object) -> str:
    image = container.get("image") or ""
    digest = hashlib.sha256(image.encode()).hexdigest()
    return f"{image.partition('@')[0]}@sha256:{digest}"
