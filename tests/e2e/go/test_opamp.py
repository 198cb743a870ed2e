"""The published OpAMP client in Go against our fleet server, over HTTP and over a WebSocket."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.go.test_oracles import build

from quarterdeck.kit import http
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

HERE = Path(__file__).parent / "opamp"
TOKEN = "s3cr3t"
AGENT = "00010203-0405-7007-8009-0a0b0c0d0e0f"


def contents(name: str) -> str:
    pipeline = f"{{pipelines: {{logs/{name}: {{receivers: [otlp], exporters: [debug]}}}}}}"
    return f"receivers: {{otlp: {{}}}}\nexporters: {{debug: {{}}}}\nservice: {pipeline}\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed")
    return build(go, HERE.name, tmp_path_factory.mktemp("opamp"))


def put(fleet: FleetServer, name: str) -> None:
    message = {
        "name": "web",
        "contents": contents(name),
        "matchers": ["env=prod", "collector.os=linux"],
        "configType": "CONFIG_TYPE_OTEL",
    }
    now = "2026-01-01T00:00:00Z"
    fleet.pipelines.store(fleet.pipelines.plan_upsert(message, now), now)


async def next_body(process: Any) -> str:
    line = json.loads(await process.stdout.readline())
    assert "error" not in line, line
    return str(line["body"])


async def until_status(fleet: FleetServer, status: str) -> None:
    while fleet.collectors.get(AGENT).status != status:  # noqa: ASYNC110 -- a process reports
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_the_published_client_receives_and_reports(program: Path, scheme: str) -> None:
    fleet = FleetServer(open_memory(), Tokens.single(Secret(TOKEN)))
    put(fleet, "first")
    server = http.Server(fleet.handle)
    listener = await server.listen("127.0.0.1", 0)
    url = f"{listener.url.replace('http', scheme)}/v1/opamp"
    process = await asyncio.create_subprocess_exec(
        program, url, TOKEN, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(120):
            assert "logs/first" in await next_body(process)
            await until_status(fleet, "APPLIED")
            put(fleet, "second")
            assert "logs/second" in await next_body(process)
            await until_status(fleet, "APPLIED")
            put(fleet, "bad")
            assert "logs/bad" in await next_body(process)
            await until_status(fleet, "FAILED")
            assert fleet.collectors.get(AGENT).error_message == "cannot load it"
            assert process.stdin is not None
            process.stdin.close()
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await server.close()
