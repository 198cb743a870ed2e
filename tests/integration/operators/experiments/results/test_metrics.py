"""Metrics of a real VictoriaMetrics, directly and through a proxy, and what becomes of them."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from tests.integration.operators.experiments.world import experiment, running

from quarterdeck.apis.experiments.v1alpha1 import Experiment
from quarterdeck.kit import http, json, rfc3339
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.conditions import find
from quarterdeck.operators.experiments.drivers.prometheus import Prometheus
from quarterdeck.operators.experiments.drivers.result_stores import Files
from quarterdeck.operators.experiments.drivers.service_metrics import (
    KubeletMetrics,
    ServiceMetrics,
)
from quarterdeck.operators.experiments.ports import (
    FinishedRun,
    FinishedTarget,
    ResultsUnavailable,
)
from quarterdeck.operators.experiments.results import Collector, Result, decode
from quarterdeck.operators.experiments.results.document import Point
from quarterdeck.operators.experiments.results.ports import MetricsUnavailable
from quarterdeck.operators.experiments.results.prometheus import QueryError
from quarterdeck.operators.experiments.results.window import Window
from quarterdeck.testing import programs

END = SystemClock().now().replace(microsecond=0) - timedelta(minutes=5)
WINDOW = Window(END - timedelta(minutes=4), END)
METRICS = [
    {"name": "p99", "query": 'latency{experiment="$EXPERIMENT"}', "unit": "s"},
    {"name": "rps", "query": "requests", "type": "range"},
    {"name": "none", "query": "no_such_series"},
    {"name": "broken", "query": "sum("},
]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    port = programs.find_free_port()
    command = [
        programs.require("victoria-metrics"),
        f"-storageDataPath={tmp_path / 'vm'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-search.latencyOffset=0s",
        "-memory.allowedBytes=64MB",
    ]
    with programs.run_program(command, port=port, folder=tmp_path):
        yield f"http://127.0.0.1:{port}"


async def fill(url: str, client: http.Client) -> None:
    lines = [f'latency{{experiment="demo"}} 0.4 {int(END.timestamp() * 1000)}']
    for number in range(17):
        at = WINDOW.start + timedelta(seconds=15 * number)
        lines.append(f"requests {number} {int(at.timestamp() * 1000)}")
    body = "\n".join(lines).encode()
    answer = await client.request("POST", f"{url}/api/v1/import/prometheus", body=body)
    await answer.read()
    await (await client.request("GET", f"{url}/internal/force_flush")).read()


async def test_instant_and_range_queries_are_read(url: str) -> None:
    async with http.Client() as client:
        await fill(url, client)
        store = Prometheus(url, client=client)
        (point,) = await store.query("latency", WINDOW, is_range=False)
        assert (point.value, point.labels["experiment"]) == (0.4, "demo")
        points = await store.query("requests", WINDOW, is_range=True)
        assert len(points) == 17
        assert max(each.value for each in points) == 16
        with pytest.raises(QueryError):
            await store.query("sum(", WINDOW, is_range=False)


async def test_a_store_that_is_away_is_unavailable() -> None:
    async with http.Client() as client:
        store = Prometheus(f"http://127.0.0.1:{programs.find_free_port()}", client=client)
        with pytest.raises(MetricsUnavailable, match="cannot reach the metrics store"):
            await store.query("up", WINDOW, is_range=False)


# --- the collector


def finished(
    *, now: datetime = END, outputs: dict[str, str] | None = None, **spec: object
) -> FinishedRun:
    found = msgspec.convert(
        {
            "metadata": {
                "name": "demo",
                "namespace": "experiments",
                "creationTimestamp": rfc3339.format_time(WINDOW.start),
            },
            "spec": {
                "targets": [{"name": "app", "cluster": {"type": "hub"}}],
                "workflow": {"template": "t", "completion": {"mode": "workflow"}},
                "metrics": METRICS,
                **spec,
            },
            "status": {
                "phase": "Complete",
                "targets": [{"name": "app", "clusterName": "hub"}],
                "workflowStatus": {"name": "w", "phase": "Succeeded", "outputs": outputs or {}},
            },
        },
        Experiment,
    )
    target = FinishedTarget("app", "hub", "hub", "demo", None)
    return FinishedRun(found, (target,), END, now)


def read(folder: Path) -> Result:
    return decode((folder / "demo" / "summary.json").read_bytes())


async def test_results_of_a_run_are_collected(url: str, tmp_path: Path) -> None:
    criteria = [{"metric": "p99", "operator": "lt", "value": "0.5"}]
    run = finished(
        outputs={"metric.errors": "[0, 1]", "verdict": "pass"},
        hypothesis={"claim": "fast", "successCriteria": criteria},
    )
    async with http.Client() as client:
        await fill(url, client)
        collector = Collector(Files(tmp_path), hub=Prometheus(url, client=client))
        found = await collector.collect(run)
        assert await collector.collect(run) == found
    assert found.verdict == "validated"
    assert found.results_url.startswith("file://")
    result = read(tmp_path)
    assert result.samples["p99"] == (0.4,)
    assert result.samples["errors"] == (0.0, 1.0)
    assert len(result.samples["rps"]) == 17
    assert result.metrics.source == "hub,workflow"
    assert "none" not in result.samples
    assert result.metrics.queries["broken"].error.startswith("hub: ")
    assert (result.phase, result.duration_seconds) == ("Complete", 240)


async def test_a_store_that_is_away_is_asked_again_for_a_minute(tmp_path: Path) -> None:
    async with http.Client() as client:
        hub = Prometheus(f"http://127.0.0.1:{programs.find_free_port()}", client=client)
        collector = Collector(Files(tmp_path), hub=hub)
        with pytest.raises(ResultsUnavailable):
            await collector.collect(finished())
        await collector.collect(finished(now=END + timedelta(minutes=2)))
    assert "cannot reach" in read(tmp_path).metrics.queries["p99"].error


class SilentStore:
    """A metrics store that never answers."""

    def __init__(self) -> None:
        self.asked = 0

    async def query(self, query: str, window: Window, *, is_range: bool) -> list[Point]:
        self.asked += 1
        raise MetricsUnavailable("no answer")


async def test_a_silent_store_is_asked_once_per_collection(tmp_path: Path) -> None:
    store = SilentStore()
    await Collector(Files(tmp_path), hub=store).collect(finished(now=END + timedelta(minutes=2)))
    assert store.asked == 1
    found = read(tmp_path).metrics.queries
    assert {each.error for each in found.values()} == {"hub: no answer"}


async def test_the_gate_collects_again_and_gives_up(tmp_path: Path) -> None:
    gate = {"maxIterations": 2, "recollectDelaySeconds": 60}
    collector = Collector(Files(tmp_path))
    first = await collector.collect(finished(qualityGate=gate))
    assert first.retry_after_s == 60
    assert first.iteration is not None
    run = finished(qualityGate=gate, now=END + timedelta(seconds=20))
    status = msgspec.structs.replace(run.experiment.status, iteration_status=first.iteration)
    run = run._replace(experiment=msgspec.structs.replace(run.experiment, status=status))
    early = await collector.collect(run)
    assert (early.retry_after_s, early.iteration) == (40, first.iteration)
    last = await collector.collect(run._replace(now=END + timedelta(seconds=60)))
    assert (last.failure, last.retry_after_s) == ("QualityGateExhausted", None)
    assert (read(tmp_path).phase, read(tmp_path).reason) == ("Failed", "QualityGateExhausted")


async def test_outputs_of_the_workflow_count_as_data(tmp_path: Path) -> None:
    outputs = {f"metric.{each['name']}": "1" for each in METRICS}
    found = await Collector(Files(tmp_path)).collect(finished(qualityGate={}, outputs=outputs))
    assert found.iteration is not None
    assert found.iteration.phase == "Passed"


async def test_without_metrics_and_stores_there_are_still_results(tmp_path: Path) -> None:
    found = await Collector(Files(tmp_path)).collect(finished(metrics=[]))
    assert (found.verdict, found.failure) == ("", "")
    assert read(tmp_path).metrics.queries == {}


# --- a store inside a target


CADVISOR = f"""# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{{container="c",pod="web-1",namespace="demo",cpu="total"}} 120 1
container_start_time_seconds{{container="c",pod="web-1",namespace="demo"}} {END.timestamp() - 240}
container_memory_working_set_bytes{{container="c",pod="web-1",namespace="demo"}} 1024
"""


class ProxyingApi:
    """An API server's list of Services and its proxy to one of them."""

    def __init__(self, upstream: str, client: http.Client) -> None:
        self._upstream = upstream
        self._client = client

    async def handle(self, request: http.Request) -> http.Response:
        prefix = "/api/v1/namespaces/monitoring/services/prometheus-server:9090/proxy"
        if request.target.startswith(prefix):
            url = self._upstream + request.target.removeprefix(prefix)
            answer = await self._client.request("GET", url)
            return _json(answer.status, await answer.read())
        if request.target.endswith("/nodes/n1/proxy/metrics/cadvisor"):
            return http.Response(200, [("content-type", "text/plain")], CADVISOR.encode())
        names: tuple[str, ...] = ("prometheus-operator", "prometheus-server", "web")
        if request.target.partition("?")[0].endswith("/nodes"):
            names = ("n1",)
        items = [{"metadata": {"name": name, "namespace": "monitoring"}} for name in names]
        listed = {"apiVersion": "v1", "kind": "ServiceList", "metadata": {}, "items": items}
        return _json(200, json.encode(listed))


def _json(status: int, body: bytes) -> http.Response:
    return http.Response(status, [("content-type", "application/json")], body)


@contextlib.asynccontextmanager
async def proxying_target(upstream: str) -> AsyncIterator[FinishedTarget]:
    async with http.Client() as client:
        server = http.Server(ProxyingApi(upstream, client).handle, clock=SystemClock())
        listener = await server.listen("127.0.0.1", 0)
        kubeconfig = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": listener.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
        try:
            yield FinishedTarget("app", "gke", "demo-app", "demo", json.encode(kubeconfig))
        finally:
            await server.drain(1.0)


async def test_a_store_on_the_target_is_found_and_asked(url: str, tmp_path: Path) -> None:
    async with http.Client() as client, proxying_target(url) as target:
        await fill(url, client)
        collector = Collector(Files(tmp_path), targets=ServiceMetrics(clock=SystemClock()))
        await collector.collect(finished()._replace(targets=(target,)))
    result = read(tmp_path)
    assert result.metrics.source == "target:app/monitoring/prometheus-server"
    assert result.metrics.queries["p99"].data[0].labels["target"] == "app"
    assert result.samples["p99"] == (0.4,)


async def test_every_target_with_a_store_is_asked(url: str, tmp_path: Path) -> None:
    async with http.Client() as client, proxying_target(url) as target:
        await fill(url, client)
        collector = Collector(Files(tmp_path), targets=ServiceMetrics(clock=SystemClock()))
        both = (target, target._replace(name="other"))
        await collector.collect(finished()._replace(targets=both))
    points = read(tmp_path).metrics.queries["p99"].data
    assert [each.labels["target"] for each in points] == ["app", "other"]


async def test_kubelets_tell_cores_where_no_store_has_metrics(tmp_path: Path) -> None:
    async with proxying_target("http://127.0.0.1:1") as target:
        collector = Collector(Files(tmp_path), nodes=KubeletMetrics(clock=SystemClock()))
        await collector.collect(finished(metrics=[])._replace(targets=(target,)))
    result = read(tmp_path)
    assert result.metrics.source == "target:cadvisor"
    assert result.samples == {
        "cpu_by_pod": (0.5,),
        "cpu_total": (0.5,),
        "memory_by_pod": (1024.0,),
        "memory_total": (1024.0,),
    }
    assert result.metrics.queries["cpu_by_pod"].data[0].labels == {"pod": "web-1", "target": "app"}


async def test_a_target_that_is_gone_has_no_store() -> None:
    async with proxying_target("http://127.0.0.1:1") as target:
        pass
    assert await ServiceMetrics(clock=SystemClock()).find(target) is None
    assert await KubeletMetrics(clock=SystemClock()).read(target, now=END) == {}


async def test_the_operator_collects_results_of_a_run(tmp_path: Path) -> None:
    async with running(results=Collector(Files(tmp_path))) as world:
        await world.template("smoke", outputs='{"metric.p99": "0.4"}')
        criteria = [{"metric": "p99", "operator": "lt", "value": "0.5"}]
        await world.create(
            experiment(
                "demo",
                repeats=3,
                metrics=METRICS[:1],
                hypothesis={"claim": "fast", "successCriteria": criteria},
            )
        )
        done = await world.cleaned("demo")
    assert (done.status.phase, done.status.hypothesis_result) == ("Complete", "validated")
    assert done.status.results_url == f"{(tmp_path / 'demo').as_uri()}/"
    result = read(tmp_path)
    assert result.samples == {"p99": (0.4, 0.4, 0.4)}
    assert [each.name for each in result.runs] == [
        "demo-validation",
        "demo-validation-2",
        "demo-validation-3",
    ]


async def test_an_exhausted_gate_fails_the_experiment_and_cleans_up(tmp_path: Path) -> None:
    async with running(results=Collector(Files(tmp_path))) as world:
        await world.template("smoke")
        gate = {"maxIterations": 2, "recollectDelaySeconds": 1}
        await world.create(experiment("demo", metrics=METRICS[:1], qualityGate=gate))
        done = await world.cleaned("demo")
        assert await world.leftovers() == []
    assert (done.status.phase, done.status.reason) == ("Failed", "QualityGateExhausted")
    assert done.status.iteration_status is not None
    assert done.status.iteration_status.current_iteration == 2
    assert done.status.iteration_status.phase == "Exhausted"


async def test_a_store_that_recovers_gets_the_results(tmp_path: Path) -> None:
    blocked = tmp_path / "results"
    blocked.write_text("not a directory")
    async with running(results=Collector(Files(blocked))) as world:
        await world.template("smoke")
        await world.create(experiment("demo"))
        waiting = await world.until("demo", is_unavailable)
        assert not waiting.status.resources_cleaned
        blocked.unlink()
        done = await world.cleaned("demo")
    assert done.status.phase == "Complete"
    assert read(blocked).name == "demo"


def is_unavailable(found: Experiment) -> bool:
    condition = find(found.status.conditions, "ResultsCollected")
    return condition is not None and condition.reason == "ResultsUnavailable"
