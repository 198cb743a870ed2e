"""How a fleet gets from the machines it has to those it should have. Pure.

The order of thought: count what there is, remove what failed, keep the number, then replace what
is outdated as far as surge, availability and budgets allow. Everything is decided anew each time,
so nothing has to be remembered between two looks.

Promises, checked by property tests: the number of available machines never falls below
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
    is_available,
    is_outdated,
    is_rolling,
)

BACKOFF_S = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)
"""How long a fleet waits for the next machine after so many failures in a row."""


class Plan(NamedTuple):
    """What to do now, and what was counted."""

    create: int = 0
    remove: tuple[Removal, ...] = ()
    check_s: float | None = None
    """When to look again, if nothing wakes us."""
    is_frozen: bool = False
    """There are too many machines: none is made until it is clear why."""
    may_remediate: bool = True
    unhealthy: int = 0
    replicas: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0
    outdated: int = 0


def plan_fleet(members: Sequence[Member], desired: DesiredFleet) -> Plan:
    """Decide what to make and what to remove."""
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
    wait_s = _backoff_left(desired)
    return Plan(
        create=0 if is_frozen or wait_s > 0 else wanted,
        remove=tuple(removals),
        check_s=_next_look(live, desired, wait_s if wanted else 0.0),
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
    """How many machines to make: up to the number, and with surge for what is outdated.

    A broken machine that waits for its repair keeps its place; a new one beside it would be an
    unlimited repair.
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
    """Whether a machine once worked, is broken now, and stays until it is repaired."""
    return (
        member.is_broken
        and member.was_ready
        and member.revision == desired.revision
        and not (member.is_deleting or member.is_kept or member.is_skipped)
    )


def _is_overshot(members: Sequence[Member], desired: DesiredFleet) -> bool:
    """Far more machines than there should ever be: something makes them that we do not see."""
    safety = max(3, desired.desired // 5)
    present = sum(not each.is_deleting and not each.is_broken for each in members)
    return present > desired.desired + desired.max_surge + safety


def _backoff_left(desired: DesiredFleet) -> float:
    if not desired.failures or desired.last_failure_s is None:
        return 0.0
    delay = BACKOFF_S[min(desired.failures, len(BACKOFF_S)) - 1]
    return max(0.0, delay - desired.last_failure_s)


def _next_look(live: Sequence[Member], desired: DesiredFleet, wait_s: float) -> float | None:
    """When time alone changes something: backoff, minimum ready time, age."""
    times = [wait_s] if wait_s > 0 else []
    for each in live:
        if each.ready_s is not None and each.ready_s < desired.min_ready_s:
            times.append(desired.min_ready_s - each.ready_s)
        if each.expires_s is not None and each.expires_s > 0:
            times.append(each.expires_s)
    return max(0.05, min(times)) if times else None
