"""Writes pipelines to their server: the only place that changes the server.

Every write can be repeated: a create whose answer was lost is found by its owner, and an
interrupted rename continues where it stopped.
"""

from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import plan
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import is_leftover, is_ours
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.ports import CallFailed, Remote
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.runtime import Context, Stalled, Waiting
from quarterdeck.telemetry.fleet.codes import Code

_UNDECIDED = (
    *(Code.UNAVAILABLE, Code.INTERNAL, Code.UNKNOWN, Code.DEADLINE_EXCEEDED),
    *(Code.CANCELED, Code.DATA_LOSS, Code.ABORTED),
)
"""Error codes after which it is unknown whether the write took effect."""
_TAKEN = (Code.ALREADY_EXISTS, Code.ABORTED)
MAX_RECREATIONS = 3
RECREATION_WINDOW_S = 600.0
MANY_CORRECTIONS = 3
"""Number of corrections within RECREATION_WINDOW_S that causes a warning."""


class Written(NamedTuple):
    """The pipeline after a write, and the reason for the write."""

    remote: Remote
    why: Reason
    detail: str = ""


class Writes:
    """Performs plans; counts how often a pipeline was recreated and corrected."""

    def __init__(self) -> None:
        self._recreations: dict[Key, list[float]] = {}
        self._corrections: dict[Key, list[float]] = {}
        self._undecided: set[Key] = set()

    async def perform(
        self,
        action: plan.Create | plan.Update | plan.Rename,
        target: SyncTarget,
        ctx: Context[Pipeline],
    ) -> Written:
        """Change the server.

        Raises:
            CallFailed: if the call fails, with its code.
            Stalled: if the name belongs to another owner.
            Waiting: if the pipeline is deleted repeatedly on the server.
        """
        try:
            return await self._perform(action, target, ctx)
        except CallFailed as error:
            if error.code in _UNDECIDED:
                self._undecided.add(ctx.key)
            raise

    def may_have_leftovers(self, key: Key) -> bool:
        """Whether the result of a write of this object is unknown."""
        return key in self._undecided

    async def remove_leftovers(self, target: SyncTarget, ctx: Context[Pipeline]) -> None:
        """Delete pipelines of earlier writes whose answer was lost."""
        keep = ctx.status.current.id
        for remote in target.fleet.view.list_owned_by(target.pipeline.metadata.uid):
            if keep and remote.id != keep and is_leftover(target.desired, remote):
                await remove(remote.id, target.fleet)
                ctx.event(
                    Reason.DELETED, f"deleted leftover pipeline {remote.id} of an earlier write"
                )

    async def _perform(
        self,
        action: plan.Create | plan.Update | plan.Rename,
        target: SyncTarget,
        ctx: Context[Pipeline],
    ) -> Written:
        fleet = target.fleet
        match action:
            case plan.Create(why):
                if why is Reason.RECREATED:
                    self._count_recreation(ctx)
                return await create(target, why)
            case plan.Rename(old_id):
                done = await create(target, Reason.RENAMED)
                if done.remote.id != old_id:
                    await remove(old_id, fleet)
                return done
            case plan.Update(identity, why, fields):
                try:
                    remote = await fleet.api.update(target.desired.to_message(identity))
                except CallFailed as error:
                    if error.code is not Code.NOT_FOUND:
                        raise
                    fleet.record_removal(identity)
                    self._count_recreation(ctx)
                    return await create(target, Reason.RECREATED)
                fleet.record_write(remote)
                detail = f"changed on the server: {', '.join(fields)}" if fields else ""
                return Written(remote, why, detail)

    def forget(self, key: Key) -> None:
        """Drop the state of an object."""
        self._recreations.pop(key, None)
        self._corrections.pop(key, None)
        self._undecided.discard(key)

    def count_correction(self, ctx: Context[Pipeline]) -> None:
        """Count a correction of what was changed on the server."""
        self._corrections.setdefault(ctx.key, []).append(ctx.clock.monotonic())

    def describe_corrections(self, ctx: Context[Pipeline]) -> str:
        """A warning about a pipeline that is corrected repeatedly; empty if it is not."""
        now = ctx.clock.monotonic()
        recent = [at for at in self._corrections.get(ctx.key, ()) if now - at < RECREATION_WINDOW_S]
        self._corrections[ctx.key] = recent
        if len(recent) < MANY_CORRECTIONS:
            return ""
        return (
            f"corrected at least {MANY_CORRECTIONS} times within "
            f"{RECREATION_WINDOW_S / 60:.0f} minutes: check for another client that changes it, or "
            "a server that does not keep what it accepts"
        )

    def _count_recreation(self, ctx: Context[Pipeline]) -> None:
        """Count a recreation; wait if another client deletes the pipeline repeatedly."""
        now = ctx.clock.monotonic()
        recent = [at for at in self._recreations.get(ctx.key, ()) if now - at < RECREATION_WINDOW_S]
        self._recreations[ctx.key] = recent
        if len(recent) >= MAX_RECREATIONS:
            raise Waiting(
                Reason.SYNC_FAILED,
                f"deleted on the server {len(recent)} times within "
                f"{RECREATION_WINDOW_S / 60:.0f} minutes: check for another client that deletes it",
                after_s=RECREATION_WINDOW_S,
            )
        recent.append(now)


async def create(target: SyncTarget, why: Reason) -> Written:
    """Create a pipeline, or adopt the existing one of the same name if the policy allows it."""
    try:
        remote = await target.fleet.api.create(target.desired.to_message())
    except CallFailed as error:
        if error.code not in _TAKEN:
            raise
        return await _adopt_existing(target, why, error=error)
    target.fleet.record_write(remote)
    return Written(remote, why)


async def _adopt_existing(target: SyncTarget, why: Reason, *, error: CallFailed) -> Written:
    pipeline, fleet = target.pipeline, target.fleet
    existing = await fleet.api.find(target.desired.name)
    if existing is None:
        raise error  # deleted meanwhile; the retry creates it
    if not plan.may_adopt(pipeline, existing):
        raise Stalled(Reason.ADOPTION_REFUSED, _describe_refusal(pipeline, existing))
    remote = await fleet.api.update(target.desired.to_message(existing.id))
    fleet.record_write(remote)
    return Written(remote, why if is_ours(pipeline, existing) else Reason.ADOPTED)


async def remove(identity: str, fleet: Fleet) -> bool:
    """Delete a pipeline; False if it did not exist."""
    try:
        await fleet.api.delete(identity)
    except CallFailed as error:
        if error.code is not Code.NOT_FOUND:
            raise
        fleet.record_removal(identity)
        return False
    fleet.record_removal(identity)
    return True


def _describe_refusal(pipeline: Pipeline, existing: Remote) -> str:
    source = existing.source_type.removeprefix("SOURCE_TYPE_").lower() or "unspecified"
    origin = f"{source} {existing.source_namespace}".strip()
    return (
        f"pipeline {existing.name!r} on the server has another owner (id {existing.id}, source "
        f"{origin}, updated {existing.updated_at or 'at an unknown time'}); "
        f"adoptionPolicy {pipeline.spec.adoption_policy} does not adopt it"
    )
