"""A poller whose pools or GitHub are not as they should be."""

import base64
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest
from tests.integration.operators.machines.world import RunnerPool, World, open_world

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.jobs import read_jobs
from quarterdeck.kit import http
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.services.runners.polling import Poller
from quarterdeck.wire.status import NotFound

URL = "http://github.svc"


class Github:
    """Answers with one run and the jobs of the test."""

    def __init__(self, jobs: bytes = b'{"jobs": []}', status: int = 200) -> None:
        self.jobs, self.status = jobs, status
        self.asked: list[tuple[str, str]] = []

    async def handle(self, request: http.Request) -> http.Response:
        token = request.headers.get("Authorization") or ""
        self.asked.append((request.path, token))
        runs = b'{"workflow_runs": [{"id": 1}]}'
        return http.Response(self.status, [], self.jobs if request.path.endswith("/jobs") else runs)


class Queue(Github):
    """Answers with the runs of the test, each with one queued job, in pages of 100."""

    def __init__(self, runs: int, ended: bytes = b"") -> None:
        super().__init__()
        self.runs = list(range(1, runs + 1))
        self.ended = ended
        """What is answered for a job by itself; 404 if empty."""

    async def handle(self, request: http.Request) -> http.Response:
        self.asked.append((request.path, ""))
        *_, kind, last = request.path.split("/")
        if kind == "jobs":
            return http.Response(200 if self.ended else 404, [], self.ended)
        if last == "jobs":
            job = {"id": int(kind), "status": "queued", "labels": ["linux"]}
            return http.Response(200, [], msgspec.json.encode({"jobs": [job]}))
        query = dict(parse_qsl(request.query))
        start = 100 * (int(query.get("page", "1")) - 1)
        found = self.runs[start : start + 100] if query["status"] == "queued" else []
        body = {"workflow_runs": [{"id": each} for each in found]}
        return http.Response(200, [], msgspec.json.encode(body))


async def read_states(world: World, pool: str) -> dict[str, str]:
    try:
        record = await world.client.get(ConfigMap, f"{pool}-jobs", "default")
    except NotFound:
        return {}
    return {job.id: job.status for job in read_jobs(record.data)}


async def make_pool(world: World, name: str, github: dict[str, Any] | None, **polling: Any) -> None:
    workload: dict[str, Any] = {"type": "github-actions"}
    if github is not None:
        workload["config"] = {"github": github}
    spec = {
        "templateRef": {"name": "small"},
        "workload": workload,
        "polling": {"enabled": True, "url": URL, **polling},
    }
    await world.create(RunnerPool, name, spec)


async def poll(world: World, github: Github) -> list[tuple[str, str]]:
    """Ask once for every pool; what was warned of."""
    warnings: list[tuple[str, str]] = []
    network = http.MemoryNetwork(clock=world.clock)
    server = http.Server(github.handle, clock=world.clock)
    network.serve(server, "github.svc")
    async with network.client(name="poller") as client:
        poller = Poller(world.client, client, world.clock, warn=lambda *each: warnings.append(each))
        await poller.poll_due()
    await server.close()
    return warnings


async def test_jobs_of_an_organization_and_unknown_states_are_told_apart() -> None:
    jobs = (
        b'{"jobs": [{"id": 7, "status": "in_progress", "labels": ["linux"], "runner_name": "r"},'
        b' {"id": 8, "status": "waiting", "labels": ["linux"]}]}'
    )
    async with open_world() as world:
        await make_pool(
            world, "ci", {"repository": "web", "organization": "acme", "labels": ["linux"]}
        )
        await make_pool(world, "off", {"repository": "acme/web"}, enabled=False)
        github = Github(jobs)
        assert await poll(world, github) == []
        record = await world.client.get(ConfigMap, "ci-jobs", "default")
        (job,) = read_jobs(record.data)
        assert (job.id, job.status, job.runner) == ("7", "in_progress", "r")
        assert {path.partition("/actions")[0] for path, _ in github.asked} == {"/repos/acme/web"}
        assert {token for _, token in github.asked} == {""}


async def test_a_pool_that_cannot_be_asked_for_is_warned_of() -> None:
    async with open_world() as world:
        await make_pool(world, "nameless", None)
        await make_pool(world, "owner", {"organization": "acme"})
        reference = {"name": "none", "key": "key"}
        await make_pool(world, "secret", {"repository": "acme/web"}, tokenRef=reference)
        warnings = dict(await poll(world, Github()))
        assert set(warnings) == {"default/nameless", "default/owner", "default/secret"}
        for name in ("default/nameless", "default/owner"):
            assert "spec.workload.config.github.repository" in warnings[name]
            assert "OWNER/NAME" in warnings[name]
        assert "Secret none" in warnings["default/secret"]


async def test_bad_answers_are_told_without_the_token() -> None:
    async with open_world() as world:
        metadata = ObjectMeta(name="token", namespace="default")
        await world.client.create(Secret(metadata=metadata, string_data={"key": " t0ken\n"}))
        reference = {"name": "token", "key": "key"}
        await make_pool(world, "ci", {"repository": "acme/web"}, tokenRef=reference)
        refused, broken = Github(status=502), Github(b'{"jobs": "t0ken"}')
        [(pool, problem)] = await poll(world, refused)
        assert pool == "default/ci"
        assert URL in problem and "502" in problem and "acme/web" in problem
        assert {token for _, token in refused.asked} == {"Bearer t0ken"}
        [(_, problem)] = await poll(world, broken)
        assert URL in problem and "$.jobs" in problem
        assert "t0ken" not in problem


async def test_pool_that_no_request_can_be_made_of_does_not_end_the_poller() -> None:
    async with open_world() as world:
        good = {"repository": "acme/web"}
        await make_pool(world, "address", good, url="https://[half")
        await make_pool(world, "port", good, url="https://github.svc:99999")
        await make_pool(world, "name", {"repository": "acme/gr\u00f6\u00dfe"})
        for name, value in (("line", b"top\nsecret"), ("bytes", b"secret\xff")):
            metadata = ObjectMeta(name=name, namespace="default")
            data = {"key": base64.b64encode(value).decode()}
            await world.client.create(Secret(metadata=metadata, data=data))
            await make_pool(world, name, good, tokenRef={"name": name, "key": "key"})
        await make_pool(world, "zz-good", good)
        github = Github()
        warnings = {pool.partition("/")[2]: text for pool, text in await poll(world, github)}
        fields = "spec.polling.url or spec.workload.config.github.repository cannot be used: "
        assert warnings["address"] == f"{fields}Invalid IPv6 URL"
        assert warnings["port"].startswith(fields)
        assert warnings["name"].startswith(fields)
        for name in ("line", "bytes"):
            start = f"spec.polling.tokenRef: the value of key key of Secret {name} has characters"
            assert warnings[name].startswith(start)
            assert "secret" not in warnings[name]
        assert "zz-good" not in warnings
        assert {path.partition("/actions")[0] for path, _ in github.asked} == {"/repos/acme/web"}


async def test_the_pool_says_whether_it_can_be_polled() -> None:
    async with open_world() as world, world.operator():
        await make_pool(world, "ci", {"repository": "acme/web"}, interval="1s")

        async def has(status: str, reason: str) -> bool:
            pool = await world.get(RunnerPool, "ci")
            found = next((each for each in pool.status.conditions if each.type == "Polling"), None)
            return found is not None and (found.status, found.reason) == (status, reason)

        await poll(world, Github(status=502))
        await world.until(lambda: has("False", "PollingFailed"))
        assert "PollingFailed" in await world.events()
        await poll(world, Github())
        await world.until(lambda: has("True", "Polled"))
        await world.patch(RunnerPool, "ci", {"spec": {"polling": {"enabled": False}}})
        await world.until(lambda: has("False", "PollingDisabled"))


async def test_queue_of_several_pages_is_recorded_whole() -> None:
    async with open_world() as world:
        await make_pool(world, "ci", {"repository": "acme/web", "labels": ["linux"]})
        for _ in range(2):
            assert await poll(world, Queue(102)) == []
            states = await read_states(world, "ci")
            assert len(states) == 102
            assert set(states.values()) == {"queued"}


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param(b'{"id": 1, "status": "queued"}', "queued", id="between two lists"),
        pytest.param(b'{"id": 1, "status": "waiting"}', "queued", id="waiting for an approval"),
        pytest.param(b'{"id": 1, "status": "in_progress"}', "in_progress", id="running"),
        pytest.param(b'{"id": 1, "status": "completed"}', "completed", id="ended"),
        pytest.param(b"", "completed", id="deleted"),
    ],
)
async def test_job_in_no_list_has_ended_only_if_github_says_so(answer: bytes, status: str) -> None:
    async with open_world() as world:
        await make_pool(world, "ci", {"repository": "acme/web", "labels": ["linux"]})
        assert await poll(world, Queue(1)) == []
        assert await read_states(world, "ci") == {"1": "queued"}
        assert await poll(world, Queue(0, answer)) == []
        assert await read_states(world, "ci") == {"1": status}


async def test_job_that_two_pools_serve_is_recorded_for_one_of_them() -> None:
    async with open_world() as world:
        place = {"repository": "acme/web", "labels": ["linux"]}
        for name in ("b", "c"):
            await make_pool(world, name, place)
        assert await poll(world, Queue(1)) == []
        assert (await read_states(world, "b"), await read_states(world, "c")) == (
            {"1": "queued"},
            {},
        )
        await make_pool(world, "a", place)
        assert await poll(world, Queue(2)) == []
        assert await read_states(world, "a") == {"2": "queued"}
        assert await read_states(world, "b") == {"1": "queued"}
