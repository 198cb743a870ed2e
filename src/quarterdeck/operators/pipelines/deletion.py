"""The finalizer of a Pipeline: deletes the pipeline on the server before the object.

Only `not_found` from the server counts as deleted. If the status was never written, the pipeline
is searched by name and recognized by its owner.
"""

from quarterdeck.apis.fleetmanagement.v1alpha1 import FORCE_DELETE, Pipeline
from quarterdeck.meta.conditions import TRUE, find
from quarterdeck.operators.pipelines.canary import remove_all_canaries
from quarterdeck.operators.pipelines.conditions import SYNCED, Reason
from quarterdeck.operators.pipelines.desired import choose_name, is_ours
from quarterdeck.operators.pipelines.failures import to_reconcile_error, to_unavailable
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.pipeline import get_annotation, is_read_only
from quarterdeck.operators.pipelines.ports import CallFailed, Paused
from quarterdeck.operators.pipelines.writes import Writes, remove
from quarterdeck.runtime import Context, Stalled, Waiting

_NO_CONNECTION_RETRY_S = 300.0


class Deletion:
    """Deletes pipelines of deleted objects."""

    def __init__(self, fleets: Fleets, writes: Writes) -> None:
        self._fleets = fleets
        self._writes = writes

    async def run(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
        """Delete the pipeline on its server, unless annotations or the deletion policy keep it.

        Raises:
            Waiting: if it cannot be deleted yet; the finalizer stays.
            ServiceUnavailable: if the server failed; the finalizer stays.
        """
        identity = pipeline.status.id
        if get_annotation(pipeline.metadata.annotations, FORCE_DELETE) == "true":
            text = f"forced deletion: pipeline {identity or '(unknown)'} may remain on the server"
            ctx.event(Reason.ORPHANED, text, warning=True)
            return
        if is_read_only(pipeline) or pipeline.spec.deletion_policy == "Orphan":
            ctx.event(Reason.ORPHANED, f"pipeline {identity or '(none)'} remains on the server")
            return
        synced = find(pipeline.status.conditions, SYNCED)
        if synced is not None and synced.reason == Reason.IN_SET and synced.status == TRUE:
            return  # its set deletes it
        try:
            await self._remove(pipeline, ctx)
        except (CallFailed, Paused) as error:
            raised = to_reconcile_error(error)
            if isinstance(raised, Stalled) and isinstance(error, CallFailed):
                raised = to_unavailable(error)  # a deletion is always retried
            raise raised from error

    async def _remove(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
        fleet = await self._fleets.find_sent_to(pipeline, ctx)
        if fleet is None:
            await self._remove_elsewhere(pipeline, ctx)
            return
        await self._remove_all(await self._list_identities(pipeline, fleet), pipeline, fleet, ctx)

    async def _remove_elsewhere(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
        """Remove what is certainly this object's from its current server.

        The connection in the status is gone; perhaps it has another name now. An id alone proves
        nothing there.

        Raises:
            Waiting: if the pipeline is not there.
        """
        fleet = await self._fleets.find_last_known(pipeline, ctx)
        listed = await fleet.api.list() if fleet is not None else ()
        ours = [remote.id for remote in listed if is_ours(pipeline, remote)]
        if fleet is not None and ours:
            await self._remove_all(ours, pipeline, fleet, ctx)
        elif pipeline.status.id:
            raise Waiting(
                Reason.NO_CONNECTION,
                f"cannot delete pipeline {pipeline.status.id}: FleetConnection "
                f"{pipeline.status.connection!r} does not exist",
                after_s=_NO_CONNECTION_RETRY_S,
            )

    async def _remove_all(
        self, identities: list[str], pipeline: Pipeline, fleet: Fleet, ctx: Context[Pipeline]
    ) -> None:
        await remove_all_canaries(pipeline, fleet)
        for identity in identities:
            if await remove(identity, fleet):
                ctx.event(Reason.DELETED, f"pipeline {identity} deleted on the server")

    async def _list_identities(self, pipeline: Pipeline, fleet: Fleet) -> list[str]:
        """The ids of the pipelines on the server that belong to this object.

        The id in the status is not enough: the status may never have been written, a rename may
        have been interrupted, or a response lost, also before a restart. Or a set has sent the
        pipeline since, and deletes it by its own rules. So the pipelines of the server are checked,
        too: a new listing if one of these is likely, else the cached one.
        """
        status = pipeline.status
        is_sure = status.id and status.name in ("", choose_name(pipeline))
        if is_sure and not self._writes.may_have_leftovers(pipeline.key):
            listed = await fleet.list_owned_by(pipeline.metadata.uid)
        else:
            listed = list(await fleet.api.list())
        ours = [remote.id for remote in listed if is_ours(pipeline, remote)]
        synced = find(status.conditions, SYNCED)
        is_of_set = synced is not None and synced.reason == Reason.IN_SET
        held = [status.id] if status.id and not is_of_set else []
        return list(dict.fromkeys([*held, *ours]))
