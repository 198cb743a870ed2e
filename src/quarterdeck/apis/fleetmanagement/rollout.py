"""Parts of a Pipeline about its collectors: rollout, delivery and the impact of a change."""

from typing import Annotated, Literal

from quarterdeck.apis.fleetmanagement.names import DURATION_PATTERN, MAX_MATCHER, MAX_MATCHERS
from quarterdeck.meta.markers import Int32, Schema, Time
from quarterdeck.meta.objects import Struct, always_written
from quarterdeck.meta.schema import Rule

RolloutPhase = Literal[
    "Progressing", "Paused", "WaitingForApproval", "RolledBack", "Promoted", "Direct"
]
Count = Annotated[Int32, Schema(minimum=0)]
MAX_SAMPLE = 20
"""Collectors that a status names; the rest is a number."""

STEP_ONCE = Rule(
    rule="has(self.weight) != has(self.matchers)",
    message="exactly one of weight and matchers must be set",
)


class RolloutStep(Struct, frozen=True, kw_only=True):
    """Part of the collectors, and how long they run a change before the next step."""

    weight: Annotated[Int32, Schema(minimum=1, maximum=100)] = 0
    """Per cent of the matching collectors, chosen by a stable hash of their ids: those chosen at
    10 are among those chosen at 50, and a restart chooses the same."""
    matchers: Annotated[
        tuple[str, ...],
        Schema(
            max_items=MAX_MATCHERS,
            list_type="atomic",
            items=Schema(min_length=1, max_length=MAX_MATCHER),
        ),
    ] = ()
    """Matchers that choose the collectors instead, all of which hold."""
    duration: Annotated[str, Schema(pattern=DURATION_PATTERN)] = ""
    """How long the step lasts without failures; without it the step waits for approval."""


class Rollout(Struct, frozen=True, kw_only=True):
    """How a change reaches the collectors."""

    steps: Annotated[
        tuple[RolloutStep, ...],
        Schema(min_items=1, max_items=20, list_type="atomic", items=Schema(rules=(STEP_ONCE,))),
    ]
    """The steps, smallest first; after the last one every collector receives the change."""
    paused: bool = False
    """Whether to stay at the current step."""
    max_failures: Annotated[Int32, Schema(default=0, minimum=0)] = 0
    """How many collectors may report FAILED before the change is rolled back."""
    without_delivery: Annotated[Literal["Wait", "Promote"], Schema(default="Wait")] = "Wait"
    """What to do when a step is over on a server that does not report the state of collectors."""


class Delivery(Struct, frozen=True, kw_only=True):
    """How many collectors run a pipeline, by what they report."""

    assigned: Count = always_written(0)
    """Collectors that are to run it."""
    applied: Count = always_written(0)
    """Collectors that reported that they run it."""
    applying: Count = always_written(0)
    """Collectors that received it and have not reported yet."""
    failed: Count = always_written(0)
    """Collectors that reported that they cannot load it."""
    stale: Count = always_written(0)
    """Collectors that have not asked for it: inactive, or not polled since the change."""
    failures: tuple[str, ...] = ()
    """Some of those that failed, with their message."""
    conflicts: tuple[str, ...] = ()
    """Pipelines that set the same OpenTelemetry settings to other values."""


class RolloutStatus(Struct, frozen=True, kw_only=True):
    """How far a rollout has come."""

    phase: RolloutPhase = always_written("Promoted")
    """Progressing, Paused, WaitingForApproval, RolledBack, Promoted, or Direct without steps."""
    step: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """The current step, counted from 0; the number of steps when it is over."""
    steps: Count = always_written(0)
    """How many steps there are."""
    weight: Annotated[Int32, Schema(minimum=0, maximum=100)] = always_written(0)
    """Per cent of the matching collectors that receive the candidate."""
    candidate: str = ""
    """Hash of the configuration that is rolled out."""
    stable: str = ""
    """Hash of the configuration that the other collectors keep."""
    step_started_at: Time = ""
    """When the current step began."""
    quarantined: str = ""
    """Hash of the configuration that failed: not sent again until it changes."""
    mechanism: Literal["", "Native", "Matchers"] = ""
    """How the server divides the collectors: by itself, or by generated matchers."""
    message: str = ""
    """What it waits for, or why it was rolled back."""
    delivery: Delivery | None = None
    """What the collectors with the candidate report."""


class Impact(Struct, frozen=True, kw_only=True):
    """Which collectors a change concerns."""

    collectors: Count = always_written(0)
    """Collectors of the server that were looked at."""
    gain: Count = always_written(0)
    """Collectors that would receive a pipeline they do not have."""
    lose: Count = always_written(0)
    """Collectors that would lose a pipeline."""
    change: Count = always_written(0)
    """Collectors whose pipeline would have another text."""
    sample: tuple[str, ...] = ()
    """Some of these collectors."""
