"""Metrics over time: names that are known, ranges within limits, and what a viewer may see."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import quote

import pytest
from tests.integration.services.hub.conftest import World
from tests.integration.services.hub.test_endpoints import listed, rule

from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series

Make = Callable[[], AbstractAsyncContextManager[World]]


def labels_of(answer: Any) -> list[dict[str, str]]:
    return [each["metric"] for each in answer["data"]["result"]]


async def test_history_has_the_form_of_prometheus(world: Make) -> None:
    async with world() as w:
        found = await w.get("/clusters/dev-1/metrics/history?metric=pods_total", "root")
        assert found["status"] == "success"
        assert found["data"]["resultType"] == "matrix"
        (series,) = found["data"]["result"]
        assert series["metric"] == {
            "__name__": "clusterpulse_cluster_pods_total",
            "cluster": "dev-1",
        }
        assert {value for _, value in series["values"]} == {"30"}
        node = await w.get(
            "/clusters/dev-1/nodes/dev-1-1/metrics/history?metric=cpu_capacity&agg=max", "root"
        )
        assert labels_of(node)[0]["node"] == "dev-1-1"


async def test_custom_types_are_found_by_id_and_by_type(world: Make) -> None:
    async with world() as w:
        for source in (quote("hub/pvc", safe=""), "pvc"):
            path = f"/clusters/dev-1/custom-resources/{source}/metrics/history?metric=total"
            (labels,) = labels_of(await w.get(path, "root"))
            assert labels == {
                "__name__": "clusterpulse_custom_resource_total",
                "cluster": "dev-1",
                "source": "hub/pvc",
            }


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("", "metric parameter required"),
        ("metric=nope", "unknown metric"),
        ('metric=pods_total"} or vector(1)', "unknown metric"),
        ("metric=pods_total&range=bad", "duration"),
        ("metric=pods_total&range=-1h", "must be greater than 0"),
        ("metric=pods_total&range=9999d", "range '9999d' is longer than 400 days"),
        ("metric=pods_total&range=9999999d", "range '9999999d' is longer than 400 days"),
        ("metric=pods_total&range=0d", "range '0d' must be greater than 0"),
        ("metric=pods_total&step=1ms", "must be at least 1 s"),
        ("metric=pods_total&range=300d&step=1s", "points"),
        ("metric=pods_total&start=2026-05-02T00:00:00Z", "before start"),
        ("metric=pods_total&start=never", "RFC 3339"),
        ("metric=pods_total&agg=sum", "agg"),
    ],
)
async def test_questions_out_of_the_limits_are_refused(world: Make, query: str, part: str) -> None:
    async with world() as w:
        text = quote(query, safe="=&")
        assert part in await w.refuse(f"/clusters/dev-1/metrics/history?{text}", "root", 400)


async def test_history_needs_view_metrics(world: Make) -> None:
    async with world() as w:
        await w.policy("p", rules=[{"selector": {"matchNames": ["*"]}}])
        for path in (
            "/clusters/dev-1/metrics/history?metric=pods_total",
            "/clusters/dev-1/nodes/dev-1-1/metrics/history?metric=cpu_capacity",
            "/clusters/dev-1/operators/metrics/history?metric=available",
            "/clusters/dev-1/custom-resources/pvc/metrics/history?metric=total",
        ):
            assert await w.refuse(path, "alice") == "access denied"


async def test_metrics_that_count_hidden_things_are_refused(world: Make) -> None:
    async with world() as w:
        resources = [
            listed("nodes", labels={"pool": "blue"}),
            listed("pvc", namespaces={"allowed": ["app-*"]}),
        ]
        await w.policy("p", rules=[rule("dev-1", resources=resources)])
        at = "/clusters/dev-1"
        assert "nodes" in await w.refuse(f"{at}/metrics/history?metric=nodes_total", "alice")
        await w.get(f"{at}/metrics/history?metric=namespaces_total", "alice")
        await w.get(f"{at}/nodes/dev-1-1/metrics/history?metric=cpu_capacity", "alice")
        await w.refuse(f"{at}/nodes/dev-1-0/metrics/history?metric=cpu_capacity", "alice")
        await w.refuse(f"{at}/custom-resources/pvc/metrics/history?metric=total", "alice")


async def test_a_fleet_is_what_the_viewer_may_see(world: Make) -> None:
    async with world() as w:
        await w.policy("p", rules=[rule("prod-*")])
        found = await w.get("/metrics/history?metric=pods_total", "alice")
        assert [each["cluster"] for each in labels_of(found)] == ["prod-east", "prod-west"]
        one = await w.get("/metrics/history?metric=pods_total&cluster=prod-west", "alice")
        assert [each["cluster"] for each in labels_of(one)] == ["prod-west"]
        none = await w.get("/metrics/history?metric=pods_total&cluster=dev-1", "alice")
        assert none["data"]["result"] == []
        assert (await w.get("/metrics/history?metric=pods_total", "bob"))["data"]["result"] == []


async def test_a_history_that_is_away_is_a_bad_gateway(world: Make) -> None:
    class Away:
        async def write(self, samples: list[Sample]) -> None:
            raise HistoryUnavailable("away")

        async def query_range(self, query: RangeQuery) -> list[Series]:
            raise HistoryUnavailable("away, with an address of ours")

        async def aclose(self) -> None:
            pass

    async with world() as w:
        w.history = Away()  # type: ignore[assignment]
        w.hub = w.server()
        text = await w.refuse("/clusters/dev-1/metrics/history?metric=pods_total", "root", 502)
        assert text == "metrics backend unavailable"
