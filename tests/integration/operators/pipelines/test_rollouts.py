"""Rollouts against our fleet server, with agents that poll it: steps, failures, crashes."""

from typing import Any

import pytest

from quarterdeck.telemetry.candidates import Choice

STABLE = 'loki.write "stable" {\n}\n'
NEW = 'loki.write "new" {\n}\n'
BAD = 'loki.write "bad" {\n}\n'
BETTER = 'loki.write "better" {\n}\n'
STEPS = [{"weight": 30, "duration": "1m"}, {"weight": 60, "duration": "1m"}]
ROLLOUT = {"steps": STEPS}
FLEET = tuple(f"edge-{number}" for number in range(10))


class Agents:
    """Collectors that poll when told to, and fail to load what a test calls bad."""

    def __init__(self, at: Any) -> None:
        self._calls = at.fleet.server.agents
        self.config = dict.fromkeys(FLEET, "")
        self._hash = dict.fromkeys(FLEET, "")
        self._status: dict[str, dict[str, str]] = {each: {} for each in FLEET}
        self.history: dict[str, list[str]] = {each: [] for each in FLEET}

    async def poll(self) -> None:
        """Every agent asks, loads what is new and reports at once."""
        for identity in FLEET:
            if await self._ask(identity):
                await self._ask(identity)

    async def _ask(self, identity: str) -> bool:
        answer = await self._calls.get_config(
            {
                "id": identity,
                "hash": self._hash[identity],
                "localAttributes": {"env": "prod"},
                "remoteConfigStatus": self._status[identity],
            }
        )
        if answer.get("notModified"):
            return False
        text, self._hash[identity] = answer["content"], answer["hash"]
        self.history[identity].append(text)
        if '"bad"' in text:
            failed = "RemoteConfigStatuses_FAILED"
            self._status[identity] = {"status": failed, "errorMessage": "no such component"}
        else:
            self.config[identity] = text
            self._status[identity] = {"status": "RemoteConfigStatuses_APPLIED"}
        return True

    def having(self, text: str) -> set[str]:
        """Who was last served a text."""
        return {each for each in FLEET if self.history[each] and text in self.history[each][-1]}

    def running(self, text: str) -> set[str]:
        """Who runs a text."""
        return {each for each in FLEET if text in self.config[each]}


def chosen(weight: int) -> set[str]:
    choice = Choice(salt="web", weight=weight)
    return {each for each in FLEET if choice.is_chosen(each, {})}


async def phase(at: Any, wanted: str, agents: Agents, *, step: int | None = None) -> Any:
    """Let agents poll and time pass until a rollout is in a phase."""

    async def holds() -> Any:
        await agents.poll()
        pipeline = await at.get()
        status = pipeline.status.rollout
        is_there = status is not None and status.phase == wanted
        return pipeline if is_there and step in (None, status.step) else None

    return await at.until(holds, within_s=600.0)


async def stable(at: Any, agents: Agents) -> None:
    """A pipeline that every agent runs."""
    await at.create(contents=STABLE)
    await at.ready("Synced")
    await agents.poll()
    assert agents.running("stable") == set(FLEET)


async def test_a_change_reaches_collectors_step_by_step(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        await at.patch({"spec": {"contents": NEW, "rollout": ROLLOUT}})
        pipeline = await phase(at, "Progressing", agents, step=0)
        assert agents.having("new") == chosen(30)
        assert pipeline.status.rollout.weight == 30
        assert at.condition(pipeline, "RolledOut").reason == "Progressing"
        await phase(at, "Progressing", agents, step=1)
        await agents.poll()
        assert agents.having("new") == chosen(60)
        pipeline = await phase(at, "Promoted", agents)
        await agents.poll()
        assert agents.running("new") == set(FLEET)
        assert all(len(agents.history[each]) == 2 for each in FLEET)  # nobody was sent it twice
        pipeline = await at.until(lambda: _delivered(at))
        assert pipeline.status.delivery.applied == len(FLEET)
        assert "Promoted" in await at.events()
        value = at.manager.metrics.registry.get_value
        series = ("fleet_pipeline_collectors", "default", "web")
        await at.until(lambda: value(*series, "applied") == len(FLEET))
        assert [value(*series, state) for state in ("applying", "failed", "stale")] == [0, 0, 0]
        assert value("fleet_pipeline_rollout_weight", "default", "web") == 100
        await at.delete()
        await at.gone()
        assert 'pipeline="web"' not in at.manager.metrics.registry.render().decode()


async def _delivered(at: Any) -> Any:
    pipeline = await at.get()
    return pipeline if at.condition(pipeline, "Delivered").reason == "Applied" else None


async def test_failures_roll_back_and_the_text_is_not_sent_again(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        await at.patch({"spec": {"contents": BAD, "rollout": ROLLOUT}})
        pipeline = await phase(at, "RolledBack", agents)
        assert "no such component" in pipeline.status.rollout.message
        assert at.manager.metrics.registry.get_value("fleet_pipeline_rollbacks_total") == 1
        await at.until(lambda: _without_candidate(at))
        await agents.poll()
        assert agents.running("stable") == set(FLEET)  # nobody ever stopped running it
        assert agents.having("bad") == set()
        sent = at.fleet.count("UpdatePipeline")
        await at.advance(100)
        await at.patch({"metadata": {"annotations": {"touched": "yes"}}})
        await at.advance(20)
        assert at.fleet.count("UpdatePipeline") == sent
        assert "SyncFailed" not in await at.events()
        assert {each for each in FLEET if any('"bad"' in t for t in agents.history[each])} == (
            chosen(30)
        )
        await at.patch({"spec": {"contents": BETTER}})
        await phase(at, "Promoted", agents)
        await agents.poll()
        assert agents.running("better") == set(FLEET)


def _without_candidate(at: Any) -> bool:
    return not at.fleet.server.pipelines.candidates


async def test_a_new_pipeline_starts_with_part_of_the_collectors(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await at.create(contents=NEW, rollout=ROLLOUT)
        await phase(at, "Progressing", agents, step=0)
        await agents.poll()
        assert agents.having("new") == chosen(30)
        await phase(at, "Promoted", agents)
        await agents.poll()
        assert agents.running("new") == set(FLEET)


async def test_a_new_pipeline_that_fails_is_withdrawn(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await at.create(contents=BAD, rollout=ROLLOUT)
        await phase(at, "RolledBack", agents)
        await at.until(lambda: _without_candidate(at))
        await agents.poll()
        assert agents.having("bad") == set()
        assert at.fleet.server.pipelines.find_by_name("web").enabled is False


@pytest.mark.parametrize("text", [NEW, BAD], ids=["good", "bad"])
async def test_a_rollout_interrupted_at_every_step_goes_on(world: Any, text: str) -> None:
    end = "Promoted" if text is NEW else "RolledBack"
    async with world() as at:
        agents = Agents(at)
        async with at.operator(interval_s=10.0):
            await stable(at, agents)
        await at.patch({"spec": {"contents": text, "rollout": ROLLOUT}})
        for seconds in range(24):
            async with at.operator(interval_s=10.0):
                if seconds % 3 == 0:
                    at.fleet.fail("UpdatePipeline", at.lose_reply)
                await at.advance(seconds % 7)
            await agents.poll()
            await at.advance(5)
        async with at.operator(interval_s=10.0):
            await phase(at, end, agents)
            await at.until(lambda: _without_candidate(at))
        await agents.poll()
        running = "new" if text is NEW else "stable"
        assert agents.running(running) == set(FLEET)
        if text is BAD:
            bad = {each for each in FLEET if any('"bad"' in t for t in agents.history[each])}
            assert bad <= chosen(30)


async def test_a_pause_and_an_approval_are_heeded(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        agents = Agents(at)
        await stable(at, agents)
        rollout = {"steps": [{"matchers": ["collector.ID=edge-3"]}], "paused": True}
        await at.patch({"spec": {"contents": NEW, "rollout": rollout}})
        await phase(at, "Paused", agents)
        await agents.poll()
        assert agents.having("new") == {"edge-3"}
        await at.patch({"spec": {"rollout": {"paused": False}}})
        pipeline = await phase(at, "WaitingForApproval", agents)
        name = "fleetmanagement.grafana.com/promote"
        value = pipeline.status.rollout.candidate
        await at.patch({"metadata": {"annotations": {name: value}}})
        await phase(at, "Promoted", agents)
        await agents.poll()
        assert agents.running("new") == set(FLEET)


@pytest.mark.parametrize("fault", ["unimplemented", "html"])
async def test_a_server_that_forgets_what_it_can_changes_nothing(world: Any, fault: str) -> None:
    async with world() as at:
        agents = Agents(at)
        answer = at.html(404) if fault == "html" else at.answer(501, "unimplemented")

        async def forget(request: Any, proceed: Any) -> Any:
            if request.path.endswith("/ListDeliveries"):
                return await answer(request, proceed)
            return await proceed()

        async with at.operator(interval_s=10.0):
            await stable(at, agents)
            await at.patch({"spec": {"contents": NEW, "rollout": ROLLOUT}})
            await phase(at, "Progressing", agents, step=0)
            at.fleet.always = forget
            await at.ready("SyncFailed")
        async with at.operator(interval_s=10.0):  # a new process knows nothing of before
            await at.advance(120)
            await agents.poll()
            assert agents.having("new") == chosen(30)
            assert at.fleet.names == ["web"]
            at.fleet.always = None
            await at.advance(600)
            await phase(at, "Promoted", agents)
