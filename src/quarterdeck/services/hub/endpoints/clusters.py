"""Clusters: the list, one of them, and its totals for a viewer."""

from collections import OrderedDict
from typing import Any

import msgspec

from quarterdeck.inventory.access.program import RuleProgram
from quarterdeck.inventory.access.viewer import ClusterAccess
from quarterdeck.kit import json
from quarterdeck.services.hub import views
from quarterdeck.services.hub.call import Call, Page
from quarterdeck.services.hub.errors import NotFound
from quarterdeck.services.hub.paging import Paging, slice_page
from quarterdeck.services.hub.reading import HubReader, StoredCluster, decode

UNKNOWN_STATUS = msgspec.Raw(b'{"health":"unknown","message":"Status unavailable"}')
NULL = msgspec.Raw(b"null")
MAX_REMEMBERED = 20_000


class ClusterItem(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster of the list; spec, info, metrics and status are as the hub stored them."""

    name: str
    accessible: bool
    spec: msgspec.Raw
    info: msgspec.Raw
    metrics: msgspec.Raw
    status: msgspec.Raw
    operator_count: int


class CollectionState(msgspec.Struct, frozen=True, kw_only=True):
    """When and how short lists of objects were read."""

    enabled: bool
    last_collection: str | None
    collection_time_ms: int
    truncated: bool


class ClusterDetail(ClusterItem, frozen=True, kw_only=True):
    """One cluster."""

    resource_collection: CollectionState | msgspec.UnsetType = msgspec.UNSET


class Totals(msgspec.Struct, frozen=True):
    """The parts of a cluster that depend on what a viewer may see."""

    info: msgspec.Raw
    metrics: msgspec.Raw
    status: msgspec.Raw
    operators: int


class _Remembered(msgspec.Struct, frozen=True):
    """Cached totals for the viewers of one rule, and the version of their input."""

    rule: RuleProgram
    version: tuple[bytes | None, ...]
    totals: Totals


class ClusterEndpoints:
    """Endpoints /clusters and /clusters/{name}."""

    def __init__(self, reader: HubReader) -> None:
        self._reader = reader
        self._remembered: OrderedDict[tuple[str, int], _Remembered] = OrderedDict()

    async def list(self, call: Call) -> Page:
        """Every cluster that may be seen, by name."""
        viewer = call.viewer
        names = await self._reader.list_clusters()
        labels = await self._reader.get_labels(names)
        visible = [
            (name, access)
            for name in names
            if (access := viewer.decide_cluster(name, labels[name])).is_visible
        ]
        page = slice_page(visible, call.parameters(Paging))
        stored = await self._reader.get_clusters([name for name, _ in page.items])
        items = [
            await self._build_item(each, access)
            for each, (_, access) in zip(stored, page.items, strict=True)
        ]
        return Page(items=items, total=page.total, page=page.page, size=page.size)

    async def get(self, call: Call) -> ClusterDetail:
        """One cluster."""
        name = call.values["name"]
        access = await require_cluster(call, self._reader)
        (stored,) = await self._reader.get_clusters([name])
        item = await self._build_item(stored, access)
        info, spec = decode(bytes(item.info)), stored.read("spec")
        if isinstance(spec, dict) and isinstance(info, dict | None):
            filled = {"api_url": spec.get("endpoint", "")} | (info or {})
            item = msgspec.structs.replace(item, info=msgspec.Raw(json.encode(filled)))
        return ClusterDetail(
            **{field: getattr(item, field) for field in ClusterItem.__struct_fields__},
            resource_collection=_build_collection_state(
                await self._reader.get_part(name, "resource_metadata")
            ),
        )

    async def _build_item(self, stored: StoredCluster, access: ClusterAccess) -> ClusterItem:
        totals = await self._read_totals(stored, access)
        return ClusterItem(
            name=stored.name,
            accessible=True,
            spec=_build_raw(stored.parts["spec"]),
            info=totals.info,
            metrics=totals.metrics if access.view_metrics else NULL,
            status=totals.status,
            operator_count=totals.operators,
        )

    async def _read_totals(self, stored: StoredCluster, access: ClusterAccess) -> Totals:
        """Info, metrics, status and number of operators; what restricted viewers may see of them.

        The totals of a rule are cached until the cluster is collected again.
        """
        is_restricted = views.is_restricted(access)
        is_plain = access.get_filter("operators").is_open and not is_restricted
        if access.rule is None or is_plain:
            return Totals(
                info=_build_raw(stored.parts["info"]),
                metrics=_build_raw(stored.parts["metrics"]),
                status=_build_raw(stored.parts["status"], UNKNOWN_STATUS),
                operators=_count_operators(stored),
            )
        key = (stored.name, id(access.rule))
        # status and metrics carry the time of the collection
        version = tuple(stored.parts[each] for each in ("info", "status", "metrics"))
        known = self._remembered.get(key)
        if known is None or known.version != version or known.rule is not access.rule:
            totals = await self._compute(stored, access)
            known = self._remember(key, _Remembered(access.rule, version, totals))
        return known.totals

    async def _compute(self, stored: StoredCluster, access: ClusterAccess) -> Totals:
        metrics = _build_raw(stored.parts["metrics"])
        if views.is_restricted(access):
            metrics = await self._recount(stored, access)
        operators = await self._reader.get_rows(stored.name, "operators")
        info, status = stored.read("info"), stored.read("status")
        if isinstance(info, dict):
            info = views.hide_version_messages(info, access)
        is_known = isinstance(status, dict)
        return Totals(
            info=_encode(info),
            metrics=metrics,
            status=_encode(views.hide_message(status, access)) if is_known else UNKNOWN_STATUS,
            operators=len(views.filter_operators(operators, access.get_filter("operators"))),
        )

    def _remember(self, key: tuple[str, int], value: _Remembered) -> _Remembered:
        self._remembered[key] = value
        self._remembered.move_to_end(key)
        if len(self._remembered) > MAX_REMEMBERED:
            self._remembered.popitem(last=False)
        return value

    async def _recount(self, stored: StoredCluster, access: ClusterAccess) -> msgspec.Raw:
        metrics, name = stored.read("metrics"), stored.name
        if not isinstance(metrics, dict):
            return NULL
        found = views.recount_metrics(
            metrics,
            access,
            nodes=await self._reader.list_nodes(name),
            namespaces=await self._reader.list_namespaces(name),
            pods=await self._reader.get_rows(name, "pods"),
            deployments=await self._reader.get_rows(name, "deployments"),
        )
        return msgspec.Raw(json.encode(found))


async def require_cluster(call: Call, reader: HubReader) -> ClusterAccess:
    """The viewer's access to the cluster in the path.

    Raises:
        AccessDenied: if nothing may be seen.
        NotFound: if the policies would allow it whatever its labels, but it does not exist.
    """
    name = call.values["name"]
    labels = await reader.get_cluster_labels(name)
    access = call.check_cluster(name, labels)
    if labels is None:
        raise NotFound(f"Cluster '{name}' not found")
    return access


def _build_raw(data: bytes | None, absent: msgspec.Raw = NULL) -> msgspec.Raw:
    return msgspec.Raw(data) if data else absent


def _encode(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.encode(value))


def _count_operators(stored: StoredCluster) -> int:
    summary = stored.read("operators_summary")
    total = summary.get("total", 0) if isinstance(summary, dict) else 0
    return total if isinstance(total, int) else 0


def _build_collection_state(found: Any) -> CollectionState | msgspec.UnsetType:
    if not isinstance(found, dict):
        return msgspec.UNSET
    return CollectionState(
        enabled=True,
        last_collection=found.get("timestamp"),
        collection_time_ms=int(found.get("collection_time_ms") or 0),
        truncated=bool(found.get("truncated")),
    )
