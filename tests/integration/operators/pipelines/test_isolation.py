"""OpenTelemetry pipelines on one agent: contradictions are told, and isolation removes them."""

from typing import Any

from quarterdeck.apis.fleetmanagement.v1alpha1 import PipelineSet
from quarterdeck.services.fleet.records import Collector

TEXT = """receivers: {otlp: {}}
exporters: {debug: {verbosity: LEVEL}}
service: {pipelines: {logs/NAME: {receivers: [otlp], exporters: [debug]}}}
"""
OTEL = {"configType": "OpenTelemetryCollector"}


def contents(name: str, level: str) -> str:
    return TEXT.replace("NAME", name).replace("LEVEL", level)


def agent(at: Any) -> Collector:
    found = Collector(
        id="agent-1",
        local_attributes={"env": "prod"},
        collector_type="COLLECTOR_TYPE_OTEL",
        last_seen="2026-01-01T00:00:00Z",
    )
    at.fleet.server.collectors.put(found)
    return found


async def delivered(at: Any, name: str) -> str:
    return str(at.condition(await at.get(name), "Delivered").reason)


async def test_contradictions_are_on_both_resources_until_they_are_isolated(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        collector = agent(at)
        await at.create("a", contents=contents("a", "basic"), **OTEL)
        await at.create("b", contents=contents("b", "detailed"), **OTEL)
        for name, other in (("a", "b"), ("b", "a")):

            async def conflicts(name: str = name) -> bool:
                return await delivered(at, name) == "MergeConflict"

            await at.until(conflicts)
            message = at.condition(await at.get(name), "Delivered").message
            assert message.startswith(f"conflicts with {other}:")
        await at.patch({"spec": {"otelIsolation": "Suffix"}}, "b")
        for name in ("a", "b"):

            async def is_resolved(name: str = name) -> bool:
                return await delivered(at, name) == "Applying"

            await at.until(is_resolved)
        text = at.fleet.server.configs.get_merged(collector).content
        assert "debug/__b" in text and "logs/b__b" in text
        assert "logs/a:" in text


async def test_isolation_of_an_alloy_text_is_refused(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(otelIsolation="Suffix")
        pipeline = await at.ready("ValidationError")
        assert "spec.otelIsolation: Suffix" in at.condition(pipeline).message
        assert at.fleet.names == []


async def test_members_of_a_set_are_isolated_too(world: Any) -> None:
    async with world() as at, at.operator():
        member = {"contents": contents("x", "basic"), "matchers": ["env=prod"], **OTEL}
        await at.client.resource(PipelineSet.KIND.gvr).create(
            {
                "apiVersion": PipelineSet.KIND.api_version,
                "kind": "PipelineSet",
                "metadata": {"name": "set", "namespace": "default"},
                "spec": {
                    "source": {"namespace": "repo"},
                    "pipelines": [
                        {"name": "own", "otelIsolation": "Suffix", **member},
                        {"name": "shared", **member},
                    ],
                },
            }
        )
        await at.until(lambda: len(at.fleet.names) == 2)
        texts = {each.name: each.contents for each in at.fleet.server.pipelines.list_all()}
        assert "logs/x__own" in texts["own"]
        assert texts["shared"] == member["contents"]
