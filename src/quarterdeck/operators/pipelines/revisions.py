"""PipelineRevisions: the history of a pipeline on its server as objects, and rollbacks to it."""

from collections.abc import Sequence

from quarterdeck.apis.core.config import Namespace
from quarterdeck.apis.fleetmanagement.names import PIPELINE_LABEL
from quarterdeck.apis.fleetmanagement.pipeline_revision import PipelineRevisionSpec
from quarterdeck.apis.fleetmanagement.v1alpha1 import Pipeline, PipelineRevision, TenantPolicy
from quarterdeck.meta.name_truncation import shorten_name
from quarterdeck.meta.names import SUBDOMAIN_LIMIT
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.pipelines import tenancy
from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.desired import Desired, may_be_secret, with_hash
from quarterdeck.operators.pipelines.labels import cut_to_label
from quarterdeck.operators.pipelines.ports import CallFailed, RemoteRevision
from quarterdeck.operators.pipelines.sync_target import SyncTarget
from quarterdeck.runtime import Context, Stalled, Waiting
from quarterdeck.telemetry import contents as checks
from quarterdeck.telemetry.candidates import digest_contents
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import select_errors
from quarterdeck.telemetry.fleet.codes import Code


async def ensure_revisions(target: SyncTarget, ctx: Context[Pipeline]) -> None:
    """Create an object for each of the newest revisions, and delete the objects of older ones.

    No call is made: the write, or the sweep, has read the revisions, without contents. The
    contents of the newest one are known; a rollback to an older one reads them from the server.
    """
    limit, view = target.pipeline.spec.revision_history_limit, target.fleet.view
    identity = ctx.status.current.id
    existing = await ctx.list_owned(PipelineRevision)
    known = {each.spec.revision_id: each for each in existing}
    current, newest = view.get(identity), view.get_revision(identity)
    for revision in list(view.get_history(identity))[-limit:] if limit else ():
        if revision.id in known:
            continue
        if revision.id == newest and current is not None:
            revision = revision._replace(snapshot=current)
        is_secret = may_be_secret(target.pipeline, target.desired, revision.snapshot)
        built = build_revision(target.pipeline, revision, is_secret=is_secret)
        known[revision.id] = await ctx.apply(built)
    for surplus in sorted(known.values(), key=_build_sort_key)[: max(0, len(known) - limit)]:
        await ctx.delete(surplus)


async def _list_revisions(target: SyncTarget, identity: str) -> Sequence[RemoteRevision]:
    try:
        return await target.fleet.api.list_revisions(identity)
    except CallFailed as error:
        if error.code in (Code.NOT_FOUND, Code.UNIMPLEMENTED):
            return ()
        raise


def _build_sort_key(revision: PipelineRevision) -> tuple[str, int, str]:
    identity = revision.spec.revision_id
    return (revision.spec.created_at, int(identity) if identity.isdecimal() else 0, identity)


def build_revision(
    pipeline: Pipeline, revision: RemoteRevision, *, is_secret: bool
) -> PipelineRevision:
    """Build the object of a revision, without contents that are secret."""
    snapshot = revision.snapshot
    operation = revision.operation.capitalize()
    if operation not in ("Insert", "Update", "Delete"):
        operation = "Unspecified"
    name = f"{pipeline.metadata.name}-{revision.id.lower()}"
    return PipelineRevision(
        metadata=ObjectMeta(
            name=shorten_name(name, SUBDOMAIN_LIMIT, salt=name),
            namespace=pipeline.metadata.namespace,
            labels={PIPELINE_LABEL: cut_to_label(pipeline.metadata.name)},
        ),
        spec=PipelineRevisionSpec(
            pipeline=pipeline.metadata.name,
            revision_id=revision.id,
            pipeline_id=snapshot.id,
            operation=operation,  # type: ignore[arg-type]
            created_at=revision.created_at,
            snapshot_hash=digest_contents(snapshot.contents) if snapshot.contents else "",
            contents="" if is_secret else snapshot.contents,
            matchers=snapshot.matchers,
            enabled=snapshot.enabled,
        ),
    )


async def roll_back(target: SyncTarget, ctx: Context[Pipeline]) -> SyncTarget:
    """The target with the configuration of `spec.rollbackTo` instead of the contents.

    Raises:
        Stalled: if there is no such revision.
        Waiting: if a TenantPolicy does not allow its matchers.
        CallFailed, Paused: if the server cannot be read.
    """
    wanted = target.pipeline.spec.rollback_to
    if not wanted:
        ctx.status.set(rolled_back_to="")
        return target
    desired = await _find_revision(target, wanted, ctx)
    if desired is None:
        raise Stalled(
            Reason.REVISION_NOT_FOUND,
            f"spec.rollbackTo: revision {wanted!r} is not among the revisions of this pipeline",
        )
    await _check_tenant(target, desired, ctx)
    ctx.status.set(rolled_back_to=wanted)
    return target._replace(desired=with_hash(desired, target.fleet.address.url))


async def _check_tenant(target: SyncTarget, desired: Desired, ctx: Context[Pipeline]) -> None:
    """Refuse a revision that would reach collectors that a TenantPolicy keeps the spec from.

    Admission sees only the spec's own matchers, and a revision is older than the policy, or
    written by anybody who may create PipelineRevisions.

    Raises:
        Waiting: until the policies or the labels of the namespace allow it.
    """
    pipeline = target.pipeline
    policies = await ctx.list(TenantPolicy)
    if not policies:
        return
    namespace = await ctx.find(Namespace, pipeline.metadata.namespace, "")
    labels = namespace.metadata.labels if namespace is not None else {}
    widened = tenancy.list_widened(
        policies, labels, before=pipeline.spec.matchers, after=desired.matchers
    )
    if widened:
        raise Waiting(
            Reason.VALIDATION_ERROR,
            f"spec.rollbackTo: the matchers of revision {pipeline.spec.rollback_to!r} have none of "
            f"those that TenantPolicy {', '.join(widened)} requires: set contents and matchers in "
            "the spec instead",
            after_s=target.fleet.address.interval_s,
        )


async def _find_revision(target: SyncTarget, wanted: str, ctx: Context[Pipeline]) -> Desired | None:
    for each in await ctx.list_owned(PipelineRevision):
        if each.spec.revision_id != wanted or not each.spec.contents:
            continue
        if await _is_of_language(each.spec.contents, target.pipeline):
            return target.desired._replace(
                contents=each.spec.contents,
                matchers=each.spec.matchers,
                enabled=each.spec.enabled,
                is_secret=False,
            )
    if not target.pipeline.status.id:
        return None
    for revision in await _list_revisions(target, target.pipeline.status.id):
        if revision.id == wanted and revision.snapshot.contents:
            snapshot = revision.snapshot
            return target.desired._replace(
                contents=snapshot.contents,
                matchers=snapshot.matchers,
                enabled=snapshot.enabled,
                config_type=snapshot.config_type,
                is_secret=may_be_secret(target.pipeline, target.desired, snapshot),
            )
    return None


async def _is_of_language(contents: str, pipeline: Pipeline) -> bool:
    """Whether contents of an object fit the spec; objects of revisions do not have a language."""
    language = ConfigType(pipeline.spec.config_type)
    await checks.check_in_thread(contents, language)
    return not select_errors(checks.check(contents, language))
