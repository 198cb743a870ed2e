"""Delays and faults of simulators, set by annotations.

An annotation on the object itself wins: `sim.illm.io/delay: 2s`, `sim.illm.io/fail: never`. Else
the experiment's annotations count, first those for one target: `sim.illm.io/app-cluster-fail`, then
those for all: `sim.illm.io/cluster-fail`, `sim.illm.io/application-delay` and the like.
"""

from typing import Any, Literal, NamedTuple

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import duration
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.objects import Object
from quarterdeck.operators.experiments.naming import LABEL_TARGET
from quarterdeck.operators.experiments.ownership import get_experiment_key
from quarterdeck.runtime import Context

PREFIX = "sim.illm.io/"
Work = Literal["cluster", "application", "workflow"]


class Delays(NamedTuple):
    """How long simulated work takes, in seconds."""

    cluster: float = 2.0
    application: float = 1.0
    workflow: float = 2.0
    deletion: float = 0.5


class Behavior(NamedTuple):
    """The delay and the fault of one object."""

    delay_s: float
    fault: str = ""


async def read_behavior(obj: Object, ctx: Context[Any], work: Work, default_s: float) -> Behavior:
    """Read the delay and the fault of an object from annotations."""
    found = {**await _read_of_experiment(obj, ctx, work), **_read_own(obj)}
    delay_s = default_s
    if text := found.get("delay"):
        try:
            delay_s = duration.parse(text) / duration.SECOND
        except duration.DurationError:
            ctx.log.warning("the annotation is not a duration", name=f"{PREFIX}delay", value=text)
    return Behavior(delay_s, found.get("fail", ""))


def _read_own(obj: Object) -> dict[str, str]:
    annotations = obj.metadata.annotations
    return {
        name: annotations[PREFIX + name]
        for name in ("delay", "fail")
        if PREFIX + name in annotations
    }


async def _read_of_experiment(obj: Object, ctx: Context[Any], work: Work) -> dict[str, str]:
    key = get_experiment_key(obj)
    experiment = await ctx.find(Experiment, key.name, key.namespace) if key is not None else None
    if experiment is None:
        return {}
    annotations = experiment.metadata.annotations
    target = obj.metadata.labels.get(LABEL_TARGET, "")
    found: dict[str, str] = {}
    for name in ("delay", "fail"):
        for prefix in (f"{PREFIX}{target}-{work}-", f"{PREFIX}{work}-"):
            if prefix + name in annotations:
                found[name] = annotations[prefix + name]
                break
    return found


class Timeline:
    """Measures how long each object has been worked on; kept in memory only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: dict[str, float] = {}

    def elapsed_s(self, uid: str, step: str = "") -> float:
        """Seconds since the first call for this object and step."""
        now = self._clock.monotonic()
        return now - self._began.setdefault(f"{uid}/{step}", now)

    def forget(self, uid: str) -> None:
        """Drop the times of a deleted object."""
        for key in [key for key in self._began if key.startswith(f"{uid}/")]:
            del self._began[key]
