"""The reconciler of Pipeline: a short list of steps.

The runtime adds the finalizer before the first step runs, so a deletion finds every pipeline that
was sent to a server. A new pipeline costs three writes (finalizer, first revision, status) and one
call.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.apis.fleetmanagement.names import DRY_RUN, IMPORT_MODE, PIPELINE_ID
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineSet
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import replace
from quarterdeck.operators.pipelines import plan, report
from quarterdeck.operators.pipelines.canary import remove_all_canaries
from quarterdeck.operators.pipelines.conditions import SYNCED, Reason
from quarterdeck.operators.pipelines.desired import build_desired, choose_name, find_problems
from quarterdeck.operators.pipelines.failures import hide_message, to_reconcile_error
from quarterdeck.operators.pipelines.fleet_server import Fleet
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.metrics import FleetMetrics
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote
from quarterdeck.operators.pipelines.preview import Previews
from quarterdeck.operators.pipelines.references import read_contents
from quarterdeck.operators.pipelines.revisions import ensure_revisions, roll_back
from quarterdeck.operators.pipelines.rollout import Decision, Send
from quarterdeck.operators.pipelines.staging import clean_up, stage
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.operators.pipelines.writes import RECREATION_WINDOW_S, Writes, remove
from quarterdeck.runtime import Context, RequeueAfter, Stalled, Waiting
from quarterdeck.telemetry.contents import ConfigType, check_in_thread

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
        """Sync the pipeline to its server and report the result in the status."""
        if is_read_only(pipeline):
            return await self._mirror(pipeline, ctx)
        if pipeline.spec.paused:
            report.set_suspended(pipeline, ctx)
            return None
        if (set_ := await find_set(pipeline, ctx)) is not None:
            await self._leave_to_set(set_, pipeline, ctx)
            return None
        target = await self._build_target(pipeline, ctx)
        try:
            await self._ensure_name(target, ctx)
            if pipeline.metadata.annotations.get(DRY_RUN) == "true":
                await self._previews.show(target, ctx)
                return None
            wanted = target = await roll_back(target, ctx)
            target, decision = await stage(wanted, ctx)
            return await self._ensure_rolled_out(target, wanted, decision, ctx)
        except (CallFailed, Paused) as error:
            raised = self._choose_consequence(error, target, ctx)
            raise raised from None if target.is_secret else error

    async def _ensure_rolled_out(
        self, target: SyncTarget, wanted: SyncTarget, decision: Decision, ctx: Context[Pipeline]
    ) -> RequeueAfter | None:
        """Send what the rollout decides; a rollback is stored in the status before it is sent."""
        report.set_rollout(decision, ctx)
        if decision.status is not None:
            is_rollback = decision.must_be_recorded
            self._metrics.set_rollout(ctx.key, decision.status.weight, is_rollback=is_rollback)
        if not decision.must_be_recorded:
            await self._ensure_synced(target, ctx)
            await clean_up(wanted, decision, ctx)
            await ensure_revisions(target, ctx)
            delivery = target.fleet.agents.get_known(ctx.status.current.id)
            report.set_delivery(delivery, target, ctx)
            self._metrics.set_delivery(ctx.key, ctx.status.current.delivery)
            self._metrics.count_reconcile("Pipeline", Reason.SYNCED)
        after_s = decision.after_s
        if after_s is None and self._writes.describe_corrections(ctx):
            after_s = RECREATION_WINDOW_S  # to see whether it is over
        return RequeueAfter(after_s) if after_s is not None else None

    async def _build_target(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> SyncTarget:
        """Read, validate and build everything that is sent."""
        contents = await read_contents(pipeline, ctx)
        await check_in_thread(contents.text, ConfigType(pipeline.spec.config_type))
        if problems := find_problems(pipeline, contents):
            raise Stalled(Reason.VALIDATION_ERROR, "; ".join(problems))
        fleet = await self._fleets.get_fleet(pipeline, ctx)
        desired = build_desired(pipeline, contents, url=fleet.address.url)
        return SyncTarget(pipeline, desired, contents, fleet)

    async def _ensure_name(self, target: SyncTarget, ctx: Context[Pipeline]) -> None:
        """Stall if another Pipeline owns the same name on the same server."""
        pipeline, name = target.pipeline, target.desired.name
        others = await ctx.list(Pipeline, index=(BY_NAME, name))
        rivals = [each for each in others if await self._shares(each, target.fleet, ctx)]
        rivals = [pipeline, *(each for each in rivals if each.key != pipeline.key)]
        view = target.fleet.view
        known = plan.Known(is_complete=view.is_complete, remote=view.find_by_name(name))
        owner = plan.choose_owner(rivals, name, known)
        if owner.key != pipeline.key:
            await self._keep_current(target, ctx)
            raise Stalled(
                Reason.NAME_CONFLICT,
                f"the name {name!r} is already used by Pipeline {owner.key}: "
                "choose another spec.name, or delete one of the two",
            )

    async def _keep_current(self, target: SyncTarget, ctx: Context[Pipeline]) -> None:
        """Keep the pipeline that the object already has, and remove leftovers."""
        view, status = target.fleet.view, target.pipeline.status
        if not view.is_complete or status.connection not in ("", target.fleet.name):
            return
        if view.get(status.id) is None:
            owned = view.list_owned_by(target.pipeline.metadata.uid)
            identity, name = (owned[0].id, owned[0].name) if owned else ("", "")
            ctx.status.set(id=identity, name=name, applied_hash="")
        await self._writes.remove_leftovers(target, ctx)

    async def _shares(self, other: Pipeline, fleet: Fleet, ctx: Context[Pipeline]) -> bool:
        """Whether another object is synced to the same server."""
        return not is_read_only(other) and await self._fleets.is_tenant_of(other, fleet, ctx)

    async def _ensure_synced(self, target: SyncTarget, ctx: Context[Pipeline]) -> None:
        pipeline, here = target.pipeline, await self._drop_foreign_id(target, ctx)
        _check_refused_name(here)
        action = plan.decide(here.pipeline, here.desired, get_known(here.pipeline, here.fleet))
        match action:
            case plan.Refused(message):
                raise Stalled(Reason.VALIDATION_ERROR, message)
            case plan.Report(fields):
                self._metrics.count_drift("reported")
                report.set_drifted(fields, ctx)
            case plan.Nothing(remote):
                drift = self._writes.describe_corrections(ctx)
                report.set_synced(target, remote, ctx, drift=drift)
            case _:
                done = await self._writes.perform(action, here, ctx)
                if done.why is Reason.CORRECTED:
                    self._metrics.count_drift("corrected")
                    self._writes.count_correction(ctx)
                await here.fleet.read_revision(done.remote.id)
                drift = self._writes.describe_corrections(ctx)
                report.set_synced(target, done.remote, ctx, drift=drift)
                report.record_change(done.why, done.detail, ctx)
        await self._writes.remove_leftovers(target, ctx)
        if here is not target:
            await self._remove_from_previous(pipeline, ctx)

    async def _remove_from_previous(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> None:
        """Remove a pipeline and its candidate from the server it was on before it moved."""
        status = pipeline.status
        problem = "the connection no longer exists"
        try:
            before = await self._fleets.find_named(status.connection, ctx)
            if before is not None:
                await remove_all_canaries(pipeline, before)
                await remove(status.id, before)
                return
        except (CallFailed, Paused, Stalled) as error:
            problem = str(error)
        text = f"pipeline {status.id} remains on the server of {status.connection}: {problem}"
        ctx.event(Reason.ORPHANED, text, warning=True)

    async def _leave_to_set(
        self, set_: PipelineSet, pipeline: Pipeline, ctx: Context[Pipeline]
    ) -> None:
        """Report what the set has sent; once it has, a rollout of the Pipeline itself is over."""
        if report.is_sent_by(set_, pipeline):
            fleet = await self._find_previous(pipeline, ctx)
            try:
                if fleet is not None:
                    await remove_all_canaries(pipeline, fleet)
            except (CallFailed, Paused) as error:
                raise to_reconcile_error(error) from error
            report.set_rollout(Decision(Send.ALL, None), ctx)
        report.set_in_set(set_, pipeline, ctx)

    async def _find_previous(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> Fleet | None:
        """The server that the object was last synced to; None if it cannot be used."""
        try:
            return await self._fleets.find_named(pipeline.status.connection, ctx)
        except Stalled:
            return None

    async def _drop_foreign_id(self, target: SyncTarget, ctx: Context[Pipeline]) -> SyncTarget:
        """The target without the id of another server, if the object was synced there before."""
        status = target.pipeline.status
        if not status.id or status.connection in ("", target.fleet.name):
            return target
        before = await self._find_previous(target.pipeline, ctx)
        if before is not None and before.address.tenant == target.fleet.address.tenant:
            return target
        blank = msgspec.structs.replace(status, id="", name="", applied_hash="")
        return target._replace(pipeline=replace(target.pipeline, status=blank))

    def _choose_consequence(
        self, error: CallFailed | Paused, target: SyncTarget, ctx: Context[Pipeline]
    ) -> Exception:
        """The exception for a failed call; notes a rejected spec, so that it is not sent again."""
        raised = to_reconcile_error(_hide_message(error, target))
        if isinstance(raised, Stalled):
            ctx.status.set(applied_hash=target.desired.hash)  # rejected until the spec changes
        return raised

    async def _mirror(self, pipeline: Pipeline, ctx: Context[Pipeline]) -> RequeueAfter:
        """Copy the state of the server into the status; write nothing to the server."""
        fleet = await self._fleets.get_fleet(pipeline, ctx)
        try:
            remote = await _find_remote(pipeline, fleet)
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        if remote is None:
            text = (
                "the pipeline does not exist on the fleet server; read-only mode does not create it"
            )
            raise Waiting(Reason.READ_ONLY, text, after_s=_MIRROR_S)
        report.set_mirrored(remote, fleet, ctx)
        return RequeueAfter(max(_MIRROR_S, fleet.address.interval_s))

    async def forget(self, key: Key) -> None:
        """Drop the state of a deleted object."""
        self._previews.forget(key)
        self._metrics.forget(key)
        self._writes.forget(key)


async def find_set(pipeline: Pipeline, ctx: Context[Any]) -> PipelineSet | None:
    """The set that sends a Pipeline; the first by name if several select it."""
    sets = await ctx.list(PipelineSet, namespace=pipeline.metadata.namespace)
    chosen = [each for each in sets if is_member(pipeline, each) and not each.is_deleting]
    return min(chosen, key=lambda each: each.metadata.name, default=None)


def is_member(pipeline: Pipeline, set_: PipelineSet) -> bool:
    """Whether a set sends a Pipeline."""
    selector = set_.spec.selector
    if selector is None or pipeline.is_deleting or is_read_only(pipeline):
        return False
    is_here = pipeline.metadata.namespace == set_.metadata.namespace
    return is_here and selector.matches(pipeline.metadata.labels)


def _hide_message(error: CallFailed | Paused, target: SyncTarget) -> CallFailed | Paused:
    """The same error without the server's message if that may repeat contents of a Secret."""
    if isinstance(error, Paused) or not target.is_secret:
        return error
    return hide_message(error, target.contents.origin if target.contents.is_secret else "a Secret")


def _check_refused_name(target: SyncTarget) -> None:
    """Stall without a call if the name was refused before and still belongs to another owner."""
    condition = report.get_current_condition(target.pipeline, SYNCED)
    if (
        condition is None
        or condition.reason != Reason.ADOPTION_REFUSED
        or not target.fleet.view.is_complete
    ):
        return
    remote = target.fleet.view.find_by_name(target.desired.name)
    if remote is not None and not plan.may_adopt(target.pipeline, remote):
        raise Stalled(Reason.ADOPTION_REFUSED, condition.message)


def get_known(pipeline: Pipeline, fleet: Fleet) -> plan.Known:
    """What is known of a pipeline on its server, without a call."""
    view, identity = fleet.view, pipeline.status.id
    remote = view.get(identity)
    if not identity:
        name, owned = choose_name(pipeline), view.list_owned_by(pipeline.metadata.uid)
        remote = next((each for each in owned if each.name == name), None)
    answer = view.get_answer(remote.id) if remote is not None else None
    return plan.Known(is_complete=view.is_complete, remote=remote, answer=answer)


def is_read_only(pipeline: Pipeline) -> bool:
    """Whether an object is read-only: by annotation, or because Grafana owns the pipeline."""
    if get_annotation(pipeline.metadata.annotations, IMPORT_MODE) == "read-only":
        return True
    return pipeline.spec.source is not None and pipeline.spec.source.type == "Grafana"


def get_annotation(annotations: Mapping[str, str], name: str) -> str:
    """The value of an annotation."""
    return annotations.get(name, "").strip().lower()


async def _find_remote(pipeline: Pipeline, fleet: Fleet) -> Remote | None:
    identity = pipeline.metadata.annotations.get(PIPELINE_ID, "")
    name = choose_name(pipeline)
    if fleet.view.is_complete:
        return fleet.view.get(identity) if identity else fleet.view.find_by_name(name)
    return await fleet.api.get(identity) if identity else await fleet.api.find(name)
