"""Experiments that end by a condition or after a duration."""

from typing import Any

import pytest
from tests.integration.operators.experiments.world import experiment, running

from quarterdeck.meta.conditions import find
from quarterdeck.operators.experiments.foreign import ArgoWorkflow
from quarterdeck.wire.status import Invalid

HANG = {"sim.illm.io/workflow-fail": "hang"}
OUTPUTS = '{"verdict": "pass", "metric.p99": "0.4"}'


def ending(name: str, mode: str, annotations: Any = None, **members: Any) -> dict[str, Any]:
    """An experiment with a completion mode; `repeats` goes to its spec."""
    spec = {"repeats": members.pop("repeats")} if "repeats" in members else {}
    workflow = {"template": "smoke", "completion": {"mode": mode, **members}}
    return experiment(name, workflow=workflow, annotations=annotations, **spec)


async def test_a_condition_ends_the_repeats_of_the_workflow() -> None:
    async with running() as world:
        await world.template("smoke", outputs=OUTPUTS)
        condition = "runs >= 2 && metrics.p99 < 0.5"
        await world.create(ending("enough", "condition", condition=condition, repeats=5))
        done = await world.cleaned("enough")
        assert done.status.phase == "Complete", done.status
        assert [each.phase for each in done.status.runs] == ["Succeeded", "Succeeded"]
        assert condition in done.status.message


async def test_a_condition_that_is_never_met_fails_the_experiment() -> None:
    async with running() as world:
        await world.template("smoke", outputs=OUTPUTS)
        await world.create(ending("slow", "condition", condition="metrics.p99 < 0.1", repeats=2))
        done = await world.cleaned("slow")
        assert (done.status.phase, done.status.reason) == ("Failed", "ConditionNotMet")
        assert "metrics.p99 = 0.4" in done.status.message
        assert len(done.status.runs) == 2


async def test_a_condition_ends_a_workflow_that_still_runs() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(
            ending("early", "condition", HANG, condition="outputs.verdict == 'pass'")
        )
        await world.until(
            "early",
            lambda each: (
                each.status.workflow_status is not None
                and each.status.workflow_status.phase == "Running"
            ),
        )
        outputs = {"parameters": [{"name": "verdict", "value": "pass"}]}
        await world.client.patch(
            await world.client.get(ArgoWorkflow, "early-validation", "argo-workflows"),
            {"status": {"outputs": outputs}},
        )
        done = await world.cleaned("early")
        assert done.status.phase == "Complete", done.status
        stopped = find(done.status.conditions, "WorkflowSucceeded")
        assert stopped is not None
        assert (stopped.status, stopped.reason) == ("False", "Stopped")
        assert await world.leftovers() == []


async def test_an_experiment_runs_for_its_duration_after_its_workflow() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(ending("soak", "duration", duration="15s"))  # a busy machine is late
        waiting = await world.until("soak", lambda each: each.status.reason == "AwaitingDuration")
        assert waiting.status.phase == "Running"
        done = await world.cleaned("soak")
        assert done.status.phase == "Complete", done.status


async def test_a_workflow_that_outlasts_the_duration_is_stopped() -> None:
    async with running() as world:
        await world.template("smoke")
        await world.create(ending("long", "duration", HANG, duration="500ms"))
        done = await world.cleaned("long")
        assert done.status.phase == "Complete", done.status
        assert "has run for 500ms" in done.status.message
        assert await world.leftovers() == []


async def test_a_workflow_that_fails_ends_the_duration() -> None:
    async with running() as world:
        await world.template("smoke")
        fails = {"sim.illm.io/workflow-fail": "fail"}
        await world.create(ending("sick", "duration", fails, duration="10m"))
        done = await world.cleaned("sick")
        assert (done.status.phase, done.status.reason) == ("Failed", "WorkflowFailed")


@pytest.mark.parametrize(
    ("completion", "field"),
    [
        ({"mode": "condition"}, "condition"),
        ({"mode": "duration"}, "duration"),
        ({"mode": "workflow", "condition": "true"}, "condition"),
        ({"mode": "manual", "duration": "5m"}, "duration"),
    ],
)
async def test_the_server_refuses_a_mode_without_its_field(
    completion: dict[str, str], field: str
) -> None:
    async with running() as world:
        document = ending("wrong", **completion)
        with pytest.raises(Invalid, match=f"{field} must be set with mode {field}"):
            await world.create(document)
