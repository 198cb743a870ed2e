"""The hub's OpenAPI document against its answers, by schemathesis: everything it checks holds."""

import asyncio
import sys
from pathlib import Path

import pytest
from tests.integration.services.hub.conftest import open_world

from quarterdeck.kit import http

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NAMES = """\
[parameters]
"path.name" = "dev-1"
"path.node" = "dev-1-1"
"path.type" = "pvc"
"path.source" = "pvc"
"""
HISTORY = "metrics/history$"
EVERYTHING = ["--exclude-checks", "positive_data_acceptance"]
FEW = ["--phases", "examples,fuzzing"]
RUNS = [
    pytest.param(["--exclude-path-regex", HISTORY], "", id="any names"),
    pytest.param(["--exclude-path-regex", HISTORY], NAMES, id="names that exist"),
    # a range and a step that are fine alone may be too many points together
    pytest.param(
        ["--include-path-regex", HISTORY, "--exclude-checks", "positive_data_acceptance"],
        NAMES,
        id="history",
    ),
]


@pytest.mark.full
@pytest.mark.parametrize("who", ["alice", "root"])
@pytest.mark.parametrize(("options", "config"), RUNS)
async def test_schemathesis_finds_nothing(
    tmp_path: Path, who: str, options: list[str], config: str
) -> None:
    await run(tmp_path, who, options, config, examples=25)


async def test_schemathesis_finds_nothing_in_a_few_examples(tmp_path: Path) -> None:
    await run(tmp_path, "alice", [*EVERYTHING, *FEW], NAMES, examples=2)


async def run(tmp_path: Path, who: str, options: list[str], config: str, *, examples: int) -> None:
    file = tmp_path / "schemathesis.toml"
    file.write_text(config)
    async with open_world() as w:
        rule = {
            "selector": {"matchNames": ["*"]},
            "permissions": {"view": True, "viewMetrics": True},
            "resources": [{"type": "pvc"}],
        }
        await w.policy("p", rules=[rule])
        await w.source("dev-1", alerts=[{"name": "Full", "expression": "total > 90"}])
        server = http.Server(w.hub.handle)
        try:
            listener = await server.listen("127.0.0.1", 0)
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(file), "run"),
                f"{listener.url}/api/v1/openapi.json",
                *("--header", f"Authorization: Bearer {who}-token"),
                *("--exclude-path", "/api/v1/events/stream"),
                *("--max-examples", str(examples), "--seed", "1"),
                *options,
                cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await process.communicate()
        finally:
            await server.drain(5.0)
    assert process.returncode == 0, output.decode()
