"""Objects and aggregations of MetricSources."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from quarterdeck.engine.results import AggregationValue, Resource
from quarterdeck.hubstate.readers import StoredCollection, read_collection
from quarterdeck.inventory.access.filters import Item
from quarterdeck.inventory.access.viewer import CustomAccess, Viewer
from quarterdeck.kit.clock import Clock
from quarterdeck.services.hub.call import Call, Page
from quarterdeck.services.hub.catalog import Catalog, KnownSource
from quarterdeck.services.hub.endpoints.clusters import require_cluster
from quarterdeck.services.hub.errors import AccessDenied, BadRequest, NotFound
from quarterdeck.services.hub.paging import MAX_SIZE, PageNumber, Paging, slice_page
from quarterdeck.services.hub.reading import HubReader
from quarterdeck.services.hub.sorting import sort_rows

NOTE = "Some resources are hidden by access policies"


class CustomParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects, in which order."""

    namespace: str = ""
    sort_by: str = ""
    sort_order: Literal["asc", "desc"] = "asc"
    page: PageNumber = 1
    page_size: Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE)] = 100
    include_aggregations: bool = True


class TypesParameters(Paging, frozen=True, kw_only=True):
    """What to show of each type."""

    include_source_details: bool = False
    include_cluster_availability: bool = False


class CountsParameters(Paging, frozen=True, kw_only=True):
    """Which types on which clusters."""

    type: Annotated[
        tuple[str, ...],
        msgspec.Meta(extra_json_schema={"minItems": 1, "x-required": True}),
    ] = ()
    clusters: tuple[str, ...] = ()
    include_aggregations: bool = False


class Pagination(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The position of a page in its list."""

    total: int
    page: int
    page_size: int
    total_pages: int
    has_next: bool
    has_previous: bool


class CustomResources(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Objects of one type on one cluster."""

    resource_type_name: str
    cluster: str
    items: list[Resource]
    filtered: bool
    filter_note: str | msgspec.UnsetType = msgspec.UNSET
    collected_at: str | msgspec.UnsetType = msgspec.UNSET
    truncated: bool | msgspec.UnsetType = msgspec.UNSET
    aggregations: Mapping[str, AggregationValue] | msgspec.UnsetType = msgspec.UNSET
    pagination: Pagination


class CustomType(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A type of a MetricSource."""

    resource_type_name: str
    source_id: str
    source: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    fields: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    computed_fields: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    aggregations: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    clusters_with_data: list[str] | msgspec.UnsetType = msgspec.UNSET


class CustomCount(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many objects of a type a cluster has."""

    cluster: str
    resource_type_name: str
    count: int
    last_collection: str | msgspec.UnsetType = msgspec.UNSET
    aggregations: Mapping[str, AggregationValue] | msgspec.UnsetType = msgspec.UNSET


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a viewer may see of a collection."""

    rows: list[Resource]
    is_filtered: bool
    aggregations: dict[str, AggregationValue] | None
    """None if the viewer may not see metrics."""


class CustomEndpoints:
    """Endpoints of custom types."""

    def __init__(self, reader: HubReader, catalog: Catalog, *, clock: Clock) -> None:
        self._reader = reader
        self._catalog = catalog
        self._clock = clock

    async def resources(self, call: Call) -> CustomResources:
        """Objects of one type on one cluster."""
        wanted, name, type_ = (
            call.parameters(CustomParameters),
            call.values["name"],
            call.values["type"],
        )
        await require_cluster(call, self._reader)
        labels = await self._reader.get_cluster_labels(name) or {}
        access = call.viewer.decide_type(name, labels, type_)
        if access is None:
            raise AccessDenied(f"Access denied to resource type '{type_}'")
        source = await self._catalog.find(type_) if "/" not in type_ else None
        if source is None:
            raise NotFound(f"Resource type '{type_}' not found")
        found = await read_collection(self._reader.state, name, source.id, clock=self._clock)
        if found is None:
            return _build(wanted, name, type_, Seen(rows=[], is_filtered=False, aggregations=None))
        seen = self.restrict(source, found, access)
        answer = _build(wanted, name, type_, seen)
        return msgspec.structs.replace(
            answer,
            collected_at=found.resources.collected_at,
            truncated=found.resources.truncated,
        )

    async def types(self, call: Call) -> Page:
        """Types that may be seen on at least one cluster."""
        wanted = call.parameters(TypesParameters)
        visible = await self._list_visible_clusters(call.viewer)
        found = []
        for source in await self._catalog.list():
            clusters = [
                name
                for name, labels in visible.items()
                if call.viewer.decide_type(name, labels, source.type) is not None
            ]
            if clusters or call.viewer.principal.is_master:
                found.append((source, clusters))
        page = slice_page(found, wanted)
        items = [await self._describe(*each, wanted=wanted) for each in page.items]
        return msgspec.structs.replace(page, items=items)

    async def counts(self, call: Call) -> Page:
        """How many objects of some types clusters have."""
        wanted = call.parameters(CountsParameters)
        if not wanted.type:
            raise BadRequest("at least one type parameter is required")
        visible = await self._list_visible_clusters(call.viewer)
        found = []
        for type_ in dict.fromkeys(wanted.type):
            source = await self._catalog.find(type_) if "/" not in type_ else None
            for name, labels in visible.items() if source is not None else ():
                access = call.viewer.decide_type(name, labels, type_)
                if access is not None and (not wanted.clusters or name in wanted.clusters):
                    assert source is not None
                    found.append((source, name, access))
        page = slice_page(found, wanted)
        counted = [await self._count(*each, wanted=wanted) for each in page.items]
        return msgspec.structs.replace(page, items=[each for each in counted if each is not None])

    def restrict(self, source: KnownSource, found: StoredCollection, access: CustomAccess) -> Seen:
        """Rows that may be seen, and aggregations over exactly them."""
        every = found.resources.resources
        rows = every
        if not access.filter.is_open:
            rows = [row for row in every if access.filter.allows(_build_item(row))]
        is_filtered = len(rows) != len(every)
        if not access.shows_aggregations:
            return Seen(rows=rows, is_filtered=is_filtered, aggregations=None)
        values: Mapping[str, AggregationValue] = found.aggregations.values
        if is_filtered and source.filters_aggregations:
            compiled = self._catalog.compile(source)
            values = compiled.aggregate(rows) if compiled is not None else {}
        shown = {
            name: value for name, value in values.items() if access.filter.shows_aggregation(name)
        }
        return Seen(rows=rows, is_filtered=is_filtered, aggregations=shown)

    async def _list_visible_clusters(self, viewer: Viewer) -> dict[str, dict[str, str]]:
        """Labels of the clusters that may be seen, by name."""
        labels = await self._reader.get_labels(await self._reader.list_clusters())
        return {
            name: each
            for name, each in labels.items()
            if viewer.decide_cluster(name, each).is_visible
        }

    async def _describe(
        self, source: KnownSource, clusters: Sequence[str], *, wanted: TypesParameters
    ) -> CustomType:
        item = CustomType(resource_type_name=source.type, source_id=source.id)
        given = source.definition
        if wanted.include_source_details:
            item = msgspec.structs.replace(
                item,
                source=given.get("source") or {},
                fields=given.get("fields") or [],
                computed_fields=given.get("computed") or [],
                aggregations=given.get("aggregations") or [],
            )
        if wanted.include_cluster_availability:
            with_data = [
                name
                for name in clusters
                if await self._reader.get_part(name, f"custom:{source.id}:meta") is not None
            ]
            item = msgspec.structs.replace(item, clusters_with_data=with_data)
        return item

    async def _count(
        self, source: KnownSource, name: str, access: CustomAccess, *, wanted: CountsParameters
    ) -> CustomCount | None:
        found = await read_collection(self._reader.state, name, source.id, clock=self._clock)
        if found is None:
            return None
        seen = self.restrict(source, found, access)
        item = CustomCount(
            cluster=name,
            resource_type_name=source.type,
            count=len(seen.rows),
            last_collection=found.meta.last_collection_time,
        )
        if wanted.include_aggregations and seen.aggregations is not None:
            item = msgspec.structs.replace(item, aggregations=seen.aggregations)
        return item


def _build_item(row: Resource) -> Item:
    namespaces = (row.namespace,) if row.namespace else ()
    return Item(name=row.name, namespaces=namespaces, labels=row.labels, values=row.values)


def _build(wanted: CustomParameters, cluster: str, type_: str, seen: Seen) -> CustomResources:
    rows = seen.rows
    if wanted.namespace:
        rows = [row for row in rows if row.namespace == wanted.namespace]
    if wanted.sort_by:
        rows = sort_rows(rows, wanted.sort_by, is_descending=wanted.sort_order == "desc")
    size, total = wanted.page_size, len(rows)
    pages = max(1, -(-total // size))
    start = (wanted.page - 1) * size
    answer = CustomResources(
        resource_type_name=type_,
        cluster=cluster,
        items=rows[start : start + size],
        filtered=seen.is_filtered,
        pagination=Pagination(
            total=total,
            page=wanted.page,
            page_size=size,
            total_pages=pages,
            has_next=wanted.page < pages,
            has_previous=wanted.page > 1,
        ),
    )
    if seen.is_filtered:
        answer = msgspec.structs.replace(answer, filter_note=NOTE)
    if wanted.include_aggregations and seen.aggregations is not None:
        answer = msgspec.structs.replace(answer, aggregations=seen.aggregations)
    return answer
