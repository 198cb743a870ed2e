"""Runner pools: demand by webhook, runners on the simulator, busy ones spared."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.integration.operators.machines.world import (
    MachineClaim,
    RunnerPool,
    World,
    condition,
    open_world,
)

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.jobs import QUEUE_S, RUN_S, Job
from quarterdeck.apis.hypervisor.names import PRESERVE
from quarterdeck.kit import http, rfc3339
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.machinespec import build_runner_name
from quarterdeck.operators.machines.pool import CORDON
from quarterdeck.services.runners.events import EVENT, SIGNATURE, sign
from quarterdeck.services.runners.record import write_job
from quarterdeck.services.runners.service import PATH, RunnerWebhooks
from quarterdeck.wire.query import DeleteOptions

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


SECRET = "webhook-secret"


async def make(world: World, **scaling: Any) -> None:
    await world.set_up()
    metadata = ObjectMeta(name="hook", namespace="default")
    await world.client.create(Secret(metadata=metadata, string_data={"secret": SECRET}))
    lifecycle = scaling.pop("lifecycle", {})
    await world.create(
        RunnerPool,
        "ci",
        {
            "templateRef": {"name": "small"},
            "workload": {
                "type": "github-actions",
                "config": {"github": {"organization": "acme", "labels": ["linux"]}},
            },
            "scaling": {"minReplicas": 1, "maxReplicas": 4, "scaleDownDelay": "60s", **scaling},
            "lifecycle": lifecycle,
            "webhook": {"enabled": True, "secretRef": {"name": "hook", "key": "secret"}},
        },
    )


async def deliver(
    world: World,
    action: str,
    job: int,
    *,
    runner: str = "",
    labels: Sequence[str] = ("self-hosted", "linux"),
    secret: str = SECRET,
    kind: str = "workflow_job",
) -> int:
    """Send what GitHub sends; returns the status of the answer."""
    payload = {
        "action": action,
        "workflow_job": {"id": job, "labels": list(labels), "runner_name": runner or None},
        "repository": {"full_name": "acme/web"},
        "organization": {"login": "acme"},
    }
    body = msgspec.json.encode(payload)
    network = http.MemoryNetwork(clock=world.clock)
    server = http.Server(RunnerWebhooks(world.client, world.clock).handle, clock=world.clock)
    url = network.serve(server, "hooks")
    async with network.client(name="github") as client:
        headers = [(EVENT, kind), (SIGNATURE, sign(body, secret))]
        answer = await client.request("POST", f"{url}{PATH}", headers=headers, body=body)
        await answer.read()
    await server.close()
    return answer.status


async def runners(world: World, count: int, within_s: float = 120.0) -> list[MachineClaim]:
    """Wait until so many runners are ready and no others exist."""

    async def holds() -> list[MachineClaim] | None:
        claims = await world.list_all(MachineClaim)
        ready = [claim for claim in claims if claim.status.phase == "Ready"]
        return ready if len(ready) == len(claims) == count else None

    found: list[MachineClaim] = await world.until(holds, within_s=within_s)
    return found


async def has_busy(world: World, count: int) -> bool:
    return (await world.get(RunnerPool, "ci")).status.busy_replicas == count


async def test_pool_keeps_its_idle_minimum() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await runners(world, 1)

        async def counted() -> bool:
            status = (await world.get(RunnerPool, "ci")).status
            return (status.idle_replicas, status.busy_replicas, status.desired_replicas) == (
                1,
                0,
                1,
            )

        await world.until(counted)


async def test_queued_jobs_bring_runners_and_quiet_takes_them_away() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await runners(world, 1)
        for job in (1, 2):
            assert await deliver(world, "queued", job) == 202
        await runners(world, 3)
        for job in (1, 2):
            assert await deliver(world, "completed", job) == 202
        await world.advance(30)
        assert len(await world.list_all(MachineClaim)) == 3
        await runners(world, 1, within_s=200.0)


async def test_busy_runner_is_never_removed() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0)
        await deliver(world, "queued", 1)
        (claim,) = await runners(world, 1)
        await deliver(world, "in_progress", 1, runner=build_runner_name(claim))
        await world.advance(200)
        (same,) = await world.list_all(MachineClaim)
        assert same.metadata.uid == claim.metadata.uid
        await world.delete(MachineClaim, claim.metadata.name)
        await world.advance(400)
        assert claim.metadata.name in world.ours()
        await deliver(world, "completed", 1, runner=build_runner_name(claim))
        await world.until(lambda: world.ours() == [], within_s=120.0)


async def test_job_timeout_ends_even_a_busy_runner() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0, lifecycle={"jobTimeout": "5m"})
        await deliver(world, "queued", 1)
        (claim,) = await runners(world, 1)
        await deliver(world, "in_progress", 1, runner=build_runner_name(claim))
        await world.until(lambda: claim.metadata.name not in world.ours(), within_s=600.0)


async def test_job_timeout_ends_the_job_of_a_runner_that_somebody_deleted() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0, lifecycle={"jobTimeout": "5m"})
        await deliver(world, "queued", 1)
        (claim,) = await runners(world, 1)
        await deliver(world, "in_progress", 1, runner=build_runner_name(claim))
        await world.until(lambda: has_busy(world, 1))
        await world.delete(MachineClaim, claim.metadata.name)
        await world.advance(120)
        assert world.ours() == [claim.metadata.name]
        await world.until(lambda: claim.metadata.name not in world.ours(), within_s=600.0)
        assert "JobTimeout" in await world.events()


@pytest.mark.parametrize(
    ("phase", "is_busy"),
    [
        pytest.param("JobCompleted", False, id="completed"),
        pytest.param("Failed", True, id="failed, and still busy by the report before"),
    ],
)
async def test_runner_whose_agent_reports_the_end_of_its_job_waits_for_no_delivery(
    phase: str, is_busy: bool
) -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0)
        await deliver(world, "queued", 1)
        (claim,) = await runners(world, 1)
        name = claim.metadata.name
        await deliver(world, "in_progress", 1, runner=build_runner_name(claim))
        await world.until(lambda: has_busy(world, 1))
        statuses = world.client.resource(MachineClaim.KIND.gvr).subresource("status")
        report = {"bootstrapInfo": phase, "job": {"busy": is_busy}}
        await statuses.patch(name, {"status": report}, namespace="default")
        vm = world.lab.vms[world.vms[name].id]
        world.lab.set_power(vm, vm.power.STOPPED, 0.0)  # the delivery of its end was lost
        await world.until(lambda: name not in world.ours(), within_s=300.0)


async def test_runner_that_powers_itself_off_vanishes_and_is_replaced() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        (claim,) = await runners(world, 1)
        vm = world.lab.vms[world.vms[claim.metadata.name].id]
        world.lab.set_power(vm, vm.power.STOPPED, 0.0)
        await world.until(lambda: claim.metadata.name not in world.ours(), within_s=300.0)
        await runners(world, 1)


async def test_wrong_signature_and_foreign_labels_change_nothing() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await runners(world, 1)
        assert await deliver(world, "queued", 1, secret="guess") == 401
        assert await deliver(world, "queued", 2, labels=("windows",)) == 202
        assert await deliver(world, "opened", 3, kind="pull_request") == 202
        await world.advance(60)
        assert len(await world.list_all(MachineClaim)) == 1


async def test_runner_that_becomes_busy_between_choice_and_deletion_is_spared() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0)
        await deliver(world, "queued", 1)
        (claim,) = await runners(world, 1)
        await deliver(world, "completed", 1)

        async def is_marked() -> bool:
            (same,) = await world.list_all(MachineClaim)
            return CORDON in same.metadata.annotations

        await world.until(is_marked, within_s=200.0)
        await deliver(world, "in_progress", 2, runner=build_runner_name(claim))
        await world.advance(200)
        (same,) = await world.list_all(MachineClaim)
        assert not same.is_deleting
        assert CORDON not in same.metadata.annotations


async def test_pool_says_why_its_runners_do_not_start() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0)
        changes = {"templateRef": {"name": "missing"}, "scaling": {"minReplicas": 1}}
        await world.patch(RunnerPool, "ci", {"spec": changes})

        async def holds() -> RunnerPool | None:
            pool = await world.get(RunnerPool, "ci")
            return pool if condition(pool).reason == "TemplateNotFound" else None

        pool = await world.until(holds)
        assert "HypervisorMachineTemplate default/missing not found" in condition(pool).message


async def test_pool_names_the_secret_that_its_webhook_lacks() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        secrets = world.client.resource(Secret.KIND.gvr)

        async def has(status: str) -> RunnerPool | None:
            pool = await world.get(RunnerPool, "ci")
            return pool if condition(pool, "Unsupported").status == status else None

        await secrets.delete("hook", "default")
        pool = await world.until(lambda: has("True"))
        text = "spec.webhook (Secret default/hook not found: every delivery is rejected)"
        assert text in condition(pool, "Unsupported").message
        metadata = ObjectMeta(name="hook", namespace="default")
        await world.client.create(Secret(metadata=metadata, string_data={"secret": SECRET}))
        await world.until(lambda: has("False"))


async def test_failed_runner_is_replaced_unless_somebody_keeps_it() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        (first,) = await runners(world, 1)
        await world.patch(
            MachineClaim, first.metadata.name, {"metadata": {"annotations": {PRESERVE: "true"}}}
        )
        world.lab.vms[world.vms[first.metadata.name].id].name = "taken"

        async def is_replaced() -> bool:
            claims = {each.metadata.name: each for each in await world.list_all(MachineClaim)}
            ready = [each for each in claims.values() if each.status.phase == "Ready"]
            return claims[first.metadata.name].status.phase == "Failed" and len(ready) == 1

        await world.until(is_replaced)
        await world.patch(
            MachineClaim, first.metadata.name, {"metadata": {"annotations": {PRESERVE: None}}}
        )
        await world.gone(MachineClaim, first.metadata.name)
        assert (await world.get(RunnerPool, "ci")).status.failures == 1


async def test_paused_pool_changes_nothing() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await runners(world, 1)
        patch = {"spec": {"paused": True, "scaling": {"minReplicas": 3}}}
        await world.patch(RunnerPool, "ci", patch)
        await world.advance(120)
        assert len(await world.list_all(MachineClaim)) == 1
        await world.patch(RunnerPool, "ci", {"spec": {"paused": False}})
        await runners(world, 3)


@pytest.mark.parametrize(
    ("webhook", "text"),
    [
        pytest.param({"secretRef": None}, "spec.webhook.secretRef is not set", id="none"),
        pytest.param(
            {"secretRef": {"name": "hook", "namespace": "other"}},
            "Secret other/hook is in another namespace",
            id="another namespace",
        ),
        pytest.param({"secretRef": {"name": "gone"}}, "Secret default/gone not found", id="gone"),
    ],
)
async def test_webhook_without_a_usable_secret_is_named(webhook: dict[str, Any], text: str) -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await world.patch(RunnerPool, "ci", {"spec": {"webhook": webhook}})

        async def is_named() -> bool:
            found = (await world.get(RunnerPool, "ci")).status.conditions
            return any(text in each.message for each in found)

        await world.until(is_named)


async def test_job_that_is_queued_for_longer_than_github_allows_needs_no_runner() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0)
        since = rfc3339.format_time(world.clock.now() - timedelta(seconds=QUEUE_S - 120.0))
        pool = await world.get(RunnerPool, "ci")
        await write_job(world.client, pool, Job(id="1", since=since), world.clock.now())
        await runners(world, 1)
        await world.until(lambda: world.ours() == [], within_s=400.0)
        assert (await world.get(RunnerPool, "ci")).status.queued_jobs == 0


async def test_job_that_ran_for_longer_than_github_allows_holds_no_runner() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=1)
        (claim,) = await runners(world, 1)
        since = rfc3339.format_time(world.clock.now() - timedelta(seconds=RUN_S - 120.0))
        job = Job(id="1", status="in_progress", runner=build_runner_name(claim), since=since)
        pool = await world.get(RunnerPool, "ci")
        await write_job(world.client, pool, job, world.clock.now())
        await world.until(lambda: has_busy(world, 1))
        await world.delete(MachineClaim, claim.metadata.name)
        await world.advance(60)
        assert claim.metadata.name in world.ours()
        await world.until(lambda: claim.metadata.name not in world.ours(), within_s=300.0)
        await world.until(lambda: has_busy(world, 0))


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_deleted_pool_waits_for_the_jobs_of_its_runners(policy: str) -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=2)
        await deliver(world, "queued", 1)
        claim, *_ = await runners(world, 3)
        name = claim.metadata.name
        await deliver(world, "in_progress", 1, runner=build_runner_name(claim))
        await world.until(lambda: has_busy(world, 1))
        options = DeleteOptions(propagation_policy=policy)
        await world.client.delete(RunnerPool, "ci", "default", options)
        await world.until(lambda: world.ours() == [name], within_s=120.0)
        await world.advance(900)
        assert world.ours() == [name]
        assert condition(await world.get(RunnerPool, "ci")).reason == "Draining"
        assert await deliver(world, "completed", 1, runner=build_runner_name(claim)) == 202
        await world.gone(RunnerPool, "ci", within_s=120.0)
        await world.gone(ConfigMap, "ci-jobs")
        assert world.ours() == []


async def test_job_timeout_ends_the_job_of_a_deleted_pool() -> None:
    async with open_world() as world, world.operator():
        await make(world, minReplicas=0, lifecycle={"jobTimeout": "5m"})
        await deliver(world, "queued", 1)
        (claim,) = await runners(world, 1)
        await deliver(world, "in_progress", 1, runner=build_runner_name(claim))
        await world.until(lambda: has_busy(world, 1))
        await world.delete(RunnerPool, "ci")
        await world.advance(120)
        assert world.ours() == [claim.metadata.name]
        await world.gone(RunnerPool, "ci", within_s=600.0)
        assert world.ours() == []


async def test_runners_of_a_pool_deleted_as_an_orphan_stay() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        (claim,) = await runners(world, 1)
        options = DeleteOptions(propagation_policy="Orphan")
        await world.client.delete(RunnerPool, "ci", "default", options)
        await world.gone(RunnerPool, "ci")
        await world.advance(120)
        left = await world.get(MachineClaim, claim.metadata.name)
        assert (left.is_deleting, left.metadata.owner_references) == (False, ())
