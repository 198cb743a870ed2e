"""What is done next for one machine. Pure: from a claim and what was observed to one step.

Each step is safe to repeat: after a crash the same step is chosen again, finds what the first try
left behind, and goes on from there.
"""

import enum
import random
from datetime import datetime
from typing import NamedTuple

from quarterdeck.apis.hypervisor.claim import MachineClaim, Phase
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.machine import Owner, Power, VMInfo
from quarterdeck.operators.machines.sizes import parse_seconds, parse_time

MOST_ATTEMPTS = 5
FIRST_BACKOFF_S = 1.0
LAST_BACKOFF_S = 300.0
CLEANUP_BACKOFF_S = 120.0
HEARTBEAT_LOST_S = 150.0
HEARTBEAT_CHECK_S = 60.0
"""How often machines with an agent are looked at: their heartbeats wake nobody."""


class Step(enum.StrEnum):
    """One piece of work; its name stands in `status.step` while it is due."""

    PLACE = "Place"
    """Choose node and id, and write them down before anything is made."""
    CLONE = "Clone"
    CONFIGURE = "Configure"
    SEED = "Seed"
    START = "Start"
    AWAIT_BOOT = "AwaitBoot"
    WATCH = "Watch"
    """The machine is ready: compare it with what the hypervisor shows."""
    DISCARD = "Discard"
    """Remove what a failed clone left behind, then clone again."""
    REST = "Rest"
    """The claim has failed; its owner or a person decides."""

    DRAIN = "Drain"
    INSPECT = "Inspect"
    POWER_DOWN = "PowerDown"
    """The VM will be shut down or stopped: written before, so that no runner gets work now."""
    SHUTDOWN = "Shutdown"
    STOP = "Stop"
    DESTROY = "Destroy"
    VERIFY = "Verify"


class Verdict(enum.StrEnum):
    """What a VM is to its claim."""

    RUNNING = "running"
    STOPPED = "stopped"
    MISSING = "missing"
    FOREIGN = "foreign"
    """Another one's: the id was reused, or name, tags or description were changed."""
    LOCKED = "locked"
    UNKNOWN = "unknown"
    """Its node does not answer."""


def next_step(claim: MachineClaim) -> Step:
    """The step that is due for a claim that is not being deleted."""
    status = claim.status
    match status.phase:
        case None | "Pending":
            return Step.PLACE
        case "Provisioning":
            return Step(status.step) if status.step else Step.CLONE
        case "Bootstrapping":
            return Step.AWAIT_BOOT
        case "Ready":
            return Step(status.step) if status.step in (Step.START, Step.STOP) else Step.WATCH
        case _:
            return Step.REST


def judge_vm(vm: VMInfo | None, owner: Owner) -> Verdict:
    """What a VM is to its claim."""
    if vm is None:
        return Verdict.MISSING
    if not ownership.is_owned(vm, owner):
        return Verdict.FOREIGN
    if vm.lock:
        return Verdict.LOCKED
    match vm.power:
        case Power.RUNNING:
            return Verdict.RUNNING
        case Power.STOPPED:
            return Verdict.STOPPED
        case _:
            return Verdict.UNKNOWN


class Overdue(NamedTuple):
    """A phase that took too long."""

    phase: Phase
    limit_s: float


def find_overdue(claim: MachineClaim, now: datetime) -> Overdue | None:
    """Whether the current phase has lasted longer than it may."""
    status, timeouts = claim.status, claim.spec.timeouts
    limits = {"Provisioning": timeouts.provision, "Bootstrapping": timeouts.bootstrap}
    text = limits.get(status.phase or "", "")
    since = entered_at(claim)
    if not text or since is None or status.phase is None:
        return None
    limit_s = parse_seconds(text)
    if limit_s and (now - since).total_seconds() >= limit_s:
        return Overdue(status.phase, limit_s)
    return None


def left_s(claim: MachineClaim, limit: str, now: datetime) -> float:
    """Seconds until the current phase has lasted as long as it may."""
    since = entered_at(claim)
    passed = (now - since).total_seconds() if since is not None else 0.0
    return max(0.0, parse_seconds(limit) - passed)


def left_of_heartbeat_s(claim: MachineClaim, now: datetime) -> float | None:
    """Seconds until the agent counts as silent; None for machines that never had one, or are off.

    Heartbeats are recorded about once a minute, so that two records in a row must be missing.
    """
    seen = parse_time(claim.status.last_heartbeat)
    if seen is None or claim.spec.power_state == "Off":
        return None
    return HEARTBEAT_LOST_S - (now - seen).total_seconds()


def is_busy(claim: MachineClaim, now: datetime) -> bool:
    """Whether the agent of a machine says that a job runs; one that is silent says nothing."""
    job, left_s = claim.status.job, left_of_heartbeat_s(claim, now)
    return job is not None and job.busy and left_s is not None and left_s > 0


def entered_at(claim: MachineClaim) -> datetime | None:
    """When the claim entered its phase."""
    transitions = claim.status.phase_transitions
    return parse_time(transitions[-1].time) if transitions else None


def backoff_s(attempts: int, rng: random.Random, *, cap_s: float = LAST_BACKOFF_S) -> float:
    """How long to wait after so many failures: exponential, with full jitter, never zero."""
    ceiling = min(cap_s, FIRST_BACKOFF_S * 2.0 ** min(attempts, 30))
    return max(0.05, rng.uniform(0.0, ceiling))


def poll_s(age_s: float) -> float:
    """How long to wait before a task is asked for again: seldom for those that take long."""
    if age_s < 1.0:
        return 0.25
    return 1.0 if age_s < 15.0 else 3.0


# --- deletion


class DeleteAction(enum.StrEnum):
    """What a deletion does next with the VM it sees."""

    DONE = "done"
    LEAVE = "leave"
    """The VM is not ours: it stays, and the claim goes."""
    WAIT = "wait"
    POWER_DOWN = "power-down"
    STOP = "stop"
    DESTROY = "destroy"


def plan_deletion(verdict: Verdict, *, was_asked: bool) -> DeleteAction:
    """What to do with the VM of a claim that goes; `was_asked`: its guest was, to shut down."""
    match verdict:
        case Verdict.MISSING:
            return DeleteAction.DONE
        case Verdict.FOREIGN:
            return DeleteAction.LEAVE
        case Verdict.LOCKED | Verdict.UNKNOWN:
            return DeleteAction.WAIT
        case Verdict.RUNNING:
            return DeleteAction.STOP if was_asked else DeleteAction.POWER_DOWN
        case Verdict.STOPPED:
            return DeleteAction.DESTROY


class Drain(NamedTuple):
    """Whether a machine may be taken down, or what it waits for."""

    reason: str = ""
    is_forced: bool = False


def plan_drain(
    claim: MachineClaim, now: datetime, *, hooks: tuple[str, ...], busy: str, may_kill: bool
) -> Drain:
    """Whether hooks and work under way allow the machine to go.

    A busy runner of a pool is waited for without limit, unless the pool itself gave it up.
    """
    is_pooled = claim.spec.runner_pool_ref is not None
    if busy and is_pooled and not may_kill:
        return Drain(f"job {busy} is running")
    waits = [*hooks, *([f"job {busy}"] if busy and not may_kill else [])]
    if not waits:
        return Drain()
    if left_s(claim, claim.spec.timeouts.drain, now) <= 0:
        return Drain(is_forced=True)
    return Drain(f"waiting for {', '.join(waits)}")
