"""What one sync of a PipelineSet would do to a server, and whether the spec allows it. Pure."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import PipelineSet
from quarterdeck.kit.plural import count
from quarterdeck.operators.pipelines import drift
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import Desired
from quarterdeck.operators.pipelines.ports import Remote
from quarterdeck.operators.pipelines.set_members import MAX_SHOWN, Member, source_of
from quarterdeck.runtime import Stalled


class SyncPlan(NamedTuple):
    """What one call would do."""

    members: tuple[Desired, ...]
    kept: tuple[Remote, ...]
    """Pipelines of the source that are listed only so that they stay."""
    deletions: tuple[Remote, ...]
    differing: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether the server has something else than the set."""
        return bool(self.differing or self.deletions)


def choose_owner(rivals: Sequence[PipelineSet]) -> PipelineSet:
    """Who of several sets has their common source: whoever was synced to it, else the oldest.

    A set whose spec has changed since may have been synced to another source.
    """

    def rank(each: PipelineSet) -> tuple[bool, str, str]:
        is_current = each.status.observed_generation == each.metadata.generation
        holds = is_current and bool(each.status.applied_hash)
        return (not holds, str(each.metadata.creation_timestamp or ""), str(each.key))

    return min(rivals, key=rank)


def plan_sync(
    set_: PipelineSet,
    members: Sequence[Member],
    listed: Sequence[Remote],
    *,
    claimed: Collection[str] = (),
) -> SyncPlan:
    """What one sync would do to a server. Pure.

    `claimed` are names that Pipelines outside the set have: those stay, whatever their source.

    Raises:
        Stalled: if it would take over pipelines of others, or delete more than allowed.
    """
    source = tuple(source_of(set_).values())
    by_name = {each.name: each for each in listed}
    owners = {set_.metadata.uid, *(member.uid for member in members if member.uid)}
    foreign, differing = [], []
    for member in members:
        remote = by_name.get(member.desired.name)
        if remote is None or drift.differences(member.desired, remote):
            differing.append(member.desired.name)
        if remote is None:
            continue
        is_of_source = (remote.source_type, remote.source_namespace) == source
        if not is_of_source and remote.owner not in owners:
            foreign.append(f"{remote.name} (id {remote.id})")
        elif not is_of_source:
            differing.append(member.desired.name)
    if foreign:
        raise Stalled(
            Reason.ADOPTION_REFUSED,
            "the server has pipelines of these names that are not of this source: "
            f"{', '.join(foreign[:MAX_SHOWN])}; rename them, or delete them on the server",
        )
    names = {member.desired.name for member in members}
    rest = tuple(
        each
        for each in listed
        if (each.source_type, each.source_namespace) == source and each.name not in names
    )
    kept = tuple(each for each in rest if not set_.spec.prune or each.name in claimed)
    rest = tuple(each for each in rest if each not in kept)
    desired = tuple(member.desired for member in members)
    if len(rest) > set_.spec.max_deletions:
        shown = ", ".join(each.name for each in rest[:MAX_SHOWN])
        raise Stalled(
            Reason.TOO_MANY_DELETIONS,
            f"the sync would delete {count(len(rest), 'pipeline')}, spec.maxDeletions is "
            f"{set_.spec.max_deletions}: {shown}; raise it, or set spec.prune to false",
        )
    return SyncPlan(desired, kept, rest, tuple(dict.fromkeys(differing)))
