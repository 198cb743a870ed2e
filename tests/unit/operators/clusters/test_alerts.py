"""Alert rules of sources, compiled once for all clusters."""

from typing import Any, cast

import msgspec
import pytest

from quarterdeck import engine
from quarterdeck.apis.clusterpulse.metric_source import MetricSource
from quarterdeck.engine.results import AggregationResults
from quarterdeck.kit import json
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.clusters.alerts import Alerts
from quarterdeck.operators.clusters.hub import Hub


class FakeHub:
    """A hub whose store has the same aggregations for every source."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.state = self
        values = AggregationResults(
            computed_at="2026-01-01T00:00:00Z",
            source_id="default/one",
            duration_ms=1,
            values={"maps": 1.0},
        )
        self._data = json.encode(values)

    async def get_many(self, wanted: list[str]) -> list[bytes | None]:
        return [None, *[self._data for _ in wanted[1:]]]

    async def store(self, writes: Any) -> None:
        return None


def build_source(name: str) -> MetricSource:
    spec = {
        "source": {"apiVersion": "v1", "kind": "ConfigMap"},
        "fields": [{"name": "name", "path": ".metadata.name"}],
        "aggregations": [{"name": "maps", "function": "count"}],
        "alerts": [{"name": "Some", "expression": "maps > 0"}],
    }
    document = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return msgspec.convert(document, MetricSource)


async def test_only_sources_that_exist_stay_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_source = engine.compile_source

    def count(spec: Any) -> engine.CompiledSource:
        compiled.append(spec.source.kind)
        return compile_source(spec)

    monkeypatch.setattr(engine, "compile_source", count)
    alerts, one, two = Alerts(cast("Hub", FakeHub())), build_source("one"), build_source("two")
    for _ in range(3):
        await alerts.update("east", [one, two], ttl_s=60)
    assert len(compiled) == 2
    await alerts.update("east", [two], ttl_s=60)
    await alerts.update("east", [one, two], ttl_s=60)
    assert len(compiled) == 3
    await alerts.update("east", [], ttl_s=60)
    await alerts.update("east", [one, two], ttl_s=60)
    assert len(compiled) == 5
