"""The reconciler of Pipeline: a short list of steps.

The runtime has put the finalizer in place before the first step runs, so nothing is ever on a
server that a deletion would not find. A new pipeline costs two writes (finalizer, status) and
one call.
"""

from collections.abc import Mapping

import msgspec

from quarterdeck.apis.fleetmanagement.v1alpha1 import DRY_RUN, GROUP, Pipeline
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import replace
from quarterdeck.operators.pipelines import desired as wishes
from quarterdeck.operators.pipelines import plan, report
from quarterdeck.operators.pipelines.conditions import SYNCED, Reason
from quarterdeck.operators.pipelines.failures import consequence
from quarterdeck.operators.pipelines.fleets import Fleet, Fleets
from quarterdeck.operators.pipelines.metrics import FleetMetrics
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote
from quarterdeck.operators.pipelines.preview import Previews
from quarterdeck.operators.pipelines.references import read_contents
from quarterdeck.operators.pipelines.wish import Wish
from quarterdeck.operators.pipelines.writes import Writes
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting

IMPORT_MODE = f"{GROUP}/import-mode"
"""Annotation: `read-only` mirrors a pipeline of the server and never writes it."""
PIPELINE_ID = f"{GROUP}/fleet-pipeline-id"
"""Annotation: the id of the pipeline a read-only object mirrors."""
BY_NAME = "fleet-name"
"""Index of Pipelines by their name in the fleet."""
_MIRROR_S = 300.0


class Pipelines:
    """Reconciles Pipelines."""

    def __init__(self, fleets: Fleets, writes: Writes, metrics: FleetMetrics) -> None:
        self._fleets = fleets
        self._metrics = metrics
        self._writes = writes
        self._previews = Previews()

    async def reconcile(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> RequeueAfter | None:
        """Bring the server to what the spec says, then say what is true."""
        if is_read_only(pipeline):
            return await self._mirror(pipeline, ctx)
        if pipeline.spec.paused:
            report.suspended(pipeline, ctx)
            return None
        wish = await self._wish(pipeline, ctx)
        try:
            await self._ensure_name(wish, ctx)
            if pipeline.metadata.annotations.get(DRY_RUN) == "true":
                await self._previews.show(wish, ctx)
                return None
            await self._ensure_synced(wish, ctx)
        except (CallFailed, Paused) as error:
            raise self._consequence(error, wish, ctx) from error
        self._metrics.ended("Pipeline", Reason.SYNCED)
        return None

    async def _wish(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> Wish:
        """Everything that is sent, checked before anything is."""
        contents = await read_contents(pipeline, ctx)
        if problems := wishes.problems(pipeline, contents):
            raise Stalled(Reason.VALIDATION_ERROR, "; ".join(problems))
        fleet = await self._fleets.of(pipeline, ctx)
        desired = wishes.build(pipeline, contents, url=fleet.address.url)
        return Wish(pipeline, desired, contents, fleet)

    async def _ensure_name(self, wish: Wish, ctx: Context[Pipeline]) -> None:
        """Of several objects that want one name on one server, one gets it."""
        pipeline, name = wish.pipeline, wish.desired.name
        others = await ctx.list(Pipeline, index=(BY_NAME, name))
        rivals = [each for each in others if await self._shares(each, wish.fleet, ctx)]
        rivals = [pipeline, *(each for each in rivals if each.key != pipeline.key)]
        view = wish.fleet.view
        known = plan.Known(is_complete=view.is_complete, remote=view.named(name))
        owner = plan.owner_among(rivals, name, known)
        if owner.key != pipeline.key:
            await self._keep_what_is_held(wish, ctx)
            raise Stalled(
                Reason.NAME_CONFLICT,
                f"the pipeline {name!r} belongs to Pipeline {owner.key}: "
                "choose another spec.name, or delete one of the two",
            )

    async def _keep_what_is_held(self, wish: Wish, ctx: Context[Pipeline]) -> None:
        """An object that cannot have its name keeps the pipeline it has, and no other."""
        view, status = wish.fleet.view, wish.pipeline.status
        if not view.is_complete or status.connection not in ("", wish.fleet.name):
            return
        if view.get(status.id) is None:
            owned = view.owned_by(wish.pipeline.metadata.uid)
            identity, name = (owned[0].id, owned[0].name) if owned else ("", "")
            ctx.status.set(id=identity, name=name, applied_hash="")
        await self._writes.remove_left_overs(wish, ctx)

    async def _shares(self, other: Pipeline, fleet: Fleet, ctx: Context[Pipeline]) -> bool:
        """Whether another object goes to the same server."""
        if is_read_only(other):
            return False
        try:
            return (await self._fleets.of(other, ctx)).address.tenant == fleet.address.tenant
        except Stalled:
            return False

    async def _ensure_synced(self, wish: Wish, ctx: Context[Pipeline]) -> None:
        pipeline, here = wish.pipeline, self._as_seen_here(wish)
        _refuse_known(here)
        action = plan.decide(here.pipeline, here.desired, known_of(here.pipeline, here.fleet))
        match action:
            case plan.Refused(message):
                raise Stalled(Reason.VALIDATION_ERROR, message)
            case plan.Report(fields):
                self._metrics.drifted("reported")
                report.drifted(fields, ctx)
            case plan.Nothing(remote):
                report.synced(wish, remote, ctx)
            case _:
                done = await self._writes.perform(action, here, ctx)
                if done.why is Reason.CORRECTED:
                    self._metrics.drifted("corrected")
                report.synced(wish, done.remote, ctx)
                report.told(done.why, done.detail, ctx)
        await self._writes.remove_left_overs(wish, ctx)
        if here is not wish:
            await self._writes.leave(pipeline, self._fleets.named(pipeline.status.connection), ctx)

    def _as_seen_here(self, wish: Wish) -> Wish:
        """The wish without the id its object has on another server, if it was sent elsewhere."""
        status = wish.pipeline.status
        if not status.id or status.connection in ("", wish.fleet.name):
            return wish
        before = self._fleets.named(status.connection)
        if before is not None and before.address.tenant == wish.fleet.address.tenant:
            return wish
        blank = msgspec.structs.replace(status, id="", name="", applied_hash="")
        return wish._replace(pipeline=replace(wish.pipeline, status=blank))

    def _consequence(
        self, error: CallFailed | Paused, wish: Wish, ctx: Context[Pipeline]
    ) -> Exception:
        raised = consequence(error)
        if isinstance(raised, Stalled):
            ctx.status.set(applied_hash=wish.desired.hash)  # refused for good, until it changes
            if wish.contents.is_secret:
                raised = Stalled(
                    raised.reason,
                    f"the server refuses the contents of {wish.contents.origin}; "
                    "its message is not shown, since it may repeat them",
                )
        return raised

    async def _mirror(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> RequeueAfter:
        """Show what the server has, and write nothing."""
        fleet = await self._fleets.of(pipeline, ctx)
        try:
            remote = await _find_mirrored(pipeline, fleet)
        except (CallFailed, Paused) as error:
            raise consequence(error) from error
        if remote is None:
            text = "the server has no such pipeline; it is only mirrored, never created"
            raise Waiting(Reason.READ_ONLY, text, after_s=_MIRROR_S)
        report.mirrored(remote, fleet, ctx)
        return RequeueAfter(max(_MIRROR_S, fleet.address.interval_s))

    async def forget(self, key: Key) -> None:
        """Drop what was remembered of an object that is gone."""
        self._previews.forget(key)
        self._writes.forget(key)


def _refuse_known(wish: Wish) -> None:
    """Do not ask again for a name that was refused and is still in other hands."""
    said = report.condition_now(wish.pipeline, SYNCED)
    if said is None or said.reason != Reason.ADOPTION_REFUSED or not wish.fleet.view.is_complete:
        return
    remote = wish.fleet.view.named(wish.desired.name)
    if remote is not None and not plan.may_adopt(wish.pipeline, remote):
        raise Stalled(Reason.ADOPTION_REFUSED, said.message)


def known_of(pipeline: Pipeline, fleet: Fleet) -> plan.Known:
    """What is known of a pipeline on its server, without asking."""
    view, identity = fleet.view, pipeline.status.id
    remote = view.get(identity)
    if not identity:
        name, owned = wishes.effective_name(pipeline), view.owned_by(pipeline.metadata.uid)
        remote = next((each for each in owned if each.name == name), None)
    answer = view.answer(remote.id) if remote is not None else None
    return plan.Known(is_complete=view.is_complete, remote=remote, answer=answer)


def is_read_only(pipeline: Pipeline) -> bool:
    """Whether an object only mirrors: said by annotation, or because Grafana owns the pipeline."""
    if annotation(pipeline.metadata.annotations, IMPORT_MODE) == "read-only":
        return True
    return pipeline.spec.source is not None and pipeline.spec.source.type == "Grafana"


def annotation(annotations: Mapping[str, str], name: str) -> str:
    """The value of an annotation."""
    return annotations.get(name, "").strip().lower()


async def _find_mirrored(pipeline: Pipeline, fleet: Fleet) -> Remote | None:
    identity = pipeline.metadata.annotations.get(PIPELINE_ID, "")
    name = wishes.effective_name(pipeline)
    if fleet.view.is_complete:
        return fleet.view.get(identity) if identity else fleet.view.named(name)
    return await fleet.api.get(identity) if identity else await fleet.api.find(name)
