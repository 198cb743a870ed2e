"""Creates, updates, marks as stale and deletes the objects of a discovery: its mirrors."""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from quarterdeck.apis.fleetmanagement import names
from quarterdeck.apis.fleetmanagement.discovery import Conflict
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    Pipeline,
    PipelineDiscovery,
)
from quarterdeck.kit import json
from quarterdeck.meta.objects import Object, decode
from quarterdeck.operators.pipelines import importer
from quarterdeck.operators.pipelines.desired import GRAFANA
from quarterdeck.operators.pipelines.failures import to_reconcile_error
from quarterdeck.operators.pipelines.labels import cut_to_label
from quarterdeck.operators.pipelines.ports import CallFailed, Paused, Remote, RemoteCollector
from quarterdeck.operators.pipelines.removal import Removal
from quarterdeck.runtime import Context
from quarterdeck.wire.status import BadRequest, Forbidden, Invalid, RequestEntityTooLarge

_REFUSALS = (BadRequest, Forbidden, Invalid, RequestEntityTooLarge)
_OPTIONAL_FIELDS = ("source", "connectionRef")
"""Fields of a spec that a manifest leaves out if they have no value."""
MAX_MESSAGE = 1024
"""Maximum number of characters of one refusal."""
K = TypeVar("K", bound=Object)


class Marks(NamedTuple):
    """Labels and annotations of the mirrors of one kind of discovery."""

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
    """The desired object for one pipeline or collector on the server."""

    identity: str
    manifest: dict[str, Any]
    is_followed: bool
    """Whether the object's spec is updated when the server changes."""


class Outcome(NamedTuple):
    """The result of applying mirrors."""

    managed: int
    stale: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    refused: tuple[str, ...] = ()
    """Why the API server refused some of the objects, one text each."""


def mirror_pipeline(remote: Remote, discovery: PipelineDiscovery) -> Mirror:
    """The Pipeline for a pipeline of the server; Grafana's own are read-only."""
    is_read_only = discovery.spec.import_mode == "ReadOnly" or (remote.source_type == GRAFANA)
    manifest = importer.build_manifest(
        remote, namespace=_get_target(discovery), read_only=is_read_only
    )
    if discovery.spec.connection_ref is not None:
        manifest["spec"]["connectionRef"] = {"name": discovery.spec.connection_ref.name}
    _mark(manifest, remote.id, discovery, PIPELINE_MARKS)
    return Mirror(remote.id, manifest, is_followed=is_read_only)


def mirror_collector(remote: RemoteCollector, discovery: CollectorDiscovery) -> Mirror:
    """The Collector for a collector of the server."""
    manifest: dict[str, Any] = {
        "apiVersion": Collector.KIND.api_version,
        "kind": "Collector",
        "metadata": {
            "name": importer.build_object_name(remote.id),
            "namespace": _get_target(discovery),
        },
        "spec": {"id": remote.id},
    }
    if discovery.spec.connection_ref is not None:
        manifest["spec"]["connectionRef"] = {"name": discovery.spec.connection_ref.name}
    _mark(manifest, remote.id, discovery, COLLECTOR_MARKS)
    return Mirror(remote.id, manifest, is_followed=False)


def _get_target(discovery: PipelineDiscovery | CollectorDiscovery) -> str:
    return discovery.spec.target_namespace or discovery.metadata.namespace


def _mark(manifest: dict[str, Any], identity: str, discovery: Object, marks: Marks) -> None:
    metadata = manifest["metadata"]
    metadata["labels"] = {
        marks.name: cut_to_label(discovery.metadata.name),
        marks.namespace: discovery.metadata.namespace,
    }
    annotations = metadata.setdefault("annotations", {})
    annotations[marks.by] = str(discovery.key)
    annotations[marks.identity] = identity


async def list_mirrors(
    kind: type[K], discovery: PipelineDiscovery | CollectorDiscovery, ctx: Context[Any]
) -> dict[str, K]:
    """The mirrors of a discovery by their name."""
    marks = PIPELINE_MARKS if isinstance(discovery, PipelineDiscovery) else COLLECTOR_MARKS
    listed = await ctx.list(kind, namespace=_get_target(discovery))
    by = str(discovery.key)
    return {
        each.metadata.name: each for each in listed if each.metadata.annotations.get(marks.by) == by
    }


async def apply_mirrors(
    kind: type[K],
    mirrors: Iterable[Mirror],
    discovery: PipelineDiscovery | CollectorDiscovery,
    ctx: Context[Any],
    *,
    removal: Removal,
) -> Outcome:
    """Create missing mirrors, update read-only ones, and delete or mark stale ones.

    A mirror that the API server refuses, as a server may have what an object may not, does not keep
    the others from being applied.

    Raises:
        Waiting, Unavailable: if the server cannot confirm that something was deleted.
    """
    marks = PIPELINE_MARKS if isinstance(discovery, PipelineDiscovery) else COLLECTOR_MARKS
    ours = await list_mirrors(kind, discovery, ctx)
    taken = {
        each.metadata.name: each for each in await ctx.list(kind, namespace=_get_target(discovery))
    }
    conflicts, refused, current = [], [], set()
    for mirror in mirrors:
        name = mirror.manifest["metadata"]["name"]
        if name in taken and name not in ours:
            conflicts.append(_build_conflict(mirror, taken[name], marks))
            continue
        try:
            if name not in ours:
                await ctx.create(decode(kind, json.encode(mirror.manifest)), owned=False)
            elif mirror.is_followed or marks.stale in ours[name].metadata.annotations:
                await _follow(kind, ours[name], mirror, marks, ctx)
        except _REFUSALS as error:
            refused.append(str(error)[:MAX_MESSAGE])
            if name not in ours:
                continue
        current.add(name)
    stale = [
        name
        for name in sorted(ours.keys() - current)
        if await _retire(ours[name], marks, ctx, removal=removal)
    ]
    return Outcome(len(current), tuple(stale), tuple(conflicts), tuple(refused))


async def _follow(
    kind: type[K], existing: K, mirror: Mirror, marks: Marks, ctx: Context[Any]
) -> None:
    """Update the spec of a read-only mirror, and remove the stale annotation."""
    patch: dict[str, Any] = {}
    if marks.stale in existing.metadata.annotations:
        patch["metadata"] = {"annotations": {marks.stale: None}}
    wanted = decode(kind, json.encode(mirror.manifest))
    if mirror.is_followed and _get_spec(existing) != _get_spec(wanted):
        patch["spec"] = _build_spec_patch(mirror.manifest["spec"])
    await ctx.api.merge(kind, existing.key, patch)


def _build_spec_patch(spec: dict[str, Any]) -> dict[str, Any]:
    """A merge patch to this spec: what the server may no longer have is removed by null."""
    patch = dict.fromkeys(_OPTIONAL_FIELDS) | spec
    if source := patch["source"]:
        patch["source"] = {"namespace": None, **source}
    return patch


async def _retire(existing: K, marks: Marks, ctx: Context[Any], *, removal: Removal) -> bool:
    """Delete an object, or mark it as stale; returns whether the object still exists."""
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


def _get_spec(obj: Object) -> Any:
    return getattr(obj, "spec", None)


def _build_conflict(mirror: Mirror, existing: Object, marks: Marks) -> Conflict:
    is_other = marks.by in existing.metadata.annotations
    return Conflict(
        id=mirror.identity,
        cr_name=existing.metadata.name,
        reason="OwnedByOtherDiscovery" if is_other else "NotOwnedByDiscovery",
    )
