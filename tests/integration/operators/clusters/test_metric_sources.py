"""MetricSources: what is collected, exported, limited, and deleted."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import ClusterConnection, MetricSource
from quarterdeck.hubstate.collect.source import SourceCollector
from quarterdeck.hubstate.writes import DeleteKeys
from quarterdeck.kit import http
from quarterdeck.operators.clusters.simulators.contents import Profile

Make = Callable[[], AbstractAsyncContextManager[Any]]

PODS: dict[str, Any] = {
    "source": {"apiVersion": "v1", "kind": "Pod"},
    "fields": [
        {"name": "phase", "path": ".status.phase"},
        {"name": "cpu", "path": ".spec.containers[0].resources.requests.cpu", "type": "quantity"},
    ],
    "computed": [{"name": "millis", "expression": "cpu * 1000"}],
    "aggregations": [
        {"name": "total", "function": "count"},
        {"name": "cpu_sum", "function": "sum", "field": "cpu"},
        {"name": "by_phase", "function": "count", "groupBy": "phase"},
    ],
    "rbac": {"resourceTypeName": "pod"},
}


async def _setup(w: Any, *names: str, pods: int = 6) -> list[Any]:
    spokes = []
    for name in names:
        spokes.append(await w.spoke(name, Profile(pods=pods)))
        await w.secret(name)
        await w.connect(name)
    return spokes


async def _collected(w: Any, clusters: int, name: str = "pods") -> MetricSource:
    async def holds() -> MetricSource | None:
        found = await w.source(name)
        return found if found.status.clusters_collected == clusters else None

    result: MetricSource = await w.until(holds)
    return result


async def test_rows_and_aggregations_of_every_cluster_are_kept(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east", "west")
        await w.create("MetricSource", "pods", PODS)
        async with w.operator() as manager:
            found = await _collected(w, 2)
            assert (found.status.phase, found.status.message) == (
                "Active",
                "Collection successful",
            )
            assert found.status.resources_collected == 12
            assert {each.status for each in found.status.field_validation} == {"valid"}
            assert w.condition(found).reason == "CollectionSuccessful"
            rows = await w.read("cluster:east:custom:default/pods:resources")
            assert (rows["resourceCount"], rows["truncated"]) == (6, False)
            assert rows["resources"][0]["values"]["millis"] == 500.0
            values = (await w.read("cluster:east:custom:default/pods:aggregations"))["values"]
            assert values == {"total": 6, "cpu_sum": 3.0, "by_phase": {"Running": 6}}
            meta = await w.read("cluster:east:custom:default/pods:meta")
            assert (meta["errorCount"], meta["resourceCount"]) == (0, 6)
            definition = await w.read("metricsource:default:pods")
            assert definition["source"]["resource"] == "pods"
            assert await w.state.get_members("metricsources:all") == {"default/pods"}
            assert await w.state.get_members("metricsources:by:resourcetype:pod") == {
                "default/pods"
            }
            page = manager.metrics.registry.render().decode()
            assert (
                'clusterpulse_custom_resource_by_phase{cluster="west",source="default/pods",'
                'group="Running"} 6' in page
            )
            assert 'clusterpulse_hub_clusters{health="healthy"} 2' in page


async def test_a_definition_that_the_store_lost_is_stored_again(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east")
        await w.create("MetricSource", "pods", PODS)
        async with w.operator():
            await _collected(w, 1)
            before = await w.read("metricsource:default:pods")
            await w.state.commit([DeleteKeys(tuple(await w.state.list_keys("metricsource")))])
            await w.advance(70)
            assert await w.read("metricsource:default:pods") == before
            assert await w.state.get_members("metricsources:all") == {"default/pods"}


async def test_deletion_removes_what_was_collected(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east")
        await w.create("MetricSource", "pods", PODS)
        async with w.operator() as manager:
            await _collected(w, 1)
            await w.client.delete(MetricSource, "pods", "default")
            await w.gone(MetricSource, "pods")
            keys = await w.state.list_keys("")
            assert not [key for key in keys if "custom" in key or "metricsource" in key]
            page = manager.metrics.registry.render().decode()
            assert 'source="default/pods"' not in page


async def test_a_bad_source_lists_its_problems_and_recovers(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east")
        bad = {**PODS, "computed": [{"name": "millis", "expression": "nosuch(cpu) +"}]}
        await w.create("MetricSource", "pods", bad)
        async with w.operator():

            async def failed() -> MetricSource | None:
                found = await w.source("pods")
                return found if found.status.phase == "Error" else None

            found = await w.until(failed)
            assert w.condition(found).reason == "InvalidSpec"
            by_name = {each.field: each for each in found.status.field_validation}
            assert by_name["millis"].status == "invalid"
            assert by_name["phase"].status == "valid"
            gvr = MetricSource.KIND.gvr
            await w.client.resource(gvr).patch(
                "pods", {"spec": {"computed": PODS["computed"]}}, namespace="default"
            )
            await _collected(w, 1)


async def test_the_limit_cuts_and_says_so(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east", pods=40)
        limits = {"maxResources": 15, "batchSize": 10}
        await w.create("MetricSource", "pods", {**PODS, "collection": limits})
        async with w.operator():
            found = await _collected(w, 1)
            assert found.status.resources_collected == 15
            rows = await w.read("cluster:east:custom:default/pods:resources")
            assert (rows["resourceCount"], rows["truncated"]) == (15, True)


async def test_a_slow_cluster_delays_nobody(world: Make) -> None:
    async with world() as w:
        slow, _ = await _setup(w, "slow", "fast")

        async def hang(request: http.Request) -> None:
            if "labelSelector=app%3Dweb" in request.target:
                await asyncio.Event().wait()

        slow.fault = hang
        spec = {
            **PODS,
            "source": {**PODS["source"], "labelSelector": {"matchLabels": {"app": "web"}}},
            "collection": {"intervalSeconds": 30, "timeoutSeconds": 200},
        }
        await w.create("MetricSource", "pods", spec)
        async with w.operator():
            await w.health("healthy", "slow")
            times = set()

            async def collected_often() -> bool:
                rows = await w.read("cluster:fast:custom:default/pods:meta")
                if rows is not None:
                    times.add(rows["lastCollectionTime"])
                return len(times) >= 3

            await w.until(collected_often, within_s=180)
            assert await w.read("cluster:slow:custom:default/pods:resources") is None

            async def failed() -> bool:
                meta = await w.read("cluster:slow:custom:default/pods:meta")
                return meta is not None and "within 200 s" in meta["lastError"]

            await w.until(failed)
            await w.health("healthy", "slow")


class Gate:
    """Holds requests for pods of the application web until it is opened."""

    def __init__(self, answer: http.Response | None = None) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()
        self._answer = answer

    async def __call__(self, request: http.Request) -> http.Response | None:
        if "labelSelector=app%3Dweb" not in request.target:
            return None
        self.reached.set()
        await self.opened.wait()
        return self._answer


_SELECTED: dict[str, Any] = {
    **PODS,
    "source": {**PODS["source"], "labelSelector": {"matchLabels": {"app": "web"}}},
    "collection": {"intervalSeconds": 60, "timeoutSeconds": 600},
}


async def test_a_collection_by_an_old_spec_does_not_replace_that_by_the_new_one(
    world: Make,
) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        east.fault = gate = Gate()
        await w.create("MetricSource", "pods", _SELECTED)
        async with w.operator():

            async def begun() -> bool:
                return gate.reached.is_set()

            await w.until(begun)
            await w.client.resource(MetricSource.KIND.gvr).patch(
                "pods", {"spec": {"source": {"labelSelector": None}}}, namespace="default"
            )
            await _collected(w, 1)
            gate.opened.set()
            await w.advance(20)
            rows = await w.read("cluster:east:custom:default/pods:resources")
            assert rows["resourceCount"] == 6


async def test_a_collection_that_fails_after_a_deletion_leaves_nothing_behind(world: Make) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        east.fault = gate = Gate(http.Response(403, [], b"{}"))
        await w.create("MetricSource", "pods", _SELECTED)
        async with w.operator():

            async def begun() -> bool:
                return gate.reached.is_set()

            await w.until(begun)
            await w.client.delete(ClusterConnection, "east", "default")
            await w.gone(ClusterConnection, "east")
            gate.opened.set()
            await w.advance(120)
            assert await w.state.list_keys("cluster:east:") == []


async def test_a_kind_that_one_cluster_lacks_is_an_error_of_that_cluster(world: Make) -> None:
    async with world() as w:
        await w.spoke("plain", Profile())
        await w.spoke("shift", Profile(is_openshift=True))
        for name in ("plain", "shift"):
            await w.secret(name)
            await w.connect(name)
        spec = {
            "source": {
                "apiVersion": "config.openshift.io/v1",
                "kind": "ClusterOperator",
                "scope": "Cluster",
            },
            "fields": [{"name": "name", "path": ".metadata.name"}],
            "aggregations": [{"name": "total", "function": "count"}],
        }
        await w.create("MetricSource", "pods", spec)
        async with w.operator():

            async def seen() -> MetricSource | None:
                found = await w.source("pods")
                return found if found.status.errors_last_run == 1 else None

            found = await w.until(seen)
            assert found.status.resources_collected == 3
            assert found.status.message == "Collected with 1 errors"
            assert "plain" in w.condition(found).message


@pytest.mark.parametrize("excluded", ["team-0", "team-*"])
async def test_namespaces_are_left_out(world: Make, excluded: str) -> None:
    async with world() as w:
        await _setup(w, "east")
        source = {**PODS["source"], "namespaces": {"exclude": [excluded]}}
        await w.create("MetricSource", "pods", {**PODS, "source": source})
        async with w.operator():
            found = await _collected(w, 1)
            assert found.status.resources_collected == (4 if excluded == "team-0" else 0)


async def test_a_cluster_that_is_gone_is_counted_no_more(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east", "west")
        await w.create("MetricSource", "pods", PODS)
        async with w.operator():
            await _collected(w, 2)
            await w.client.delete(ClusterConnection, "west", "default")
            found = await _collected(w, 1)
            assert found.status.resources_collected == 6
            assert await w.read("cluster:west:custom:default/pods:resources") is None


async def test_a_collection_that_breaks_ends_nothing_but_itself(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = SourceCollector.collect

    async def collect(self: SourceCollector) -> Any:
        if self._source.spec.rbac.resource_type_name == "broken":
            raise RecursionError("too deep")
        return await original(self)

    monkeypatch.setattr(SourceCollector, "collect", collect)
    async with world() as w:
        await _setup(w, "east")
        await w.create("MetricSource", "broken", {**PODS, "rbac": {"resourceTypeName": "broken"}})
        await w.create("MetricSource", "pods", PODS)
        async with w.operator():
            await _collected(w, 1)

            async def failed() -> bool:
                found = await w.source("broken")
                return "too deep" in w.condition(found).message

            await w.until(failed)
            await w.advance(120)
            await w.health("healthy", "east")


async def test_version_that_no_cluster_serves_is_named(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east", "west", pods=1)
        await w.create(
            "MetricSource", "pods", {**PODS, "source": {"apiVersion": "v9", "kind": "Pod"}}
        )
        async with w.operator():

            async def seen() -> MetricSource | None:
                found = await w.source("pods")
                return found if found.status.errors_last_run == 2 else None

            text = w.condition(await w.until(seen)).message
            assert 'no matches for kind "Pod" in version "v9"' in text
            assert text.endswith("(and 1 more cluster)")


async def test_type_that_means_something_else_too_is_a_warning(world: Make) -> None:
    async with world() as w:
        await _setup(w, "east", pods=1)
        await w.create("MetricSource", "older", PODS)
        await w.create("MetricSource", "pods", PODS)
        builtin = {**PODS, "rbac": {"resourceTypeName": "pods"}}
        await w.create("MetricSource", "builtin", builtin)
        async with w.operator():
            for name, text in (
                ("pods", "default/older has 'pod' too"),
                ("builtin", "'pods' is a built-in type"),
            ):
                found = await _collected(w, 1, name)
                [warning] = [
                    each
                    for each in found.status.field_validation
                    if each.field == "rbac.resourceTypeName"
                ]
                assert warning.status == "warning"
                assert text in warning.message
