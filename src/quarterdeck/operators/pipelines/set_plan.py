"""What one sync of a PipelineSet would do to a server, and whether the spec allows it. Pure."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import PipelineSet
from quarterdeck.kit.plural import format_count
from quarterdeck.operators.pipelines import drift
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import Desired
from quarterdeck.operators.pipelines.ports import Remote
from quarterdeck.operators.pipelines.set_members import MAX_SHOWN, Member, get_source
from quarterdeck.runtime import Stalled


class SyncPlan(NamedTuple):
    """The effects of one sync."""

    members: tuple[Desired, ...]
    kept: tuple[Remote, ...]
    """Pipelines of the source outside the set; they are sent unchanged, so that they stay."""
    deletions: tuple[Remote, ...]
    differing: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether the server differs from the set."""
        return bool(self.differing or self.deletions)


class KnownConnections(NamedTuple):
    """Values of `status.connection`, by whether they mean a certain server."""

    here: frozenset[str]
    unknown: frozenset[str] = frozenset()
    """Those that are gone or cannot be used: they may have been connections to the server."""


def choose_owner(rivals: Sequence[PipelineSet], connections: KnownConnections) -> PipelineSet:
    """Choose the owner of a common source: the set that was synced to it, else the oldest.

    A set that may have been synced to it comes before the oldest. A paused set that was never
    synced comes last, because it sends nothing.
    """
    here, maybe_here = connections.here, connections.here | connections.unknown

    def rank(each: PipelineSet) -> tuple[bool, bool, bool, str, str]:
        age = str(each.metadata.creation_timestamp or "")
        is_holder, may_hold = holds_source(each, here), holds_source(each, maybe_here)
        return (not is_holder, not may_hold, each.spec.paused, age, str(each.key))

    return min(rivals, key=rank)


def holds_source(set_: PipelineSet, connections: Collection[str]) -> bool:
    """Whether a set was synced to the source that it names now, paused or not.

    A set that was synced through none of `connections` holds the source on another server.
    """
    status = set_.status
    if status.connection not in connections:
        return False
    if not status.applied_hash or status.applied_source:
        return bool(status.applied_hash) and status.applied_source == describe_source(set_)
    return status.observed_generation == set_.metadata.generation  # written by an older version


def describe_source(set_: PipelineSet) -> str:
    """The source of a set, as its status names it."""
    return f"{set_.spec.source.type}/{set_.spec.source.namespace}"


def plan_sync(
    set_: PipelineSet,
    members: Sequence[Member],
    listed: Sequence[Remote],
    *,
    claimed: Collection[str] = (),
) -> SyncPlan:
    """Compute the effects of one sync on a server. Pure.

    `claimed` are names that Pipelines outside the set have: those stay, whatever their source.

    Raises:
        Stalled: if it would take over pipelines of others, or delete more than allowed.
    """
    source = get_source(set_)
    by_name = {each.name: each for each in listed}
    owners = {set_.metadata.uid, *(member.uid for member in members if member.uid)}
    foreign, differing = [], []
    for member in members:
        remote = by_name.get(member.desired.name)
        if remote is None or drift.find_differences(member.desired, remote):
            differing.append(member.desired.name)
        if remote is None:
            continue
        is_of_source = remote.has_source(source)
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
    rest = tuple(each for each in listed if each.has_source(source) and each.name not in names)
    kept = tuple(each for each in rest if not set_.spec.prune or each.name in claimed)
    rest = tuple(each for each in rest if each not in kept)
    desired = tuple(member.desired for member in members)
    if len(rest) > set_.spec.max_deletions:
        shown = ", ".join(each.name for each in rest[:MAX_SHOWN])
        raise Stalled(
            Reason.TOO_MANY_DELETIONS,
            f"the sync would delete {format_count(len(rest), 'pipeline')}, spec.maxDeletions is "
            f"{set_.spec.max_deletions}: {shown}; raise it, or set spec.prune to false",
        )
    return SyncPlan(desired, kept, rest, tuple(dict.fromkeys(differing)))
