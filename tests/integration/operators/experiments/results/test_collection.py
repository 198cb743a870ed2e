"""Nothing that targets measured is lost, and collecting never holds up other experiments."""

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.integration.operators.experiments.results.test_metrics import (
    END,
    finished,
    proxying_target,
    read,
)
from tests.integration.operators.experiments.world import experiment, hub

from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.conditions import find
from quarterdeck.operators import experiments
from quarterdeck.operators.experiments import finishing
from quarterdeck.operators.experiments.drivers.result_stores import Files
from quarterdeck.operators.experiments.drivers.service_metrics import KubeletMetrics
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets
from quarterdeck.operators.experiments.ports import (
    Collected,
    FinishedRun,
    FinishedTarget,
    ResultsUnavailable,
)
from quarterdeck.operators.experiments.results import Collector
from quarterdeck.operators.experiments.results.document import Point
from quarterdeck.operators.experiments.results.ports import FoundStore
from quarterdeck.operators.experiments.results.window import Window
from quarterdeck.runtime import Manager

NOWHERE = "http://127.0.0.1:1"


async def test_kubelets_of_every_target_are_read(tmp_path: Path) -> None:
    async with proxying_target(NOWHERE) as first, proxying_target(NOWHERE) as second:
        collector = Collector(Files(tmp_path), nodes=KubeletMetrics(clock=SystemClock()))
        both = (first, second._replace(name="load"))
        await collector.collect(finished(metrics=[])._replace(targets=both))
    found = read(tmp_path).metrics.queries
    for name in ("cpu_by_pod", "cpu_total", "memory_by_pod", "memory_total"):
        assert [each.labels["target"] for each in found[name].data] == ["app", "load"]
    assert [each.value for each in found["cpu_total"].data] == [0.5, 0.5]


class RecordingStore:
    """A metrics store that notes what it is asked."""

    def __init__(self, *points: Point) -> None:
        self.asked: list[str] = []
        self._points = list(points)

    async def query(self, query: str, window: Window, *, is_range: bool) -> list[Point]:
        self.asked.append(query)
        return self._points


async def test_each_round_of_the_gate_asks_for_a_shorter_time(tmp_path: Path) -> None:
    store = RecordingStore()
    gate = {"maxIterations": 5, "recollectDelaySeconds": 60}
    metrics = [{"name": "rps", "query": "rate(requests[$DURATION])"}]
    collector = Collector(Files(tmp_path), hub=store)
    run = finished(qualityGate=gate, metrics=metrics)
    for number in range(5):
        run = run._replace(now=END + timedelta(seconds=60 * number))
        found = await collector.collect(run)
        status = msgspec.structs.replace(run.experiment.status, iteration_status=found.iteration)
        run = run._replace(experiment=msgspec.structs.replace(run.experiment, status=status))
    assert found.failure == "QualityGateExhausted"
    assert store.asked == [f"rate(requests[{time}])" for time in ("4m", "10m", "5m", "2m", "2m")]


class StoresByTarget:
    """Finds a store on every target."""

    def __init__(self, stores: dict[str, RecordingStore]) -> None:
        self._stores = stores

    async def find(self, target: FinishedTarget) -> FoundStore | None:
        return FoundStore(f"{target.name}/prometheus", self._stores[target.name])


async def test_a_store_without_data_does_not_hide_those_of_later_targets(tmp_path: Path) -> None:
    point = Point(value=7.0, timestamp="2026-01-01T00:00:00Z")
    stores = {"app": RecordingStore(), "db": RecordingStore(point), "load": RecordingStore(point)}
    targets = tuple(FinishedTarget(name, "gke", name, "demo", b"{}") for name in stores)
    hub_store = RecordingStore(point)
    collector = Collector(Files(tmp_path), hub=hub_store, targets=StoresByTarget(stores))
    metrics = [{"name": "rps", "query": "requests"}]
    await collector.collect(finished(metrics=metrics)._replace(targets=targets))
    found = read(tmp_path).metrics.queries["rps"].data
    assert [each.labels["target"] for each in found] == ["db", "load"]
    assert [len(store.asked) for store in (*stores.values(), hub_store)] == [1, 1, 1, 0]


class OneIsAway:
    """Results whose store does not answer for one experiment until it is told to."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.is_back = asyncio.Event()

    async def collect(self, run: FinishedRun) -> Collected:
        if run.experiment.metadata.name == self._name and not self.is_back.is_set():
            raise ResultsUnavailable("no answer")
        return Collected("disabled")


async def test_waiting_for_results_does_not_hold_up_other_experiments() -> None:
    results = OneIsAway("slow")
    async with hub() as world, world.simulators():
        await world.template("smoke")
        manager = Manager(world.client, name="experiment-operator", graceful_shutdown_timeout_s=1.0)
        targets = KubeconfigTargets(world.client, clock=SystemClock())
        ports = experiments.Ports(targets, results)
        experiments.register(manager, ports, settings=world.settings, workers=1)
        async with manager.running():
            await world.create(experiment("slow"))
            await world.until(
                "slow",
                lambda each: (
                    (found := find(each.status.conditions, "ResultsCollected")) is not None
                    and found.reason == "ResultsUnavailable"
                ),
            )
            await world.create(experiment("next"))
            assert (await world.cleaned("next")).status.phase == "Complete"
            results.is_back.set()
            assert (await world.cleaned("slow")).status.phase == "Complete"


class Broken:
    """Results whose collection fails in a way that nobody expected."""

    async def collect(self, run: FinishedRun) -> Collected:
        raise ZeroDivisionError("token=s3cr3t: float division by zero")


async def test_an_unexpected_error_does_not_keep_the_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with hub() as world, world.simulators(), world.operator(results=Broken()):
        await world.template("smoke")
        await world.create(experiment("broken"))
        waiting = await world.until(
            "broken", lambda each: find(each.status.conditions, "ResultsCollected") is not None
        )
        assert (waiting.status.results_url, waiting.status.resources_cleaned) == ("", False)
        monkeypatch.setattr(finishing, "_COLLECTION_S", 0.0)
        done = await world.cleaned("broken")
    assert (done.status.phase, done.status.results_url) == ("Complete", "disabled")
    found = find(done.status.conditions, "ResultsCollected")
    assert found is not None
    assert (found.status, found.reason) == ("False", "ResultsUnavailable")
    assert found.message.startswith("ZeroDivisionError: ")
    assert "s3cr3t" not in found.message
