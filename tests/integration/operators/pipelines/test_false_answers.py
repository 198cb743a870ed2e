"""A fleet server that forgets, lies about hashes or answers half: no collector loses its text."""

from typing import Any

import pytest
from tests.integration.operators.pipelines.answers import Change, falsify
from tests.integration.operators.pipelines.test_collectors import (
    Inventory,
    put,
    put_inventory_sync,
    ready,
    register,
    remote,
)
from tests.integration.operators.pipelines.test_rollouts import (
    FLEET,
    NEW,
    ROLLOUT,
    STABLE,
    Agents,
    phase,
    stable,
)

from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    PipelineDiscovery,
)


def leave_out_reports(message: dict[str, Any]) -> None:
    message["pipelines"] = []


def lie_about_digests(message: dict[str, Any]) -> None:
    for pipeline in message.get("pipelines", ()):
        for part in pipeline.get("parts", ()):
            part["digest"] = "0" * 12


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param(leave_out_reports, "do not contain the pipeline", id="answers half"),
        pytest.param(
            lie_about_digests, "contents that this operator did not send", id="lies about hashes"
        ),
    ],
)
async def test_no_rollout_goes_on_by_false_reports(world: Any, change: Change, text: str) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        at.fleet.always = falsify("ListDeliveries", change)
        await at.patch({"spec": {"contents": NEW, "rollout": ROLLOUT}})
        for _ in range(4):
            await at.advance(120)
            await agents.poll()
        pipeline = await at.get()
        assert (pipeline.status.rollout.phase, pipeline.status.rollout.step) == ("Progressing", 0)
        assert text in at.condition(pipeline, "RolledOut").message
        assert agents.running("new") | agents.running("stable") == set(FLEET)
        assert agents.running("stable")
        at.fleet.always = None
        await phase(at, "Promoted", agents)


async def test_half_a_list_of_pipelines_takes_none_away(world: Any) -> None:
    def keep_half(message: dict[str, Any]) -> None:
        message["pipelines"] = message.get("pipelines", [])[:1]

    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        for name in ("a", "b", "c"):
            await at.create(name, contents=f'loki.write "{name}" {{\n}}\n')
            await at.ready("Synced", name)
        await agents.poll()
        before = {each.id: each.contents for each in at.fleet.server.pipelines.list_all()}
        at.fleet.always = falsify("ListPipelines", keep_half)
        await at.advance(300)
        await agents.poll()
        assert {each.id: each.contents for each in at.fleet.server.pipelines.list_all()} == before
        assert all(len(agents.history[each]) == 1 for each in FLEET)
        at.fleet.always = None
        for name in ("a", "b", "c"):
            await at.ready("Synced", name, within_s=1200.0)
        await agents.poll()
        assert {each.id: each.contents for each in at.fleet.server.pipelines.list_all()} == before


async def test_a_server_that_forgot_everything_is_told_again(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        for each in at.fleet.server.pipelines.list_all():
            at.fleet.server.pipelines.remove(each.id, "2026-01-01T00:00:00Z")
        assert at.fleet.names == []
        await at.until(lambda: at.fleet.names == ["web"], within_s=600.0)
        await at.ready("Synced")
        await agents.poll()
        assert agents.running("stable") == set(FLEET)


async def test_a_server_that_keeps_another_text_than_it_was_sent_is_named(world: Any) -> None:
    """It is corrected at every look, which the condition tells until it ends."""

    def scramble(message: dict[str, Any]) -> None:
        for each in message.get("pipelines", ()):
            each["contents"] = 'loki.write "other" {\n}\n'

    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        at.fleet.always = falsify("ListPipelines", scramble)

        async def is_named() -> bool:
            found = at.condition(await at.get(), "Drifted")
            return bool(found.status == "True") and "does not keep what it accepts" in found.message

        await at.until(is_named, within_s=600.0)
        await agents.poll()
        assert agents.running("stable") == set(FLEET)
        assert all(each.contents == STABLE for each in at.fleet.server.pipelines.list_all())
        at.fleet.always = None

        async def is_over() -> bool:
            found = at.condition(await at.get(), "Drifted")
            return bool(found.status == "False" and found.reason == "InSync")

        await at.advance(900)  # no correction counts any longer
        await at.until(is_over, within_s=600.0)


async def test_half_a_list_of_collectors_takes_no_attribute_away(world: Any) -> None:
    def keep_half(message: dict[str, Any]) -> None:
        message["collectors"] = message.get("collectors", [])[:1]

    inventory = Inventory()
    inventory.records = [{"id": each, "environment": "prod"} for each in ("edge-1", "edge-2")]
    async with world() as at, at.operator(interval_s=10.0, reader=inventory):
        await register(at, "edge-1", "edge-2")
        for each in ("edge-1", "edge-2"):
            await put(at, Collector, each, id=each)
        await put_inventory_sync(at)
        await at.until(lambda: remote(at, "edge-2") == {"env": "prod"})
        at.fleet.always = falsify("ListCollectors", keep_half)
        await at.advance(300)
        at.fleet.always = None
        await at.advance(45)
        assert [remote(at, each) for each in ("edge-1", "edge-2")] == [{"env": "prod"}] * 2
        inventory.records = inventory.records[:1]
        await at.until(lambda: remote(at, "edge-2") == {}, within_s=200.0)


async def test_half_a_list_deletes_nothing_that_was_discovered(world: Any) -> None:
    def keep_half(message: dict[str, Any]) -> None:
        for field in ("pipelines", "collectors"):
            message[field] = message.get(field, [])[:1]

    async def fault(request: Any, proceed: Any) -> Any:
        for operation in ("ListPipelines", "ListCollectors"):
            if request.path.endswith(f"/{operation}"):
                return await falsify(operation, keep_half)(request, proceed)
        return await proceed()

    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "edge-1", "edge-2")
        at.fleet.put("a")
        at.fleet.put("b")
        policy = {"onPipelineRemoved": "Delete"}
        await put(at, PipelineDiscovery, "all", policy=policy, pollInterval="1m")
        policy = {"onCollectorRemoved": "Delete"}
        await put(at, CollectorDiscovery, "all", policy=policy, pollInterval="1m")
        await at.ready("Synced", "b")
        await ready(at, CollectorDiscovery, "all", "Synced")
        at.fleet.always = fault
        await at.advance(300)
        assert at.fleet.names == ["a", "b"]
        assert not (await at.get("b")).is_deleting
        found = await at.client.get(CollectorDiscovery, "all", "default")
        assert found.status.stale_collectors == ("edge-2",)
        at.fleet.always = None
        await at.driver().call("DeleteCollector", {"id": "edge-2"})

        async def is_gone() -> bool:
            listed = await at.client.list(Collector, namespace="default")
            return [each.metadata.name for each in listed] == ["edge-1"]

        await at.until(is_gone, within_s=900.0)
