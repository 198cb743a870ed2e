"""Chooses the machines of a fleet to remove: broken, surplus and outdated ones. Pure."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from quarterdeck.operators.machines.plan.fleet_state import (
    DesiredFleet,
    Member,
    is_available,
    is_outdated,
    is_rolling,
)

Reason = Literal["ScaleDown", "Update", "Expired", "Unhealthy", "Failed"]


class Removal(NamedTuple):
    """A machine to be deleted."""

    name: str
    reason: Reason


def remove_broken(
    members: Sequence[Member], desired: DesiredFleet, *, may_remediate: bool
) -> list[Removal]:
    """Remove broken machines: at once those that failed before they were ever ready, others slowly.

    When too many are broken, only those of earlier revisions are removed: the new revision may be
    the repair.
    """
    found = [
        Removal(each.name, "Failed")
        for each in members
        if each.is_failed and not each.was_ready and not each.is_deleting and not each.is_kept
    ]
    if not desired.may_repair:
        return found
    under_way = sum(each.is_deleting and each.is_broken for each in members)
    allowed = _limit_by_budget(members, desired, "Unhealthy", desired.max_in_flight - under_way)
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


def scale_down(live: Sequence[Member], desired: DesiredFleet) -> list[Removal]:
    """Remove surplus machines; a rolling update may exceed the desired number by the surge."""
    healthy = [each for each in live if not each.is_broken]
    surge = desired.max_surge if is_rolling(healthy, desired) else 0
    excess = len(healthy) - (desired.desired + surge)
    if excess <= 0:
        return []
    return [Removal(each.name, "ScaleDown") for each in order_removal(healthy, desired)[:excess]]


def replace_outdated(
    members: Sequence[Member], live: Sequence[Member], desired: DesiredFleet
) -> list[Removal]:
    """Remove outdated machines as far as availability and budgets allow."""
    outdated = [each for each in live if is_outdated(each, desired)]
    if desired.is_paused or not outdated or desired.strategy == "OnDelete":
        return []
    if desired.strategy == "Recreate":
        return _recreate(outdated, desired)
    available = sum(is_available(each, desired) for each in live)
    spare = available - (desired.desired - desired.max_unavailable)
    found: list[Removal] = []
    taken = 0  # of all reasons: each budget counts every machine that is missing
    for each in order_removal(outdated, desired):
        costs = is_available(each, desired)
        if costs and spare <= 0:
            continue
        reason = _choose_reason(each, desired)
        if costs and _limit_by_budget(members, desired, reason, taken + 1) <= taken:
            continue
        if not costs and len(live) - len(found) <= desired.desired - desired.max_unavailable:
            continue  # a machine on its way up is as good as the one that would replace it
        spare -= costs
        taken += costs
        found.append(Removal(each.name, reason))
    return found


def _recreate(outdated: Sequence[Member], desired: DesiredFleet) -> list[Removal]:
    """Remove all outdated machines at once, but none for a reason whose budget is 0."""
    removals = [Removal(each.name, _choose_reason(each, desired)) for each in outdated]
    return [each for each in removals if desired.budgets.get(each.reason, 1) > 0]


def _choose_reason(member: Member, desired: DesiredFleet) -> Reason:
    return "Update" if member.revision != desired.revision else "Expired"


def _limit_by_budget(
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
    """Order removals: broken, not ready, marked by a user, outdated, then by the policy."""
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
    """Hash a name to 32 bits (FNV-1a); unlike `hash`, the same in every process."""
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 % 2**32
    return value
