"""What the server acknowledged is there after `kill -9` at any instant."""

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from quarterdeck.kit import http

KILLS = int(os.environ.get("QUARTERDECK_KILLS", "25"))
MAPS = "/api/v1/namespaces/default/configmaps"
WORKERS = 16

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300 + 20 * KILLS)]


class Server:
    """A server process on one folder, started anew after each kill."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self.url = ""

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "quarterdeck.cli", "server", "--data-dir", str(self._folder)),
            *("--port", "0", "--http-port", "0"),
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        while line := (await self._process.stdout.readline()).decode():
            if line.startswith("listening on http://"):
                self.url = line.split()[-1]
            if line.startswith("ready"):
                return
        pytest.fail("the server did not start again")

    async def end(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        await self._process.communicate()


async def _write(
    server: Server, prefix: str, acknowledged: dict[str, int], begun: asyncio.Event
) -> None:
    """Create and change objects until the server is gone; the first answer is told."""
    async with http.Client() as client:
        number = 0
        while True:
            name = f"{prefix}-{number}"
            number += 1
            for method, path, media in (
                ("POST", MAPS, "application/json"),
                ("PATCH", f"{MAPS}/{name}", "application/merge-patch+json"),
            ):
                body = {"metadata": {"name": name}, "data": {"method": method}}
                try:
                    answer = await client.request(
                        method,
                        server.url + path,
                        headers=[("Content-Type", media)],
                        body=json.dumps(body).encode(),
                    )
                    value = json.loads(await answer.read())
                except (http.HttpError, OSError, ValueError):
                    return
                acknowledged[name] = int(value["metadata"]["resourceVersion"])
                begun.set()


async def test_acknowledged_writes_survive_kills(tmp_path: Path) -> None:
    chance = random.Random(7)
    server = Server(tmp_path / "data")
    acknowledged: dict[str, int] = {}
    for kill in range(KILLS):
        await server.start()
        await _check(server, acknowledged)
        begun = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for worker in range(WORKERS):
                group.create_task(_write(server, f"k{kill}-w{worker}", acknowledged, begun))
            async with asyncio.timeout(240):
                await begun.wait()
            await asyncio.sleep(chance.random() * 0.3)
            await server.end(signal.SIGKILL)
    await server.start()
    await _check(server, acknowledged)
    await server.end(signal.SIGTERM)


async def _check(server: Server, acknowledged: dict[str, int]) -> None:
    async with http.Client() as client:
        answer = await client.request("GET", server.url + MAPS)
        listed = json.loads(await answer.read())
    found = {
        item["metadata"]["name"]: int(item["metadata"]["resourceVersion"])
        for item in listed["items"]
    }
    lost = {name for name, version in acknowledged.items() if found.get(name, 0) < version}
    assert not lost, f"{len(lost)} of {len(acknowledged)} acknowledged writes are lost"
    newest = max(acknowledged.values(), default=0)
    assert int(listed["metadata"]["resourceVersion"]) >= newest
