"""Objects of a MetricSource: pages, limits, retries, and clusters with very many objects."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.client.interfaces import ApiResource, ListPage
from quarterdeck.engine import compile_source
from quarterdeck.hubstate.collect.source import SourceCollector, SourceResult
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import Forbidden, TooManyRequests


class Hurried(SystemClock):
    """A clock on which pauses between tries take no time."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Cluster:
    """Pages of pods, made when they are asked for."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.pages: list[tuple[str, int]] = []
        self.failures: list[Exception] = []
        self.forbidden: set[str] = set()

    async def discover_resource(self, gvk: GVK, /, *, fresh: bool = False) -> ApiResource:
        return ApiResource(GVR(gvk.group, gvk.version, "pods"), gvk, namespaced=True)

    async def list(self, path: ResourcePath, options: ListOptions, /, **_: Any) -> ListPage:
        if self.failures:
            raise self.failures.pop(0)
        if path.namespace in self.forbidden:
            raise Forbidden("no")
        start = int(options.continue_ or 0)
        end = min(self.count, start + options.limit)
        self.pages.append((path.namespace, end - start))
        items = [_pod(number, path.namespace or f"ns-{number % 4}") for number in range(start, end)]
        return ListPage(items, "1", continue_=str(end) if end < self.count else "")


def _pod(number: int, namespace: str) -> bytes:
    metadata = {"name": f"p{number}", "namespace": namespace}
    return msgspec.json.encode({"metadata": metadata, "status": {"phase": "Running"}})


def _spec(**more: Any) -> MetricSourceSpec:
    source = {"apiVersion": "v1", "kind": "Pod", **more.pop("source", {})}
    return msgspec.convert(
        {
            "source": source,
            "fields": [{"name": "phase", "path": ".status.phase"}],
            "aggregations": [{"name": "total", "function": "count"}],
            **more,
        },
        MetricSourceSpec,
    )


async def _collect(cluster: Cluster, clock: Any = None, **spec: Any) -> SourceResult:
    source = compile_source(_spec(**spec))
    api: Any = cluster
    return await SourceCollector(api, source, clock=clock or Hurried()).collect()


async def test_pages_are_followed_to_the_end() -> None:
    cluster = Cluster(1234)
    found = await _collect(cluster)
    assert len(found.resources) == 1234
    assert [size for _, size in cluster.pages] == [500, 500, 234]
    assert (found.values, found.truncated) == ({"total": 1234}, False)


@pytest.mark.parametrize(
    "count", [20_000, pytest.param(200_000, marks=pytest.mark.full, id="very many")]
)
async def test_very_many_objects_are_cut_at_the_limit_and_not_asked_for(count: int) -> None:
    cluster = Cluster(count)
    found = await _collect(cluster, collection={"maxResources": 5000})
    assert (len(found.resources), found.truncated) == (5000, True)
    assert sum(size for _, size in cluster.pages) <= 5500


async def test_left_out_namespaces_do_not_use_up_the_limit() -> None:
    cluster = Cluster(4000)
    found = await _collect(
        cluster,
        source={"namespaces": {"exclude": ["ns-0", "ns-1", "ns-2"]}},
        collection={"maxResources": 1000},
    )
    assert len(found.resources) == 1000
    assert {each.namespace for each in found.resources} == {"ns-3"}


async def test_what_may_work_the_next_time_is_tried_again() -> None:
    cluster, clock = Cluster(3), Hurried()
    cluster.failures = [TooManyRequests("slow down"), ConnectionFailed("cut")]
    assert len((await _collect(cluster, clock)).resources) == 3
    assert clock.slept[:2] == [0.25, 0.5]
    cluster.failures = [ConnectionFailed("cut")] * 4
    with pytest.raises(ConnectionFailed):
        await _collect(cluster, collection={"retryAttempts": 3})


async def test_a_refusal_is_not_tried_again() -> None:
    cluster = Cluster(3)
    cluster.failures = [Forbidden("no")]
    with pytest.raises(Forbidden):
        await _collect(cluster)


async def test_one_namespace_that_cannot_be_read_does_not_stop_the_others() -> None:
    cluster = Cluster(2)
    cluster.forbidden = {"b"}
    found = await _collect(cluster, source={"namespaces": {"include": ["a", "b", "c"]}})
    assert len(found.resources) == 4
    assert found.errors == ("namespace b: no",)
    cluster.forbidden = {"a", "b", "c"}
    with pytest.raises(Forbidden):
        await _collect(cluster, source={"namespaces": {"include": ["a", "b", "c"]}})
