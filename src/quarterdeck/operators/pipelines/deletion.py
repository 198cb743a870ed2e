"""The last step of a Pipeline: its pipeline leaves the server before the object may go.

Only the server's own `not_found` counts as gone. A status that was never written is no excuse
either: the pipeline is looked for by name and recognised by its owner.
"""

from quarterdeck.apis.fleetmanagement.v1alpha1 import FORCE_DELETE, Pipeline
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import effective_name, is_ours
from quarterdeck.operators.pipelines.failures import consequence, unavailable
from quarterdeck.operators.pipelines.fleets import Fleet, Fleets
from quarterdeck.operators.pipelines.pipeline import annotation, is_read_only
from quarterdeck.operators.pipelines.ports import CallFailed, Paused
from quarterdeck.operators.pipelines.writes import Writes, remove
from quarterdeck.runtime import Context, Stalled, Waiting

_NO_CONNECTION_RETRY_S = 300.0


class Deletion:
    """Cleans up after Pipelines."""

    def __init__(self, fleets: Fleets, writes: Writes) -> None:
        self._fleets = fleets
        self._writes = writes

    async def run(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
        """Remove the pipeline from its server, unless it is to stay.

        Raises:
            Waiting: if it is too early; the finalizer stays.
            ServiceUnavailable: if the server failed; the finalizer stays.
        """
        identity = pipeline.status.id
        if annotation(pipeline.metadata.annotations, FORCE_DELETE) == "true":
            text = f"deletion was forced: pipeline {identity or '(unknown)'} may stay on the server"
            ctx.event(Reason.ORPHANED, text, warning=True)
            return
        if is_read_only(pipeline) or pipeline.spec.deletion_policy == "Orphan":
            ctx.event(Reason.ORPHANED, f"pipeline {identity or '(none)'} stays on the server")
            return
        try:
            await self._remove(pipeline, ctx)
        except (CallFailed, Paused) as error:
            raised = consequence(error)
            if isinstance(raised, Stalled) and isinstance(error, CallFailed):
                raised = unavailable(error)  # a deletion is never given up
            raise raised from error

    async def _remove(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
        fleet = await self._fleet(pipeline, ctx)
        if fleet is None:
            if not pipeline.status.id:
                return  # there never was a server to send it to
            raise Waiting(
                Reason.NO_CONNECTION,
                f"the connection {pipeline.status.connection!r} is not there to delete "
                f"pipeline {pipeline.status.id} through",
                after_s=_NO_CONNECTION_RETRY_S,
            )
        for identity in await self._identities(pipeline, fleet):
            if await remove(identity, fleet):
                ctx.event(Reason.DELETED, f"pipeline {identity} was removed from the server")

    async def _fleet(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> Fleet | None:
        """The server the pipeline is on: that of its status, before that of its spec."""
        sent_to = pipeline.status.connection
        current = await self._fleets.last_known(pipeline, ctx)
        if not sent_to or (current is not None and current.name == sent_to):
            return current
        return self._fleets.named(sent_to) or current

    async def _identities(self, pipeline: Pipeline, fleet: Fleet) -> list[str]:
        """The pipelines on the server that are this object's.

        The status knows, unless it was never written, a rename was under way, or an answer was
        lost: then the server is read. An answer may have been lost before a restart, too, of
        which only the server knows.
        """
        status = pipeline.status
        is_sure = status.id and status.name in ("", effective_name(pipeline))
        if is_sure and not self._writes.may_have_left_overs(pipeline.key):
            listed = await fleet.owned_by(pipeline.metadata.uid)
        else:
            listed = list(await fleet.api.list())
        ours = [remote.id for remote in listed if is_ours(pipeline, remote)]
        return list(dict.fromkeys([*([status.id] if status.id else ()), *ours]))
