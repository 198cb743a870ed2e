"""Jobs by polling, against a GitHub of the test's own."""

from typing import Any

import msgspec
from tests.integration.operators.machines.world import RunnerPool, World, open_world

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.jobs import read_jobs
from quarterdeck.kit import http
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.services.runners.polling import Poller


class Github:
    """Answers the questions a poller has; every job that is not listed is unknown."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = []
        self.status = 200
        self.tokens: set[str] = set()

    async def handle(self, request: http.Request) -> http.Response:
        self.tokens.add(request.headers.get("Authorization") or "")
        if "/actions/jobs/" in request.path:
            return http.Response(404, [], b"")
        if request.path.endswith("/jobs"):
            body: Any = {"jobs": self.jobs}
        else:
            body = {"workflow_runs": [{"id": 1}] if "status=queued" in request.query else []}
        return http.Response(
            self.status, [("Content-Type", "application/json")], msgspec.json.encode(body)
        )


async def make(world: World) -> None:
    await world.set_up()
    metadata = ObjectMeta(name="token", namespace="default")
    await world.client.create(Secret(metadata=metadata, string_data={"token": "t0ken"}))
    await world.create(
        RunnerPool,
        "ci",
        {
            "templateRef": {"name": "small"},
            "workload": {
                "type": "github-actions",
                "config": {"github": {"repository": "acme/web", "labels": ["linux"]}},
            },
            "polling": {
                "enabled": True,
                "interval": "30s",
                "url": "http://github.svc",
                "tokenRef": {"name": "token", "key": "token"},
            },
        },
    )


async def states(world: World) -> dict[str, str]:
    record = await world.client.get(ConfigMap, "ci-jobs", "default")
    return {job.id: job.status for job in read_jobs(record.data)}


async def test_jobs_are_noted_once_and_end_when_they_are_no_longer_listed() -> None:
    async with open_world() as world:
        await make(world)
        github, problems = Github(), list[str]()
        network = http.MemoryNetwork(clock=world.clock)
        server = http.Server(github.handle, clock=world.clock)
        network.serve(server, "github.svc")
        async with network.client(name="poller") as client:
            poller = Poller(
                world.client, client, world.clock, warn=lambda pool, text: problems.append(text)
            )
            github.jobs = [
                {"id": 7, "status": "queued", "labels": ["self-hosted", "linux"]},
                {"id": 8, "status": "queued", "labels": ["windows"]},
            ]
            await poller.poll_due()
            assert await states(world) == {"7": "queued"}
            github.jobs = []
            await poller.poll_due()
            assert await states(world) == {"7": "queued"}
            await world.advance(31)
            await poller.poll_due()
            assert await states(world) == {"7": "completed"}
            github.status = 403
            await world.advance(31)
            await poller.poll_due()
            assert "403" in problems[0]
            assert "t0ken" not in problems[0]
        assert github.tokens == {"Bearer t0ken"}
        await server.close()
