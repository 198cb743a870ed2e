"""Endpoints of metrics over time.

Stored numbers cannot be computed again for a restricted viewer, so a metric that counts objects
which the viewer may not see is refused.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from quarterdeck.hubstate import series
from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import History, RangeQuery, Series
from quarterdeck.inventory.access.filters import Item
from quarterdeck.inventory.access.viewer import ClusterAccess
from quarterdeck.services.hub import views
from quarterdeck.services.hub.call import Call
from quarterdeck.services.hub.catalog import Catalog
from quarterdeck.services.hub.endpoints.clusters import require_cluster
from quarterdeck.services.hub.errors import AccessDenied, BackendFailed, BadRequest, NotFound
from quarterdeck.services.hub.ranges import RangeParameters, describe_metrics, read_range
from quarterdeck.services.hub.reading import HubReader

CLUSTER_METRICS = {
    "nodes_total": ("nodes",),
    "nodes_ready": ("nodes",),
    "cpu_capacity": ("nodes",),
    "memory_capacity_bytes": ("nodes",),
    "pods_total": ("pods", "namespaces"),
    "pods_running": ("pods", "namespaces"),
    "namespaces_total": ("namespaces",),
    "deployments_total": ("namespaces",),
    "operators_total": ("operators",),
    "operators_count": ("operators",),
}
"""Metrics of a cluster, and the types that they count."""
_DENIED = "access denied"
_ANY_METRIC: dict[str, Any] = {"minLength": 1, "x-required": True}


class ClusterRange(RangeParameters, frozen=True, kw_only=True):
    """A metric of clusters."""

    metric: Annotated[str, describe_metrics(CLUSTER_METRICS)] = ""


class NodeRange(RangeParameters, frozen=True, kw_only=True):
    """A metric of nodes."""

    metric: Annotated[str, describe_metrics(series.NODE)] = ""


class StateRange(RangeParameters, frozen=True, kw_only=True):
    """A state of operators."""

    metric: Annotated[str, describe_metrics(series.STATES)] = ""


class AggregationRange(RangeParameters, frozen=True, kw_only=True):
    """The name of an aggregation."""

    metric: Annotated[str, msgspec.Meta(extra_json_schema=_ANY_METRIC)] = ""


class FleetRange(ClusterRange, frozen=True, kw_only=True):
    """Which clusters; all that may be seen if left out."""

    cluster: tuple[str, ...] = ()


class Matrix(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Series, as Prometheus writes them."""

    result_type: str = "matrix"
    result: list[dict[str, Any]]


class HistoryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a range query, in the form of Prometheus' API."""

    status: str = "success"
    data: Matrix


class HistoryEndpoints:
    """Endpoints of metrics over time."""

    def __init__(self, reader: HubReader, history: History, catalog: Catalog) -> None:
        self._reader = reader
        self._history = history
        self._catalog = catalog

    async def cluster(self, call: Call) -> HistoryAnswer:
        """One metric of a cluster."""
        access = await self._require_metrics(call)
        metric = _choose(call.parameters(RangeParameters).metric, CLUSTER_METRICS)
        _check_counted(metric, access)
        labels = {"cluster": (call.values["name"],)}
        return await self._query(call, f"clusterpulse_cluster_{metric}", labels)

    async def node(self, call: Call) -> HistoryAnswer:
        """One metric of a node."""
        access = await self._require_metrics(call)
        name, node = call.values["name"], call.values["node"]
        metric = _choose(call.parameters(RangeParameters).metric, series.NODE)
        if metric in views.POD_COUNTS and views.hides_pods(access):
            raise _build_refusal(metric, "pods and namespaces")
        filter_ = access.get_filter("nodes")
        if not filter_.is_open:
            found = await self._reader.get_node(name, node)
            if not filter_.allows(views.build_node_item(found) if found else Item(name=node)):
                raise AccessDenied(_DENIED)
        labels = {"cluster": (name,), "node": (node,)}
        return await self._query(call, f"clusterpulse_node_{metric}", labels)

    async def operators(self, call: Call) -> HistoryAnswer:
        """One state of every operator of a cluster that may be seen."""
        access = await self._require_metrics(call)
        metric = _choose(call.parameters(RangeParameters).metric, dict.fromkeys(series.STATES))
        filter_ = access.get_filter("operators")
        found = await self._read(
            call, f"clusterpulse_cluster_operator_{metric}", {"cluster": (call.values["name"],)}
        )
        return _answer(
            [
                each
                for each in found
                if filter_.allows(Item(name=dict(each.labels).get("operator", "")))
            ]
        )

    async def custom(self, call: Call) -> HistoryAnswer:
        """One aggregation of a MetricSource on a cluster."""
        await self._require_metrics(call)
        name = call.values["name"]
        source = await self._catalog.find(call.values["source"])
        labels = await self._reader.get_cluster_labels(name) or {}
        access = call.viewer.decide_type(name, labels, source.type) if source else None
        if source is None or access is None:
            if source is None and call.viewer.principal.is_master:
                raise NotFound(f"MetricSource '{call.values['source']}' not found")
            raise AccessDenied(_DENIED)
        metric = _choose(
            call.parameters(RangeParameters).metric, dict.fromkeys(source.aggregations)
        )
        if not access.filter.shows_aggregation(metric):
            raise AccessDenied(_DENIED)
        if source.filters_aggregations and not access.filter.is_open:
            raise AccessDenied(f"{metric} counts resources that access policies hide from you")
        return await self._query(
            call,
            series.CUSTOM + series.sanitize(metric),
            {"cluster": (name,), "source": (source.id,)},
        )

    async def fleet(self, call: Call) -> HistoryAnswer:
        """One metric of every cluster whose metrics may be seen."""
        wanted = call.parameters(FleetRange)
        metric = _choose(wanted.metric, CLUSTER_METRICS)
        names = await self._reader.list_clusters()
        labels = await self._reader.get_labels(names)
        chosen = [
            name
            for name in names
            if (not wanted.cluster or name in wanted.cluster)
            and _may_count(metric, call.viewer.decide_cluster(name, labels[name]))
        ]
        if not chosen:
            read_range(wanted, call.now)
            return _answer([])
        return await self._query(call, f"clusterpulse_cluster_{metric}", {"cluster": tuple(chosen)})

    async def _require_metrics(self, call: Call) -> ClusterAccess:
        access = await require_cluster(call, self._reader)
        if not access.view_metrics:
            raise AccessDenied(_DENIED)
        return access

    async def _query(
        self, call: Call, metric: str, labels: Mapping[str, tuple[str, ...]]
    ) -> HistoryAnswer:
        return _answer(await self._read(call, metric, labels))

    async def _read(
        self, call: Call, metric: str, labels: Mapping[str, tuple[str, ...]]
    ) -> list[Series]:
        given = call.parameters(RangeParameters)
        wanted = read_range(given, call.now)
        query = RangeQuery(
            name=metric,
            labels=labels,
            start=wanted.start,
            end=wanted.end,
            step=wanted.step,
            reduction=given.agg,
        )
        try:
            return await self._history.query_range(query)
        except HistoryUnavailable as error:
            raise BackendFailed("metrics backend unavailable") from error


def _choose(metric: str, known: Mapping[str, object]) -> str:
    """Check the name of a metric, so that only known names reach a query."""
    if not metric:
        raise BadRequest("metric parameter required")
    if metric not in known:
        raise BadRequest(f"unknown metric {metric!r}; known ones: {', '.join(sorted(known))}")
    return metric


def _check_counted(metric: str, access: ClusterAccess) -> None:
    if not _may_count(metric, access):
        raise _build_refusal(metric, " and ".join(CLUSTER_METRICS[metric]))


def _build_refusal(metric: str, types: str) -> AccessDenied:
    return AccessDenied(f"{metric} counts {types} that access policies hide from you")


def _may_count(metric: str, access: ClusterAccess) -> bool:
    return access.view_metrics and all(
        access.get_filter(type_).is_open for type_ in CLUSTER_METRICS[metric]
    )


def _answer(found: list[Series]) -> HistoryAnswer:
    return HistoryAnswer(data=Matrix(result=[_build_series(each) for each in found]))


def _build_series(each: Series) -> dict[str, Any]:
    return {
        "metric": {"__name__": each.name, **dict(each.labels)},
        "values": [[_format_time(at), _format_number(value)] for at, value in each.points],
    }


def _format_time(at: float) -> float | int:
    return int(at) if at.is_integer() else at


def _format_number(value: float) -> str:
    """Format a number as Prometheus does: whole numbers without a decimal point."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
