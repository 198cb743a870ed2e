"""Endpoints of a cluster's contents: nodes, operators, namespaces, events."""

from collections import Counter
from typing import Annotated, Any

import msgspec

from quarterdeck.inventory.access.filters import Item
from quarterdeck.inventory.access.viewer import ClusterAccess
from quarterdeck.services.hub import views
from quarterdeck.services.hub.call import Call, Page
from quarterdeck.services.hub.endpoints.clusters import require_cluster
from quarterdeck.services.hub.errors import AccessDenied, NotFound
from quarterdeck.services.hub.paging import Paging, slice_page
from quarterdeck.services.hub.reading import HubReader

NODE_POINTS = 100
KINDS = ("pods", "deployments", "services", "statefulsets", "daemonsets")


class NodeParameters(Paging, frozen=True, kw_only=True):
    """Filters of nodes."""

    role: str = ""
    status: str = ""


class NodeDetailParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What to show of a node."""

    include_metrics: bool = False


class OperatorParameters(Paging, frozen=True, kw_only=True):
    """Filters of operators."""

    namespace: str = ""
    status: str = ""


class NamespaceParameters(Paging, frozen=True, kw_only=True):
    """What to count in each namespace."""

    with_operator_count: bool = False
    with_resource_counts: bool = False


class EventParameters(Paging, frozen=True, kw_only=True):
    """The number of events."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class NamespaceItem(msgspec.Struct, frozen=True, kw_only=True):
    """A namespace with the number of its operators and objects."""

    name: str
    operator_count: int | msgspec.UnsetType = msgspec.UNSET
    resource_counts: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    total_resources: int | msgspec.UnsetType = msgspec.UNSET


class ContentEndpoints:
    """Endpoints below /clusters/{name}."""

    def __init__(self, reader: HubReader) -> None:
        self._reader = reader

    async def nodes(self, call: Call) -> Page:
        """Nodes that may be seen."""
        wanted = call.parameters(NodeParameters)
        access = await require_cluster(call, self._reader)
        rows = views.filter_nodes(
            await self._reader.list_nodes(call.values["name"]), access.get_filter("nodes")
        )
        rows = await self._recount_pods(call.values["name"], rows, access)
        if wanted.role:
            rows = [row for row in rows if wanted.role in (row.get("roles") or ())]
        if wanted.status:
            rows = [row for row in rows if row.get("status") == wanted.status]
        return slice_page(rows, wanted)

    async def node(self, call: Call) -> dict[str, Any]:
        """One node, with its newest points if `include_metrics` is set."""
        name, node = call.values["name"], call.values["node"]
        access = await require_cluster(call, self._reader)
        found = await self._reader.get_node(name, node)
        if not access.get_filter("nodes").allows(
            views.build_node_item(found) if found is not None else Item(name=node)
        ):
            raise AccessDenied(f"Access denied to node '{node}'")
        if found is None:
            raise NotFound(f"Node '{node}' not found")
        (row,) = await self._recount_pods(name, [found], access)
        answer = dict(row)
        if call.parameters(NodeDetailParameters).include_metrics:
            if not access.view_metrics:
                raise AccessDenied(f"Access denied to metrics of cluster '{name}'")
            points = await self._reader.get_node_points(name, node, NODE_POINTS)
            is_open = not views.hides_pods(access)
            answer["metrics_history"] = points if is_open else views.drop_pod_counts(points)
        answer["current_conditions"] = await self._reader.get_node_conditions(name, node)
        return answer

    async def operators(self, call: Call) -> Page:
        """Operators that may be seen."""
        wanted = call.parameters(OperatorParameters)
        access = await require_cluster(call, self._reader)
        rows = await self._list_operators(call.values["name"], access)
        if wanted.namespace:
            rows = [row for row in rows if _serves(row, wanted.namespace)]
        if wanted.status:
            rows = [row for row in rows if row.get("status") == wanted.status]
        return slice_page(rows, wanted)

    async def namespaces(self, call: Call) -> Page:
        """Namespaces that may be seen: their names, or items with counts."""
        wanted = call.parameters(NamespaceParameters)
        access = await require_cluster(call, self._reader)
        names = await self._list_namespaces(call.values["name"], access)
        if not (wanted.with_operator_count or wanted.with_resource_counts):
            return slice_page(names, wanted)
        page = slice_page(names, wanted)
        items = await self._count(call.values["name"], page.items, access=access, wanted=wanted)
        return msgspec.structs.replace(page, items=items)

    async def events(self, call: Call) -> Page:
        """Events of a cluster, newest first."""
        wanted = call.parameters(EventParameters)
        access = await require_cluster(call, self._reader)
        found = await self._reader.list_events(call.values["name"], wanted.limit)
        shown = [
            each
            for each in found
            if isinstance(each, dict) and views.allows_event(str(each.get("type", "")), access)
        ]
        return slice_page(shown, wanted)

    async def _recount_pods(
        self, name: str, rows: list[views.Row], access: ClusterAccess
    ) -> list[views.Row]:
        """Nodes that count only the pods that may be seen."""
        if not views.hides_pods(access):
            return rows
        namespaces = set(await self._list_namespaces(name, access))
        pods = views.filter_pods(await self._reader.get_rows(name, "pods"), access, namespaces)
        return views.recount_node_pods(rows, pods)

    async def _list_operators(self, name: str, access: ClusterAccess) -> list[views.Row]:
        rows = await self._reader.get_rows(name, "operators")
        return views.filter_operators(rows, access.get_filter("operators"))

    async def _list_namespaces(self, name: str, access: ClusterAccess) -> list[str]:
        names = await self._reader.list_namespaces(name)
        return views.filter_namespaces(names, access.get_filter("namespaces"))

    async def _count(
        self,
        name: str,
        namespaces: list[str],
        *,
        access: ClusterAccess,
        wanted: NamespaceParameters,
    ) -> list[NamespaceItem]:
        operators = await self._list_operators(name, access) if wanted.with_operator_count else []
        counts: dict[str, Counter[str]] = {}
        if wanted.with_resource_counts:
            for kind in KINDS:
                rows: list[Any] = await self._reader.get_rows(name, kind)
                if kind == "pods":
                    rows = views.filter_objects(rows, access.get_filter("pods"))
                counts[kind] = views.count_by_namespace(rows)
        return [_build_namespace_item(each, operators, counts, wanted) for each in namespaces]


def _build_namespace_item(
    name: str,
    operators: list[views.Row],
    counts: dict[str, Counter[str]],
    wanted: NamespaceParameters,
) -> NamespaceItem:
    item = NamespaceItem(name=name)
    if wanted.with_operator_count:
        served = sum(_serves(row, name) for row in operators)
        item = msgspec.structs.replace(item, operator_count=served)
    if wanted.with_resource_counts:
        numbers = {kind: found[name] for kind, found in counts.items()}
        item = msgspec.structs.replace(
            item, resource_counts=numbers, total_resources=sum(numbers.values())
        )
    return item


def _serves(row: views.Row, namespace: str) -> bool:
    reach = views.build_operator_item(row).namespaces
    return namespace in reach or "*" in reach
