"""The published Go code of the fleet's other side: Alloy's parser, and Alloy's own client."""

import asyncio
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import MAX_TARGET, FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.telemetry.alloy.parser import parse
from quarterdeck.telemetry.alloy.tokens import AlloyError

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

HERE = Path(__file__).parent
TOKEN = "s3cr3t"
PIECES = (
    *("a", "b.c", '"x"', "`r`", "{", "}", "[", "]", "(", ")", "=", ",", "\n", " ", "1", "2.5"),
    *("+", "-", "*", "^", "!", "==", "&&", "||", "null", "true", "// c\n", "/* d */", "a = "),
    *('a "l" {\n', "}\n", "."),
)


@pytest.fixture(scope="module")
def go() -> str:
    program = shutil.which("go")
    if program is None:
        pytest.skip("Go is not installed")
    return program


def build(go: str, name: str, folder: Path) -> Path:
    work = folder / name
    shutil.copytree(HERE / name, work)
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    # only missing modules are a reason to skip: a program that does not compile proves nothing
    for command in (("mod", "tidy"), ("list", "-deps", ".")):
        done = subprocess.run([go, *command], cwd=work, env=environment, capture_output=True)
        if done.returncode:
            pytest.skip(f"the Go modules cannot be had: {done.stderr.decode()[-200:]}")
    compile_ = [go, "build", "-o", "program", "."]
    done = subprocess.run(compile_, cwd=work, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return work / "program"


def test_alloys_parser_accepts_and_refuses_the_same_texts(go: str, tmp_path: Path) -> None:
    program = build(go, "alloy_syntax", tmp_path)
    chance = random.Random(11)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(1, 12))) for _ in range(5000)]
    lines = "\n".join(json.dumps(text) for text in texts)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(verdicts) == len(texts)
    assert 50 < verdicts.count("") < 4000
    for text, verdict in zip(texts, verdicts, strict=True):
        assert complaint(text) == bool(verdict), (text, verdict)


def complaint(text: str) -> bool:
    try:
        parse(text)
    except AlloyError:
        return True
    return False


async def test_alloys_own_client_gets_its_configuration(go: str, tmp_path: Path) -> None:
    program = await asyncio.to_thread(build, go, "remote_config", tmp_path)
    store = open_memory()
    fleet = FleetServer(store, Tokens.single(Secret(TOKEN)))
    server = http.Server(fleet.handle, limits=http.Limits(target_bytes=MAX_TARGET))
    listener = await server.listen("127.0.0.1", 0)
    try:
        pipeline = {
            "name": "web",
            "contents": 'prometheus.scrape "x" {\n  targets = []\n}\n',
            "matchers": ["env=prod", "collector.os=linux"],
        }
        async with http.Client() as client:
            response = await client.request(
                "POST",
                f"http://127.0.0.1:{listener.port}/pipeline.v1.PipelineService/CreatePipeline",
                headers=[
                    ("Content-Type", "application/json"),
                    ("Authorization", f"Bearer {TOKEN}"),
                ],
                body=json.dumps({"pipeline": pipeline}).encode(),
            )
            assert response.status == 200, await response.read()
            await response.read()
        process = await asyncio.create_subprocess_exec(
            program,
            f"http://127.0.0.1:{listener.port}",
            TOKEN,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert process.returncode == 0, errors
        got = json.loads(output)
        assert 'declare "pipe_web"' in got["content"]
        assert got["notModified"] is True
        assert got["sameHash"] == got["hash"]
        found = fleet.collectors.get("edge-1")
        assert (found.name, found.status) == ("edge", "APPLIED")
        assert found.marked_inactive_at
    finally:
        await server.close()
        await store.close()
