"""A fleet server that forgets, lies about hashes or answers half: no collector loses its text."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.operators.pipelines.test_rollouts import (
    FLEET,
    NEW,
    ROLLOUT,
    STABLE,
    Agents,
    phase,
    stable,
)

from quarterdeck.kit import http, json

Change = Callable[[dict[str, Any]], None]


def falsify(operation: str, change: Change) -> Any:
    """A fault that changes the answers of one operation."""

    async def fault(request: Any, proceed: Any) -> Any:
        answer = await proceed()
        if not request.path.endswith(f"/{operation}"):
            return answer
        message = json.decode(answer.body)
        change(message)
        return http.Response(200, [("Content-Type", "application/json")], json.encode(message))

    return fault


def leave_out_reports(message: dict[str, Any]) -> None:
    message["pipelines"] = []


def lie_about_digests(message: dict[str, Any]) -> None:
    for pipeline in message.get("pipelines", ()):
        for part in pipeline.get("parts", ()):
            part["digest"] = "0" * 12


@pytest.mark.parametrize(
    ("change", "text"),
    [
        pytest.param(leave_out_reports, "left the pipeline out", id="answers half"),
        pytest.param(lie_about_digests, "texts that it was not sent", id="lies about hashes"),
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
        before = {each.id: each.contents for each in at.fleet.server.pipelines.all()}
        at.fleet.always = falsify("ListPipelines", keep_half)
        await at.advance(300)
        await agents.poll()
        assert {each.id: each.contents for each in at.fleet.server.pipelines.all()} == before
        assert all(len(agents.history[each]) == 1 for each in FLEET)
        at.fleet.always = None
        for name in ("a", "b", "c"):
            await at.ready("Synced", name, within_s=1200.0)
        await agents.poll()
        assert {each.id: each.contents for each in at.fleet.server.pipelines.all()} == before


async def test_a_server_that_forgot_everything_is_told_again(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        for each in at.fleet.server.pipelines.all():
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
        await at.advance(300)
        await agents.poll()
        assert agents.running("stable") == set(FLEET)
        assert all(each.contents == STABLE for each in at.fleet.server.pipelines.all())
        drifted = at.condition(await at.get(), "Drifted")
        assert drifted.status == "True"
        assert "does not keep what it accepts" in drifted.message
        at.fleet.always = None

        async def is_over() -> bool:
            found = at.condition(await at.get(), "Drifted")
            return bool(found.status == "False" and found.reason == "InSync")

        await at.until(is_over, within_s=3600.0)
