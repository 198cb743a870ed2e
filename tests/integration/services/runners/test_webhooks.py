"""Deliveries of GitHub: who is believed, and which pool notes a job."""

from typing import Any

import msgspec
import pytest
from tests.integration.operators.machines.world import RunnerPool, World, open_world

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.jobs import read_jobs
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.services.runners.events import EVENT, SIGNATURE, sign
from quarterdeck.services.runners.service import PATH, RunnerWebhooks
from quarterdeck.wire.status import Forbidden, NotFound

SECRET = "s3cret"


def deliver(
    body: bytes, *, event: str = "workflow_job", signature: str | None = None
) -> http.Request:
    proof = sign(body, SECRET) if signature is None else signature
    headers = [(SIGNATURE, proof), *([(EVENT, event)] if event else [])]
    return http.Request.of("POST", PATH, headers=headers, body=body)


def build_job(*, action: str = "queued", labels: tuple[str, ...] = ("linux",)) -> bytes:
    job = {"id": 7, "labels": labels}
    repository = {"full_name": "acme/web"}
    return msgspec.json.encode({"action": action, "workflow_job": job, "repository": repository})


class Deliveries:
    """Webhooks of a world, and what they counted."""

    def __init__(self, world: World) -> None:
        self.counted: list[tuple[str, str]] = []
        self.webhooks = RunnerWebhooks(world.client, world.clock, count=self._count)

    def _count(self, action: str, result: str) -> None:
        self.counted.append((action, result))

    async def send(self, request: http.Request) -> tuple[int, str]:
        answer = await self.webhooks.handle(request)
        return answer.status, msgspec.json.decode(answer.body)["message"]


async def make_pool(world: World, name: str = "ci", **webhook: Any) -> None:
    metadata = ObjectMeta(name="hook", namespace="default")
    if not await world.client.list(Secret):
        await world.client.create(Secret(metadata=metadata, string_data={"key": SECRET}))
    github = {"repository": "web", "organization": "acme", "labels": ["linux"]}
    spec = {
        "templateRef": {"name": "small"},
        "workload": {"type": "github-actions", "config": {"github": github}},
        "webhook": {"enabled": True, "secretRef": {"name": "hook", "key": "key"}, **webhook},
    }
    await world.create(RunnerPool, name, spec)


async def read_states(world: World, pool: str = "ci") -> dict[str, str]:
    record = await world.client.get(ConfigMap, f"{pool}-jobs", "default")
    return {job.id: job.status for job in read_jobs(record.data)}


async def test_a_signed_delivery_is_noted_once() -> None:
    async with open_world() as world:
        await make_pool(world)
        await make_pool(world, "other")
        deliveries = Deliveries(world)
        for _ in range(2):
            assert (await deliveries.send(deliver(build_job())))[0] == 202
        assert await read_states(world) == {"7": "queued"}
        assert deliveries.counted == [("queued", "noted"), ("queued", "known")]


_OTHERS: list[tuple[http.Request, int, str, list[tuple[str, str]]]] = [
    (deliver(b"{}", event="ping"), 200, "pong", []),
    (deliver(b"{}", event="push"), 202, "push", [("push", "ignored")]),
    (deliver(b"{}", event=""), 202, "event", [("unknown", "ignored")]),
    (deliver(build_job(action="waiting")), 202, "action", [("workflow_job", "ignored")]),
    (deliver(build_job(labels=("windows",))), 202, "labels", [("queued", "unmatched")]),
    (deliver(b"{}", signature="sha256=" + "0" * 64), 401, "signature",
     [("workflow_job", "refused")]),
    (deliver(b"{}", signature="none", event="of-a-stranger"), 401, "signature",
     [("unknown", "refused")]),
    (deliver(b"{}", signature="none", event=""), 401, "signature", [("unknown", "refused")]),
    (deliver(b'{"action": "queued"}'), 400, "`workflow_job`", [("workflow_job", "invalid")]),
    (http.Request.of("GET", "/healthz"), 200, "ok", []),
    (http.Request.of("GET", "/readyz"), 200, "ok", []),
    (http.Request.of("POST", "/healthz"), 404, PATH, []),
    (http.Request.of("GET", PATH), 405, "POST", []),
]  # fmt: skip


async def test_other_deliveries_change_nothing() -> None:
    async with open_world() as world:
        await make_pool(world)
        for request, status, word, counted in _OTHERS:
            deliveries = Deliveries(world)
            answer = await deliveries.send(request)
            assert (answer[0], word in answer[1]) == (status, True), answer
            assert deliveries.counted == counted
        with pytest.raises(NotFound):
            await read_states(world)


async def test_job_stays_with_the_pool_that_recorded_it() -> None:
    async with open_world() as world:
        await make_pool(world, "beta")
        assert (await Deliveries(world).send(deliver(build_job())))[0] == 202
        await make_pool(world, "alpha")
        answer = await Deliveries(world).send(deliver(build_job(action="in_progress")))
        assert answer == (202, "recorded for default/beta")
        await world.patch(RunnerPool, "beta", {"spec": {"webhook": {"labelsMatch": ["other"]}}})
        answer = await Deliveries(world).send(deliver(build_job(action="completed")))
        assert answer == (202, "recorded for default/beta")
        assert await read_states(world, "beta") == {"7": "completed"}
        with pytest.raises(NotFound):
            await read_states(world, "alpha")


_WITHOUT_SECRET: list[dict[str, Any]] = [
    {"enabled": False},
    {"secretRef": None},
    {"secretRef": {"name": "none", "key": "key"}},
    {"secretRef": {"name": "hook", "key": "key", "namespace": "other"}},
    {"secretRef": {"name": "hook", "key": "other"}},
]


async def test_a_pool_without_a_secret_of_its_own_believes_nobody() -> None:
    async with open_world() as world:
        for number, webhook in enumerate(_WITHOUT_SECRET):
            await make_pool(world, f"ci-{number}", **webhook)
        assert (await Deliveries(world).send(deliver(build_job())))[0] == 401
        await make_pool(world)
        assert (await Deliveries(world).send(deliver(build_job())))[0] == 202
        assert await read_states(world) == {"7": "queued"}


async def test_pools_are_read_again_after_a_moment() -> None:
    async with open_world() as world:
        deliveries = Deliveries(world)
        assert (await deliveries.send(deliver(build_job())))[0] == 401
        await make_pool(world, labelsMatch=["linux"])
        assert (await deliveries.send(deliver(build_job())))[0] == 401
        await world.advance(3)
        assert (await deliveries.send(deliver(build_job())))[0] == 202


async def test_without_the_right_to_pools_github_is_asked_to_come_again() -> None:
    async def refuse(_: http.Request) -> http.Response:
        return http.Response(403, [("content-type", "application/json")], Forbidden("no").encode())

    clock = VirtualClock()
    network = http.MemoryNetwork(clock=clock)
    server = http.Server(refuse, clock=clock)
    config = ClusterConfig(server=network.serve(server, "api.svc"))
    counted: list[tuple[str, str]] = []
    async with Client(config, clock=clock, network=network) as client:
        webhooks = RunnerWebhooks(client, clock, count=lambda *each: counted.append(each))
        answer = await webhooks.handle(deliver(build_job()))
    await server.close()
    assert (answer.status, b"Forbidden" in answer.body) == (503, True)
    assert counted == [("unknown", "unavailable")]
