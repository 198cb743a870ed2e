"""Rollouts on a server that neither divides collectors nor tells what they report."""

from typing import Any

from tests.integration.operators.pipelines.conftest import FaultyFleet

from quarterdeck.apis.fleetmanagement.v1alpha1 import PipelineSet
from quarterdeck.kit import http
from quarterdeck.operators.pipelines.canary import get_attribute
from quarterdeck.telemetry.candidates import Choice

STABLE = 'loki.write "stable" {\n}\n'
NEW = 'loki.write "new" {\n}\n'
FLEET = tuple(f"edge-{number}" for number in range(10))
PROMOTE = "fleetmanagement.grafana.com/promote"


def forget_ours(at: Any) -> None:
    """Let the server be one that does not know our own service."""
    refuse = at.answer(501, "unimplemented")

    async def fault(request: Any, proceed: Any) -> Any:
        is_ours = "/quarterdeck.v1." in request.path
        return await refuse(request, proceed) if is_ours else await proceed()

    at.fleet.always = fault


async def poll(at: Any) -> dict[str, str]:
    """What each collector gets; nobody is ever left without a text."""
    found = {}
    for identity in FLEET:
        request = {"id": identity, "localAttributes": {"env": "prod"}}
        answer = await at.fleet.server.agents.get_config(request)
        found[identity] = answer["content"]
    return found


def chosen(weight: int) -> set[str]:
    choice = Choice(salt="web", weight=weight)
    return {each for each in FLEET if choice.is_chosen(each, {})}


async def phase(at: Any, wanted: str, *, step: int | None = None) -> Any:
    async def holds() -> Any:
        texts = await poll(at)
        assert all("stable" in text or "new" in text for text in texts.values())
        pipeline = await at.get()
        status = pipeline.status.rollout
        is_there = status is not None and status.phase == wanted
        return pipeline if is_there and step in (None, status.step) else None

    return await at.until(holds, within_s=600.0)


def having(texts: dict[str, str], word: str) -> set[str]:
    return {each for each, text in texts.items() if word in text}


def marked(at: Any) -> set[str]:
    attribute = get_attribute("web")
    return {
        each.id
        for each in at.fleet.server.collectors.list_all()
        if attribute in each.remote_attributes
    }


async def begin(at: Any, **rollout: Any) -> None:
    forget_ours(at)
    await at.create(contents=STABLE)
    await at.ready("Synced")
    await poll(at)
    await at.patch({"spec": {"contents": NEW, "rollout": rollout}})


async def test_generated_matchers_divide_the_collectors(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        steps = [{"weight": 30, "duration": "1m"}, {"weight": 60, "duration": "1m"}]
        await begin(at, steps=steps, withoutDelivery="Promote")
        pipeline = await phase(at, "Progressing", step=0)
        assert pipeline.status.rollout.mechanism == "Matchers"
        texts = await poll(at)
        assert having(texts, "new") == chosen(30) == marked(at)
        assert having(texts, "stable") == set(FLEET) - chosen(30)
        await phase(at, "Progressing", step=1)
        await at.until(lambda: marked(at) == chosen(60))
        await phase(at, "Promoted")
        await at.until(lambda: not marked(at))
        assert at.fleet.names == ["web"]
        assert at.fleet.server.pipelines.find_by_name("web").matchers == ("env=prod",)
        assert having(await poll(at), "new") == set(FLEET)


async def test_without_reports_a_rollout_waits_for_people_and_can_be_taken_back(
    world: Any,
) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, steps=[{"weight": 30, "duration": "1m"}])
        pipeline = await phase(at, "WaitingForApproval")
        assert "does not report the state" in pipeline.status.rollout.message
        await at.patch({"spec": {"contents": STABLE}})
        await phase(at, "Promoted")
        await at.until(lambda: not marked(at) and at.fleet.names == ["web"])
        assert having(await poll(at), "stable") == set(FLEET)


async def test_an_interrupted_rollout_goes_on(world: Any) -> None:
    async with world() as at:
        async with at.operator(interval_s=10.0):
            await begin(at, steps=[{"weight": 30}])
        for seconds in range(8):
            async with at.operator(interval_s=10.0):
                await at.advance(seconds % 4)
            await poll(at)
        async with at.operator(interval_s=10.0):
            pipeline = await phase(at, "WaitingForApproval")
            await at.until(lambda: marked(at) == chosen(30))
            candidate = pipeline.status.rollout.candidate
            await at.patch({"metadata": {"annotations": {PROMOTE: candidate}}})
            await phase(at, "Promoted")
            await at.until(lambda: not marked(at) and at.fleet.names == ["web"])


async def test_a_deleted_pipeline_takes_its_candidate_along(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, steps=[{"weight": 30}])
        await phase(at, "WaitingForApproval")
        assert at.fleet.names == ["web", "web.canary"]
        await at.delete()
        await at.gone()
        assert at.fleet.names == [] and marked(at) == set()


async def test_the_candidate_goes_with_a_rollout_that_is_removed_during_an_outage(
    world: Any,
) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, steps=[{"weight": 30}])
        await phase(at, "WaitingForApproval")
        without_ours = at.fleet.always
        failed: list[str] = []

        async def fault(request: Any, proceed: Any) -> Any:
            if request.path.endswith("/UpdatePipeline") and len(failed) < 2:
                failed.append(request.path)
                return await at.answer(503, "unavailable")(request, proceed)
            return await without_ours(request, proceed)

        at.fleet.always = fault
        await at.patch({"spec": {"rollout": None}})
        await at.until(lambda: at.fleet.names == ["web"] and not marked(at), within_s=600.0)
        assert len(failed) == 2
        assert having(await poll(at), "new") == set(FLEET)
        assert (await at.get()).status.rollout is None


async def test_a_pipeline_renamed_during_a_rollout_leaves_no_candidate(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, steps=[{"weight": 30}])
        await phase(at, "WaitingForApproval")
        await at.patch({"spec": {"name": "site"}})
        await at.until(lambda: at.fleet.names == ["site", "site.canary"] and not marked(at))
        assert all(("stable" in each) + ("new" in each) == 1 for each in (await poll(at)).values())
        await at.delete()
        await at.gone()
        assert at.fleet.names == []
        assert not any(each.remote_attributes for each in at.fleet.server.collectors.list_all())


async def test_a_pipeline_that_moves_during_a_rollout_leaves_no_candidate(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, steps=[{"weight": 30}])
        await phase(at, "WaitingForApproval")
        other = FaultyFleet(at.clock)
        server = http.Server(other.handle, clock=at.clock)
        at.network.serve(server, "other.svc")
        try:
            await at.connect("other", url="http://other.svc", default=False)
            await at.patch({"spec": {"connectionRef": {"name": "other"}}})
            await at.until(lambda: other.names == ["web"])
            await at.until(lambda: at.fleet.names == [] and not marked(at))
        finally:
            await server.close()


async def test_a_set_that_takes_a_pipeline_during_a_rollout_leaves_no_candidate(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, steps=[{"weight": 30}])
        await phase(at, "WaitingForApproval")
        await at.patch({"metadata": {"labels": {"in": "set"}}})
        document = {
            "apiVersion": PipelineSet.KIND.api_version,
            "kind": "PipelineSet",
            "metadata": {"name": "set", "namespace": "default"},
            "spec": {
                "source": {"type": "Git", "namespace": "repo"},
                "selector": {"matchLabels": {"in": "set"}},
            },
        }
        await at.client.resource(PipelineSet.KIND.gvr).create(document)
        await at.ready("InSet")
        await at.until(lambda: at.fleet.names == ["web"] and not marked(at))
        assert having(await poll(at), "new") == set(FLEET)
        await at.until(lambda: _has_no_rollout(at))


async def _has_no_rollout(at: Any) -> bool:
    return (await at.get()).status.rollout is None
