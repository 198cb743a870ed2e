"""The behavior of a simulated pod, read from its annotations.

simulate.quarterdeck.dev/start-delay: 5s     until its containers run
simulate.quarterdeck.dev/ready-delay: 2s     from running to ready
simulate.quarterdeck.dev/stop-delay: 3s      from deletion to gone, at most the grace period
simulate.quarterdeck.dev/run-for: 10s        until its containers exit; jobs exit at once
simulate.quarterdeck.dev/exit-code: "1"      what they exit with
simulate.quarterdeck.dev/fail: ErrImagePull  one of `FAILURES`

`server.kinds.pod_log` reads the annotations of its log:

simulate.quarterdeck.dev/logs: one line     the lines its containers write
simulate.quarterdeck.dev/log-interval: 5s    between two repeated lines; none: all at the start
"""

import enum
from typing import NamedTuple

from quarterdeck.kit import duration
from quarterdeck.kit.digits import parse_digits
from quarterdeck.server.kinds.simulation import PREFIX
from quarterdeck.server.lifecycle.engine.objects import get_annotations, get_controller
from quarterdeck.server.registry.resource import Object

_NANO = 1_000_000_000


class Effect(enum.Enum):
    """What a failure does to a pod."""

    NO_NODE = "stays unscheduled"
    WAITS = "its containers never start"
    CRASHES = "its containers exit soon after they started"
    UNREADY = "its containers run and never become ready"
    EVICTED = "it ends as Failed"


class Failure(NamedTuple):
    """A failure that a pod can simulate."""

    effect: Effect
    reason: str
    """Reason of the waiting state, of the terminated state, or of the pod."""
    message: str = ""
    """A template: `{image}` and `{container}` are filled in."""
    event: str = "Failed"
    exit_code: int = 1


FAILURES = {
    "Unschedulable": Failure(Effect.NO_NODE, "Unschedulable", "Insufficient cpu"),
    "ErrImagePull": Failure(
        Effect.WAITS, "ErrImagePull", 'failed to pull and unpack image "{image}": not found'
    ),
    "ImagePullBackOff": Failure(
        Effect.WAITS, "ImagePullBackOff", 'Back-off pulling image "{image}"', event="BackOff"
    ),
    "InvalidImageName": Failure(
        Effect.WAITS, "InvalidImageName", 'couldn\'t parse image name "{image}"', "InspectFailed"
    ),
    "ErrImageNeverPull": Failure(
        Effect.WAITS,
        "ErrImageNeverPull",
        'Container image "{image}" is not present with pull policy of Never',
        "ErrImageNeverPull",
    ),
    "CreateContainerConfigError": Failure(
        Effect.WAITS, "CreateContainerConfigError", 'configmap "simulated" not found'
    ),
    "CreateContainerError": Failure(
        Effect.WAITS, "CreateContainerError", "context deadline exceeded"
    ),
    "RunContainerError": Failure(
        Effect.WAITS, "RunContainerError", "failed to create containerd task"
    ),
    "CrashLoopBackOff": Failure(Effect.CRASHES, "Error"),
    "Error": Failure(Effect.CRASHES, "Error"),
    "OOMKilled": Failure(Effect.CRASHES, "OOMKilled", exit_code=137),
    "NotReady": Failure(Effect.UNREADY, "ContainersNotReady"),
    "Evicted": Failure(
        Effect.EVICTED, "Evicted", "The node was low on resource: memory.", event="Evicted"
    ),
}
"""The failures by the value of the annotation."""


class Behavior(NamedTuple):
    """The simulated behavior of one pod; times are in seconds."""

    start_delay: float
    ready_delay: float
    stop_delay: float
    run_for: float | None
    """How long the containers run until they exit; None for ever."""
    exit_code: int
    failure: Failure | None


def parse_behavior(pod: Object) -> Behavior:
    """Parse the behavior from the annotations of a pod; invalid values count as absent."""
    notes = get_annotations(pod)
    failure = FAILURES.get(notes.get(f"{PREFIX}fail", ""))
    run_for = _parse_seconds(notes.get(f"{PREFIX}run-for"))
    crashes = failure is not None and failure.effect is Effect.CRASHES
    owner = get_controller(pod)
    if run_for is None and (crashes or (owner is not None and owner.get("kind") == "Job")):
        run_for = 0.0
    return Behavior(
        start_delay=_parse_seconds(notes.get(f"{PREFIX}start-delay")) or 0.0,
        ready_delay=_parse_seconds(notes.get(f"{PREFIX}ready-delay")) or 0.0,
        stop_delay=_parse_seconds(notes.get(f"{PREFIX}stop-delay")) or 0.0,
        run_for=run_for,
        exit_code=_parse_exit_code(notes.get(f"{PREFIX}exit-code"), failure if crashes else None),
        failure=failure,
    )


def _parse_seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return max(0, duration.parse(text)) / _NANO
    except ValueError:
        return None


def _parse_exit_code(text: str | None, failure: Failure | None) -> int:
    code = None if text is None else parse_digits(text)
    if code is not None:
        return code
    return 0 if failure is None else failure.exit_code
