"""The reconcilers of PipelineDiscovery and CollectorDiscovery: objects for what a server has.

Mirrors carry labels instead of owner references: deleting a discovery must not delete what it
found. Read-only mirrors follow the server; what was adopted belongs to its author from then on.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from quarterdeck.apis.fleetmanagement import names
from quarterdeck.apis.fleetmanagement.discovery import MAX_CONFLICTS, Conflict
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    Pipeline,
    PipelineDiscovery,
)
from quarterdeck.kit import duration, json, rfc3339
from quarterdeck.meta.conditions import TRUE, find
from quarterdeck.meta.objects import Object, decode
from quarterdeck.operators.pipelines import importer
from quarterdeck.operators.pipelines.attributes import select_collectors
from quarterdeck.operators.pipelines.canary import OWNER_SUFFIX
from quarterdeck.operators.pipelines.conditions import (
    READY,
    SYNCED,
    TRUNCATED_CONFLICTS,
    Reason,
)
from quarterdeck.operators.pipelines.desired import CONFIG_TYPES, GRAFANA
from quarterdeck.operators.pipelines.failures import to_reconcile_error
from quarterdeck.operators.pipelines.fleets import Fleets
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote, RemoteCollector
from quarterdeck.operators.pipelines.removal import (
    Removal,
    confirm_collectors,
    confirm_pipelines,
)
from quarterdeck.runtime import Context, RequeueAfter

MIN_INTERVAL_S = 60.0
K = TypeVar("K", bound=Object)


class Marks(NamedTuple):
    """How mirrors of one kind of discovery are recognized."""

    name: str
    namespace: str
    by: str
    stale: str
    identity: str


PIPELINE_MARKS = Marks(
    names.PIPELINE_DISCOVERY_NAME,
    names.PIPELINE_DISCOVERY_NAMESPACE,
    names.PIPELINE_DISCOVERED_BY,
    names.PIPELINE_STALE,
    names.PIPELINE_ID,
)
COLLECTOR_MARKS = Marks(
    names.DISCOVERY_NAME,
    names.DISCOVERY_NAMESPACE,
    names.DISCOVERED_BY,
    names.COLLECTOR_STALE,
    names.COLLECTOR_ID,
)


class Mirror(NamedTuple):
    """An object to make, or to keep, for something on the server."""

    identity: str
    manifest: dict[str, Any]
    is_followed: bool
    """Whether the object's spec follows the server."""


class Outcome(NamedTuple):
    """What a discovery found."""

    managed: int
    stale: tuple[str, ...]
    conflicts: tuple[Conflict, ...]


class Discoveries:
    """Reconciles both kinds of discovery."""

    def __init__(self, fleets: Fleets) -> None:
        self._fleets = fleets

    async def discover_pipelines(
        self, discovery: PipelineDiscovery, ctx: Context[PipelineDiscovery]
    ) -> RequeueAfter:
        """Make a Pipeline for each pipeline of the server that has none."""
        fleet = await self._fleets.get_fleet(discovery, ctx)
        ctx.status.set(last_sync_time=rfc3339.format_time(ctx.now()))
        try:
            listed = await fleet.api.list()
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        existing = await _list_existing(Pipeline, discovery, ctx)
        managed = {each.metadata.uid for each in await ctx.list(Pipeline)}
        mirrors = [
            _mirror_pipeline(each, discovery)
            for each in listed
            if _is_selected(each, discovery) and _is_free(each, managed, existing)
        ]
        is_deletion = discovery.spec.policy.on_pipeline_removed == "Delete"
        removal = confirm_pipelines(fleet.api, listed, is_deletion=is_deletion)
        outcome = await _apply(Pipeline, mirrors, discovery, ctx, removal=removal)
        ctx.status.set(
            pipelines_observed=len(mirrors),
            pipelines_managed=outcome.managed,
            stale_pipelines=outcome.stale,
        )
        return _finish(outcome, discovery.spec.poll_interval, ctx)

    async def discover_collectors(
        self, discovery: CollectorDiscovery, ctx: Context[CollectorDiscovery]
    ) -> RequeueAfter:
        """Make a Collector for each collector of the server that has none."""
        fleet = await self._fleets.get_fleet(discovery, ctx)
        ctx.status.set(last_sync_time=rfc3339.format_time(ctx.now()))
        try:
            listed = await fleet.agents.list()
        except (CallFailed, Paused) as error:
            raise to_reconcile_error(error) from error
        self._fleets.metrics.set_listed_collectors(ctx.key, len(listed))
        chosen = select_collectors(discovery.spec.selector, listed, empty_selects_all=True)
        if not discovery.spec.include_inactive:
            chosen = [each for each in chosen if not each.marked_inactive_at]
        mirrors = [_mirror_collector(each, discovery) for each in chosen]
        is_deletion = discovery.spec.policy.on_collector_removed == "Delete"
        removal = confirm_collectors(fleet.api, listed, is_deletion=is_deletion)
        outcome = await _apply(Collector, mirrors, discovery, ctx, removal=removal)
        ctx.status.set(
            collectors_observed=len(mirrors),
            collectors_managed=outcome.managed,
            stale_collectors=outcome.stale,
        )
        return _finish(outcome, discovery.spec.poll_interval, ctx)


def _is_selected(remote: Remote, discovery: PipelineDiscovery) -> bool:
    selector = discovery.spec.selector
    wanted = CONFIG_TYPES[selector.config_type] if selector.config_type is not None else ""
    if wanted not in ("", remote.config_type):
        return False
    return selector.enabled is None or selector.enabled is remote.enabled


def _is_free(remote: Remote, managed: set[str], existing: Mapping[str, Pipeline]) -> bool:
    """Whether no other Pipeline of this cluster has written it."""
    mirrors = {each.metadata.uid for each in existing.values()}
    owner = remote.owner.removesuffix(OWNER_SUFFIX)
    return not owner or owner not in managed or remote.owner in mirrors


def _mirror_pipeline(remote: Remote, discovery: PipelineDiscovery) -> Mirror:
    is_read_only = discovery.spec.import_mode == "ReadOnly" or (remote.source_type == GRAFANA)
    manifest = importer.build_manifest(remote, namespace=_target(discovery), read_only=is_read_only)
    if discovery.spec.connection_ref is not None:
        manifest["spec"]["connectionRef"] = {"name": discovery.spec.connection_ref.name}
    _mark(manifest, remote.id, discovery, PIPELINE_MARKS)
    return Mirror(remote.id, manifest, is_followed=is_read_only)


def _mirror_collector(remote: RemoteCollector, discovery: CollectorDiscovery) -> Mirror:
    manifest: dict[str, Any] = {
        "apiVersion": Collector.KIND.api_version,
        "kind": "Collector",
        "metadata": {"name": importer.object_name(remote.id), "namespace": _target(discovery)},
        "spec": {"id": remote.id},
    }
    if discovery.spec.connection_ref is not None:
        manifest["spec"]["connectionRef"] = {"name": discovery.spec.connection_ref.name}
    _mark(manifest, remote.id, discovery, COLLECTOR_MARKS)
    return Mirror(remote.id, manifest, is_followed=False)


def _target(discovery: PipelineDiscovery | CollectorDiscovery) -> str:
    return discovery.spec.target_namespace or discovery.metadata.namespace


def _mark(manifest: dict[str, Any], identity: str, discovery: Object, marks: Marks) -> None:
    metadata = manifest["metadata"]
    metadata["labels"] = {
        marks.name: discovery.metadata.name[:63],
        marks.namespace: discovery.metadata.namespace,
    }
    annotations = metadata.setdefault("annotations", {})
    annotations[marks.by] = str(discovery.key)
    annotations[marks.identity] = identity


async def _list_existing(
    kind: type[K], discovery: PipelineDiscovery | CollectorDiscovery, ctx: Context[Any]
) -> dict[str, K]:
    """The mirrors of a discovery by their name."""
    marks = PIPELINE_MARKS if isinstance(discovery, PipelineDiscovery) else COLLECTOR_MARKS
    listed = await ctx.list(kind, namespace=_target(discovery))
    by = str(discovery.key)
    return {
        each.metadata.name: each for each in listed if each.metadata.annotations.get(marks.by) == by
    }


async def _apply(
    kind: type[K],
    mirrors: Iterable[Mirror],
    discovery: PipelineDiscovery | CollectorDiscovery,
    ctx: Context[Any],
    *,
    removal: Removal,
) -> Outcome:
    """Make what is missing, follow what is a mirror, and mark or delete what is stale.

    Raises:
        Waiting, Unavailable: if the server does not say whether something has left it.
    """
    marks = PIPELINE_MARKS if isinstance(discovery, PipelineDiscovery) else COLLECTOR_MARKS
    ours = await _list_existing(kind, discovery, ctx)
    taken = {
        each.metadata.name: each for each in await ctx.list(kind, namespace=_target(discovery))
    }
    conflicts, current = [], set()
    for mirror in mirrors:
        name = mirror.manifest["metadata"]["name"]
        if name in taken and name not in ours:
            conflicts.append(_conflict(mirror, taken[name], marks))
            continue
        current.add(name)
        if name not in ours:
            await ctx.create(decode(kind, json.encode(mirror.manifest)), owned=False)
        elif mirror.is_followed or marks.stale in ours[name].metadata.annotations:
            await _follow(kind, ours[name], mirror, marks, ctx)
    stale = [
        name
        for name in sorted(ours.keys() - current)
        if await _retire(ours[name], marks, ctx, removal=removal)
    ]
    return Outcome(len(current), tuple(stale), tuple(conflicts))


async def _follow(
    kind: type[K], existing: K, mirror: Mirror, marks: Marks, ctx: Context[Any]
) -> None:
    """Bring a mirror to what the server has, and take the mark of a stale one off."""
    patch: dict[str, Any] = {}
    if marks.stale in existing.metadata.annotations:
        patch["metadata"] = {"annotations": {marks.stale: None}}
    wanted = decode(kind, json.encode(mirror.manifest))
    if mirror.is_followed and _spec(existing) != _spec(wanted):
        patch["spec"] = mirror.manifest["spec"]
    await ctx.api.merge(kind, existing.key, patch)


async def _retire(existing: K, marks: Marks, ctx: Context[Any], *, removal: Removal) -> bool:
    """Delete an object, or mark it stale; whether it is kept."""
    identity = existing.metadata.annotations.get(marks.identity, "")
    if isinstance(existing, Pipeline):
        identity = existing.status.id or identity  # of one that was made again
    try:
        if removal.is_deletion and await removal.is_gone(identity):
            await ctx.delete(existing)
            return False
    except (CallFailed, Paused) as error:
        raise to_reconcile_error(error) from error
    if existing.metadata.annotations.get(marks.stale) != "true":
        patch = {"metadata": {"annotations": {marks.stale: "true"}}}
        await ctx.api.merge(type(existing), existing.key, patch)
    return True


def _spec(obj: Object) -> Any:
    return getattr(obj, "spec", None)


def _conflict(mirror: Mirror, existing: Object, marks: Marks) -> Conflict:
    is_other = marks.by in existing.metadata.annotations
    return Conflict(
        id=mirror.identity,
        cr_name=existing.metadata.name,
        reason="OwnedByOtherDiscovery" if is_other else "NotOwnedByDiscovery",
    )


def _finish(outcome: Outcome, interval: str, ctx: Context[Any]) -> RequeueAfter:
    ctx.status.set(
        last_success_time=rfc3339.format_time(ctx.now()),
        conflicts=outcome.conflicts[:MAX_CONFLICTS],
    )
    text = f"{outcome.managed} objects, {len(outcome.conflicts)} conflicts"
    ctx.status.set_condition(READY, TRUE, Reason.SYNCED, text)
    ctx.status.set_condition(SYNCED, TRUE, Reason.SYNCED, text)
    if len(outcome.conflicts) > MAX_CONFLICTS:
        text = f"status lists {MAX_CONFLICTS} of {len(outcome.conflicts)} conflicts"
        ctx.status.set_condition(TRUNCATED_CONFLICTS, TRUE, Reason.TRUNCATED, text)
    elif find(ctx.status.conditions, TRUNCATED_CONFLICTS) is not None:
        ctx.status.remove_condition(TRUNCATED_CONFLICTS)
    return RequeueAfter(max(MIN_INTERVAL_S, duration.parse(interval) / 1e9))
