"""Plans which machines a fleet creates and removes. Pure.

The order: count the machines, remove failed ones, remove surplus ones, then replace outdated ones
as far as surge, availability and budgets allow. Each plan starts from the observed machines, so no
state is kept between two plans.

Invariants, checked by property tests: the number of available machines never falls below
`desired - max_unavailable` by our doing, and there are never more than `desired + max_surge`
machines that were not lost.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from quarterdeck.operators.machines.plan.fleet_removal import (
    Removal,
    remove_broken,
    replace_outdated,
    scale_down,
)
from quarterdeck.operators.machines.plan.fleet_state import (
    DesiredFleet,
    Member,
    compute_unavailable_s,
    is_available,
    is_outdated,
    is_rolling,
)

BACKOFF_S = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)
"""Seconds until the next machine is created, by the number of failures in a row."""


class Plan(NamedTuple):
    """The changes to make now, and the counts for the status."""

    create: int = 0
    remove: tuple[Removal, ...] = ()
    check_s: float | None = None
    """Seconds until the next plan is due, if no event comes first."""
    is_frozen: bool = False
    """Whether there are so many machines that no further one is created."""
    may_remediate: bool = True
    unhealthy: int = 0
    replicas: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    outdated: int = 0


def plan_fleet(members: Sequence[Member], desired: DesiredFleet) -> Plan:
    """Decide how many machines to create, and which ones to remove."""
    live = [each for each in members if not each.is_deleting and not each.is_failed]
    available = [each for each in live if is_available(each, desired)]
    outdated = [each for each in live if is_outdated(each, desired)]
    unhealthy = [
        each
        for each in members
        if each.is_broken and not each.is_deleting and not each.is_kept and each.was_ready
    ]
    current = sum(each.revision == desired.revision for each in unhealthy)
    may_remediate = current <= desired.max_unhealthy
    removals = remove_broken(members, desired, may_remediate=may_remediate)
    gone = {each.name for each in removals}
    rest = [each for each in live if each.name not in gone]
    removals += scale_down(rest, desired)
    gone = {each.name for each in removals}
    rest = [each for each in rest if each.name not in gone]
    removals += replace_outdated(members, rest, desired)
    gone = {each.name for each in removals}
    rest = [each for each in rest if each.name not in gone]
    wanted = _count_missing(members, rest, desired, going=gone)
    is_frozen = _is_overshot(members, desired)
    wait_s = _compute_backoff_left(desired)
    return Plan(
        create=0 if is_frozen or wait_s > 0 else wanted,
        remove=tuple(removals),
        check_s=_compute_check_s(live, desired, wait_s if wanted else 0.0),
        is_frozen=is_frozen,
        may_remediate=may_remediate,
        unhealthy=len(unhealthy),
        replicas=len(live),
        ready=sum(each.ready_s is not None for each in live),
        available=len(available),
        updated=sum(each.revision == desired.revision for each in live),
        outdated=len(outdated),
    )


def _count_missing(
    members: Sequence[Member],
    live: Sequence[Member],
    desired: DesiredFleet,
    *,
    going: Collection[str],
) -> int:
    """How many machines to create: up to the desired number, plus surge for outdated ones.

    A broken machine that waits for its repair counts as present: to create another one would
    bypass the limits on repairs.
    """
    healthy = [each for each in live if not each.is_broken]
    # what is being deleted still takes room, unless it was lost
    occupied = len(healthy) + sum(each.is_deleting and not each.is_broken for each in members)
    staying = {each.name for each in live}
    occupied += sum(  # removals of this very plan take room until they are gone
        not each.is_deleting and not each.is_broken and each.name not in staying for each in members
    )
    if desired.strategy == "Recreate" and not desired.is_paused:
        old = [each for each in members if each.revision != desired.revision and not each.is_broken]
        if old:
            return 0
    outdated = sum(is_outdated(each, desired) for each in healthy)
    waiting = sum(_waits_for_repair(each, desired) and each.name not in going for each in members)
    target = desired.desired
    if is_rolling(healthy, desired):
        target += min(desired.max_surge, outdated)
    room = desired.desired + desired.max_surge - occupied
    return max(0, min(target - len(healthy) - waiting, room - waiting))


def _waits_for_repair(member: Member, desired: DesiredFleet) -> bool:
    """Whether a machine was ready before, is broken now, and stays until it is repaired."""
    return (
        member.is_broken
        and member.was_ready
        and member.revision == desired.revision
        and not (member.is_deleting or member.is_kept or member.is_skipped)
    )


def _is_overshot(members: Sequence[Member], desired: DesiredFleet) -> bool:
    """Whether there are far more machines than a correct plan creates, as a safety stop."""
    safety = max(3, desired.desired // 5)
    present = sum(not each.is_deleting and not each.is_broken for each in members)
    return present > desired.desired + desired.max_surge + safety


def _compute_backoff_left(desired: DesiredFleet) -> float:
    if not desired.failures or desired.last_failure_s is None:
        return 0.0
    delay = BACKOFF_S[min(desired.failures, len(BACKOFF_S)) - 1]
    return max(0.0, delay - desired.last_failure_s)


def _compute_check_s(live: Sequence[Member], desired: DesiredFleet, wait_s: float) -> float | None:
    """Seconds until time alone changes the plan: by backoff, minimum ready time or expiry."""
    times = [wait_s] if wait_s > 0 else []
    for each in live:
        if each.ready_s is not None and (left_s := compute_unavailable_s(each.ready_s, desired)):
            times.append(left_s)
        if each.expires_s is not None and each.expires_s > 0:
            times.append(each.expires_s)
    return max(0.05, min(times)) if times else None
