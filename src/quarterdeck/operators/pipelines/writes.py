"""Writing a pipeline to its server: the only place where the server is changed.

Every write can be repeated: a create that was answered into the void is found by its owner, a
rename that broke off half-way goes on where it was.
"""

from typing import NamedTuple

from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline
from quarterdeck.meta.identity import Key
from quarterdeck.operators.pipelines import plan
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import is_left_over, is_ours
from quarterdeck.operators.pipelines.fleets import Fleet
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote
from quarterdeck.operators.pipelines.wish import Wish
from quarterdeck.runtime import Context, Stalled, Waiting
from quarterdeck.telemetry.fleet.codes import Code

_UNDECIDED = (
    *(Code.UNAVAILABLE, Code.INTERNAL, Code.UNKNOWN, Code.DEADLINE_EXCEEDED),
    *(Code.CANCELED, Code.DATA_LOSS, Code.ABORTED),
)
"""Failures after which the server may have done it all the same."""
_TAKEN = (Code.ALREADY_EXISTS, Code.ABORTED)
MAX_RECREATIONS = 3
RECREATION_WINDOW_S = 600.0


class Written(NamedTuple):
    """What the server has now, and how it came about."""

    remote: Remote
    why: Reason
    detail: str = ""


class Writes:
    """Performs plans; remembers how often a pipeline had to be made again."""

    def __init__(self) -> None:
        self._recreations: dict[Key, list[float]] = {}
        self._undecided: set[Key] = set()

    async def perform(
        self,
        action: plan.Create | plan.Update | plan.Rename,
        wish: Wish,
        ctx: Context[Pipeline],
    ) -> Written:
        """Change the server.

        Raises:
            CallFailed: if the server refuses, with its code.
            Stalled: if the name is in other hands.
            Waiting: if the pipeline is deleted again and again.
        """
        try:
            return await self._perform(action, wish, ctx)
        except CallFailed as error:
            if error.code in _UNDECIDED:
                self._undecided.add(ctx.key)
            raise

    def may_have_left_overs(self, key: Key) -> bool:
        """Whether a write of an object ended so that nobody knows what the server has."""
        return key in self._undecided

    async def remove_left_overs(self, wish: Wish, ctx: Context[Pipeline]) -> None:
        """Delete what an attempt has made whose answer was lost, before a rename."""
        keep = ctx.status.current.id
        for remote in wish.fleet.view.owned_by(wish.pipeline.metadata.uid):
            if keep and remote.id != keep and is_left_over(wish.desired, remote):
                await remove(remote.id, wish.fleet)
                ctx.event(Reason.DELETED, f"pipeline {remote.id} was left over")

    async def _perform(
        self,
        action: plan.Create | plan.Update | plan.Rename,
        wish: Wish,
        ctx: Context[Pipeline],
    ) -> Written:
        fleet = wish.fleet
        match action:
            case plan.Create(why):
                if why is Reason.RECREATED:
                    self._note_recreation(ctx)
                return await create(wish, why)
            case plan.Rename(old_id):
                done = await create(wish, Reason.RENAMED)
                if done.remote.id != old_id:
                    await remove(old_id, fleet)
                return done
            case plan.Update(identity, why, fields):
                try:
                    remote = await fleet.api.update(wish.desired.message(identity))
                except CallFailed as error:
                    if error.code is not Code.NOT_FOUND:
                        raise
                    fleet.removed(identity)
                    self._note_recreation(ctx)
                    return await create(wish, Reason.RECREATED)
                fleet.wrote(remote)
                detail = f"changed on the server: {', '.join(fields)}" if fields else ""
                return Written(remote, why, detail)

    async def leave(self, pipeline: Pipeline, before: Fleet | None, ctx: Context[Pipeline]) -> None:
        """Remove a pipeline from the server it was on before it moved to another one."""
        status = pipeline.status
        try:
            if before is not None:
                await remove(status.id, before)
                return
            problem = "that connection is not known any more"
        except (CallFailed, Paused) as error:
            problem = str(error)
        text = f"pipeline {status.id} stays on the server of {status.connection}: {problem}"
        ctx.event(Reason.ORPHANED, text, warning=True)

    def forget(self, key: Key) -> None:
        """Drop what was remembered of an object."""
        self._recreations.pop(key, None)
        self._undecided.discard(key)

    def _note_recreation(self, ctx: Context[Pipeline]) -> None:
        """Two who fight over a pipeline would do so for ever: the third time we wait."""
        now = ctx.clock.monotonic()
        recent = [at for at in self._recreations.get(ctx.key, ()) if now - at < RECREATION_WINDOW_S]
        self._recreations[ctx.key] = recent
        if len(recent) >= MAX_RECREATIONS:
            raise Waiting(
                Reason.SYNC_FAILED,
                f"deleted on the server {len(recent)} times within "
                f"{RECREATION_WINDOW_S / 60:.0f} minutes: find out who does it",
                after_s=RECREATION_WINDOW_S,
            )
        recent.append(now)


async def create(wish: Wish, why: Reason) -> Written:
    """Make a pipeline, or take over the one that has its name, if we may."""
    try:
        remote = await wish.fleet.api.create(wish.desired.message())
    except CallFailed as error:
        if error.code not in _TAKEN:
            raise
        return await _take_over(wish, why, error=error)
    wish.fleet.wrote(remote)
    return Written(remote, why)


async def _take_over(wish: Wish, why: Reason, *, error: CallFailed) -> Written:
    pipeline, fleet = wish.pipeline, wish.fleet
    existing = await fleet.api.find(wish.desired.name)
    if existing is None:
        raise error  # it went meanwhile: the next try makes it
    if not plan.may_adopt(pipeline, existing):
        raise Stalled(Reason.ADOPTION_REFUSED, _refusal(pipeline, existing))
    remote = await fleet.api.update(wish.desired.message(existing.id))
    fleet.wrote(remote)
    return Written(remote, why if is_ours(pipeline, existing) else Reason.ADOPTED)


async def remove(identity: str, fleet: Fleet) -> bool:
    """Delete a pipeline; False if it was gone already, which only the server itself can say."""
    try:
        await fleet.api.delete(identity)
    except CallFailed as error:
        if error.code is not Code.NOT_FOUND:
            raise
        fleet.removed(identity)
        return False
    fleet.removed(identity)
    return True


def _refusal(pipeline: Pipeline, existing: Remote) -> str:
    source = existing.source_type.removeprefix("SOURCE_TYPE_").lower() or "unspecified"
    origin = f"{source} {existing.source_namespace}".strip()
    return (
        f"the server has a pipeline {existing.name!r} of somebody else (id {existing.id}, source "
        f"{origin}, updated {existing.updated_at or 'at an unknown time'}); "
        f"adoptionPolicy {pipeline.spec.adoption_policy} leaves it alone"
    )
