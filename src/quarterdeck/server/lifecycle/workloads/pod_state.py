"""The state of the containers, read from the status of a simulated pod."""

from collections.abc import Mapping

from quarterdeck.server.lifecycle.engine.objects import get_spec, get_status, is_true
from quarterdeck.server.registry.resource import Object


def get_start_time(pod: Object) -> str | None:
    """Return when the containers last started, if they run."""
    found: str | None = _get_state(pod, "running").get("startedAt")
    return found


def find_unstarted_containers(pod: Object) -> list[Object]:
    """Find the ephemeral containers that were added to the pod and have no status yet."""
    statuses = get_status(pod).get("ephemeralContainerStatuses") or ()
    started = {each.get("name") for each in statuses}
    added = get_spec(pod).get("ephemeralContainers") or ()
    return [each for each in added if each.get("name") not in started]


def needs_restart(pod: Object) -> bool:
    """Whether a container has new resources for which its resizePolicy requires a restart."""
    for container, status in zip(
        get_spec(pod).get("containers") or (),
        get_status(pod).get("containerStatuses") or (),
        strict=False,
    ):
        policies = {
            each.get("resourceName"): each.get("restartPolicy")
            for each in container.get("resizePolicy") or ()
        }
        new, old = container.get("resources") or {}, status.get("resources") or {}
        for name, policy in policies.items():
            if policy == "RestartContainer" and any(
                (new.get(member) or {}).get(name) != (old.get(member) or {}).get(name)
                for member in ("limits", "requests")
            ):
                return True
    return False


def is_stopping(pod: Object) -> bool:
    """Whether the containers of a deleted pod are reported as not ready."""
    is_ready = is_true(get_status(pod).get("conditions"), "Ready")
    return not is_ready and not get_container_status(pod).get("ready")


def get_last_end(pod: Object) -> str | None:
    """Return when the containers last exited, if they wait to be started again."""
    last = (get_container_status(pod).get("lastState") or {}).get("terminated") or {}
    found: str | None = last.get("finishedAt")
    return found if _get_state(pod, "waiting") else None


def count_restarts(pod: Object) -> int:
    """Count how often the containers were started again."""
    return int(get_container_status(pod).get("restartCount") or 0)


def get_container_status(pod: Object) -> Object:
    """Return the status of the first container, which stands for all; empty if there is none."""
    statuses = get_status(pod).get("containerStatuses") or ()
    found: Object = statuses[0] if statuses else {}
    return found


def _get_state(pod: Object, member: str) -> Mapping[str, str]:
    return (get_container_status(pod).get("state") or {}).get(member) or {}
