"""Chooses the next step of one machine, from its claim and what was observed. Pure.

Each step is safe to repeat: after a crash the same step is chosen again, finds what the first
attempt left behind, and continues from there.
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
"""How often machines with an agent are checked: heartbeats trigger no reconcile."""


class Step(enum.StrEnum):
    """A step of a machine's life cycle; `status.step` names the one that is due."""

    PLACE = "Place"
    """Choose node and id, and record them before anything is created."""
    CLONE = "Clone"
    CONFIGURE = "Configure"
    SEED = "Seed"
    START = "Start"
    AWAIT_BOOT = "AwaitBoot"
    WATCH = "Watch"
    """Compare the ready machine with what the hypervisor reports."""
    DISCARD = "Discard"
    """Remove what a failed clone left behind, then clone again."""
    REST = "Rest"
    """Do nothing: the claim has failed, and its owner or a user decides what follows."""

    DRAIN = "Drain"
    INSPECT = "Inspect"
    POWER_DOWN = "PowerDown"
    """Shut down or stop the VM; recorded first, so that a runner gets no new job meanwhile."""
    SHUTDOWN = "Shutdown"
    STOP = "Stop"
    DESTROY = "Destroy"
    VERIFY = "Verify"


class Verdict(enum.StrEnum):
    """The state of a claim's VM, including whether it still belongs to the claim."""

    RUNNING = "running"
    STOPPED = "stopped"
    MISSING = "missing"
    FOREIGN = "foreign"
    """It has another owner: the id was reused, or name, tags or description were changed."""
    LOCKED = "locked"
    UNKNOWN = "unknown"
    """It is neither running nor stopped, for example because its node does not answer."""


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


def assess_vm(vm: VMInfo | None, owner: Owner) -> Verdict:
    """Determine the state of a claim's VM."""
    if vm is None:
        return Verdict.MISSING
    if vm.power is Power.UNKNOWN and not vm.description:
        return Verdict.UNKNOWN  # nobody can read the owner while its node does not answer
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
    since = find_entry_time(claim)
    if not text or since is None or status.phase is None:
        return None
    limit_s = parse_seconds(text)
    if limit_s and (now - since).total_seconds() >= limit_s:
        return Overdue(status.phase, limit_s)
    return None


def compute_left_s(claim: MachineClaim, limit: str, now: datetime) -> float:
    """Seconds until the current phase has lasted for `limit`."""
    since = find_entry_time(claim)
    passed = (now - since).total_seconds() if since is not None else 0.0
    return max(0.0, parse_seconds(limit) - passed)


def compute_heartbeat_left_s(claim: MachineClaim, now: datetime) -> float | None:
    """Seconds until heartbeats count as lost; None if there never was one, or the machine is off.

    Heartbeats are recorded about once a minute, so that two records in a row must be missing.
    """
    seen = parse_time(claim.status.last_heartbeat)
    if seen is None or claim.spec.power_state == "Off":
        return None
    return HEARTBEAT_LOST_S - (now - seen).total_seconds()


def is_busy(claim: MachineClaim, now: datetime) -> bool:
    """Whether the agent of a machine reports a running job, and its heartbeat is recent."""
    job, left_s = claim.status.job, compute_heartbeat_left_s(claim, now)
    return job is not None and job.busy and left_s is not None and left_s > 0


def find_entry_time(claim: MachineClaim) -> datetime | None:
    """When the claim entered its phase."""
    transitions = claim.status.phase_transitions
    return parse_time(transitions[-1].time) if transitions else None


def compute_backoff_s(attempts: int, rng: random.Random, *, cap_s: float = LAST_BACKOFF_S) -> float:
    """Seconds to wait after `attempts` failures: exponential, with full jitter, never zero."""
    ceiling = min(cap_s, FIRST_BACKOFF_S * 2.0 ** min(attempts, 30))
    return max(0.05, rng.uniform(0.0, ceiling))


def compute_poll_s(age_s: float) -> float:
    """Seconds until a task is polled again; longer for tasks that have run for long."""
    if age_s < 1.0:
        return 0.25
    return 1.0 if age_s < 15.0 else 3.0


# --- deletion


class DeleteAction(enum.StrEnum):
    """The next action of a deletion, by the state of the VM."""

    DONE = "done"
    LEAVE = "leave"
    """The VM is not ours: it stays, and the claim is deleted."""
    WAIT = "wait"
    POWER_DOWN = "power-down"
    STOP = "stop"
    DESTROY = "destroy"


def plan_deletion(verdict: Verdict, *, was_asked: bool) -> DeleteAction:
    """Choose the next action; `was_asked` is True if a shutdown or stop was requested."""
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
    """Why a machine cannot be removed yet; an empty `reason` means that it can."""

    reason: str = ""
    is_forced: bool = False


def plan_drain(
    claim: MachineClaim, now: datetime, *, hooks: tuple[str, ...], busy: str, may_kill: bool
) -> Drain:
    """Decide whether pre-drain hooks and running jobs allow the removal of the machine.

    A busy runner of a pool is waited for without limit, unless the pool allows its job to be
    killed.
    """
    is_pooled = claim.spec.runner_pool_ref is not None
    if busy and is_pooled and not may_kill:
        return Drain(f"job {busy} is running")
    waits = [*hooks, *([f"job {busy}"] if busy and not may_kill else [])]
    if not waits:
        return Drain()
    if compute_left_s(claim, claim.spec.timeouts.drain, now) <= 0:
        return Drain(is_forced=True)
    return Drain(f"waiting for {', '.join(waits)}")
