"""How a fleet gets from the machines it has to those it should have. Pure.

The order of thought: count what there is, remove what failed, keep the number, then replace what
is outdated as far as surge, availability and budgets allow. Everything is decided anew each time,
so nothing has to be remembered between two looks.

Promises, checked by property tests: the number of available machines never falls below
`desired - max_unavailable` by our doing, and there are never more than `desired + max_surge`
machines that were not lost.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

Reason = Literal["ScaleDown", "Update", "Expired", "Unhealthy", "Failed"]
BACKOFF_S = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0)
"""How long a fleet waits for the next machine after so many failures in a row."""


class Member(NamedTuple):
    """One machine as its fleet sees it."""

    name: str
    revision: str
    age_s: float
    ready_s: float | None = None
    """How long it has been ready; None if it is not."""
    is_deleting: bool = False
    is_failed: bool = False
    """Its claim has failed: it never becomes ready again."""
    was_ready: bool = False
    unhealthy: str = ""
    """Why it is to be replaced although it has not failed; empty if it is well."""
    is_marked: bool = False
    """Somebody wants it to go first."""
    is_kept: bool = False
    """Kept for debugging; neither removed nor counted."""
    is_skipped: bool = False
    """Never repaired."""
    expires_s: float | None = None
    """Seconds until it is too old; None if it never is."""

    @property
    def is_broken(self) -> bool:
        """Whether it does not count as capacity."""
        return self.is_failed or bool(self.unhealthy)

    @property
    def is_expired(self) -> bool:
        """Whether it is too old."""
        return self.expires_s is not None and self.expires_s <= 0


class DesiredFleet(NamedTuple):
    """What the fleet should be."""

    desired: int
    revision: str
    strategy: Literal["RollingUpdate", "Recreate", "OnDelete"] = "RollingUpdate"
    max_surge: int = 1
    max_unavailable: int = 0
    min_ready_s: float = 0.0
    is_paused: bool = False
    delete_policy: Literal["Random", "Newest", "Oldest"] = "Oldest"
    max_unhealthy: int = 0
    max_in_flight: int = 1
    may_repair: bool = True
    budgets: Mapping[str, int] = {}
    """Machines that may be missing at once, by reason; a reason that is not there has no limit."""
    failures: int = 0
    """New machines that failed in a row."""
    last_failure_s: float | None = None
    """How long ago the last one did."""


class Removal(NamedTuple):
    """A machine to be deleted."""

    name: str
    reason: Reason


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
    removals = _remove_broken(members, desired, may_remediate=may_remediate)
    gone = {each.name for each in removals}
    rest = [each for each in live if each.name not in gone]
    removals += _scale_down(rest, desired)
    gone = {each.name for each in removals}
    rest = [each for each in rest if each.name not in gone]
    removals += _replace_outdated(members, rest, desired)
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


def is_available(member: Member, desired: DesiredFleet) -> bool:
    """Whether a machine counts for the promise to users."""
    return (
        not member.is_deleting
        and not member.is_broken
        and member.ready_s is not None
        and member.ready_s >= desired.min_ready_s
    )


def is_outdated(member: Member, desired: DesiredFleet) -> bool:
    """Whether a machine is to be replaced by a new one."""
    return member.revision != desired.revision or member.is_expired


# --- what is removed


def _remove_broken(
    members: Sequence[Member], desired: DesiredFleet, *, may_remediate: bool
) -> list[Removal]:
    """Failed newcomers go at once; machines that once worked go few at a time.

    When too many are broken, only those of earlier revisions go: a new revision is what somebody
    does about it.
    """
    found = [
        Removal(each.name, "Failed")
        for each in members
        if each.is_failed and not each.was_ready and not each.is_deleting and not each.is_kept
    ]
    if not desired.may_repair:
        return found
    under_way = sum(each.is_deleting and each.is_broken for each in members)
    allowed = _within_budget(members, desired, "Unhealthy", desired.max_in_flight - under_way)
    broken = [
        each
        for each in members
        if each.is_broken
        and (each.was_ready or not each.is_failed)
        and not (each.is_deleting or each.is_kept or each.is_skipped)
        and (may_remediate or each.revision != desired.revision)
    ]
    broken.sort(key=lambda each: (not each.is_failed, -each.age_s, each.name))
    return found + [Removal(each.name, "Unhealthy") for each in broken[: max(0, allowed)]]


def _scale_down(live: Sequence[Member], desired: DesiredFleet) -> list[Removal]:
    """Remove what is above the number, or above number and surge while machines are replaced."""
    healthy = [each for each in live if not each.is_broken]
    is_rolling = _is_rolling(healthy, desired)
    ceiling = desired.desired + (desired.max_surge if is_rolling else 0)
    excess = len(healthy) - ceiling
    if excess <= 0:
        return []
    return [Removal(each.name, "ScaleDown") for each in order_removal(healthy, desired)[:excess]]


def _is_rolling(live: Iterable[Member], desired: DesiredFleet) -> bool:
    return (
        desired.strategy == "RollingUpdate"
        and not desired.is_paused
        and any(is_outdated(each, desired) for each in live)
    )


def _replace_outdated(
    members: Sequence[Member], live: Sequence[Member], desired: DesiredFleet
) -> list[Removal]:
    """Remove outdated machines as far as availability and budgets allow."""
    outdated = [each for each in live if is_outdated(each, desired)]
    if desired.is_paused or not outdated or desired.strategy == "OnDelete":
        return []
    if desired.strategy == "Recreate":
        return [Removal(each.name, _why(each, desired)) for each in outdated]
    available = sum(is_available(each, desired) for each in live)
    spare = available - (desired.desired - desired.max_unavailable)
    found: list[Removal] = []
    taken: dict[str, int] = {}
    for each in order_removal(outdated, desired):
        costs = is_available(each, desired)
        if costs and spare <= 0:
            continue
        reason = _why(each, desired)
        used = taken.get(reason, 0)
        if costs and _within_budget(members, desired, reason, used + 1) <= used:
            continue
        if not costs and len(live) - len(found) <= desired.desired - desired.max_unavailable:
            continue  # a machine on its way up is as good as the one that would replace it
        spare -= costs
        taken[reason] = used + costs
        found.append(Removal(each.name, reason))
    return found


def _why(member: Member, desired: DesiredFleet) -> Reason:
    return "Update" if member.revision != desired.revision else "Expired"


def _within_budget(
    members: Sequence[Member], desired: DesiredFleet, reason: str, wanted: int
) -> int:
    """How many of `wanted` removals the budget for a reason allows."""
    budget = desired.budgets.get(reason)
    if budget is None:
        return wanted
    available = sum(is_available(each, desired) for each in members)
    missing = max(0, desired.desired - available)
    if reason == "Unhealthy":  # the unhealthy ones are missing already
        missing = sum(each.is_deleting for each in members)
    return min(wanted, max(0, budget - missing))


def order_removal(members: Iterable[Member], desired: DesiredFleet) -> list[Member]:
    """Who goes first: not ready, marked by somebody, outdated, then as the policy says."""
    newest_first = desired.delete_policy == "Newest"

    def rank(member: Member) -> tuple[bool, bool, bool, bool, float, str]:
        age = member.age_s if newest_first else -member.age_s
        if desired.delete_policy == "Random":
            age = float(hash_name(member.name))
        return (
            not member.is_broken,
            member.ready_s is not None,
            not member.is_marked,
            not is_outdated(member, desired),
            age,
            member.name,
        )

    return sorted(members, key=rank)


def hash_name(name: str) -> int:
    """A number that is the same for the same name in every process."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 % 2**32
    return value


# --- what is made


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
    if _is_rolling(healthy, desired):
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
