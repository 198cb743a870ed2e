"""Every example runs as its README says: as a process of its own, against an API server."""

import ast
import io
import os
import signal
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.client import Client, load_config
from quarterdeck.kit import yaml
from quarterdeck.meta.identity import GVR
from quarterdeck.testing.background import BackgroundCluster
from quarterdeck.testing.poll import eventually

EXAMPLES = Path(__file__).parents[3] / "examples"
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def read(path: Path) -> Any:
    return yaml.load(path.read_text())


@pytest.mark.parametrize(
    ("example", "plural", "status"),
    [
        pytest.param("hello", "greetings", {"text": "Hello, Ada!"}, id="hello"),
        pytest.param("shelves", "shelves", {"books": 2}, id="shelves"),
        pytest.param("simulation/ports", "portclaims", {"port": 30000}, id="simulation"),
    ],
)
async def test_an_example_runs_as_a_script_and_ends_gracefully(
    example: str, plural: str, status: dict[str, Any], cluster: BackgroundCluster, tmp_path: Path
) -> None:
    name, _, program = example.partition("/")
    folder = EXAMPLES / name
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "LOG_FORMAT": "console"}
    log = (tmp_path / "log").open("w+")
    operator = subprocess.Popen(
        [sys.executable, f"{program or name}.py"], cwd=folder, env=environment, stderr=log
    )
    try:
        async with Client(load_config(cluster.kubeconfig)) as client:
            await client.resource(CRDS).create(read(folder / "crd.yaml"))
            objects = client.resource(GVR("example.com", "v1", plural))
            created: list[Any] = []

            async def is_created() -> bool:
                created.append(await objects.create(read(folder / "sample.yaml")))
                return True

            await eventually(is_created)

            async def is_done() -> bool:
                found = await objects.get("sample", "default")
                return bool(status.items() <= found["status"].items())

            await eventually(is_done)
        operator.send_signal(signal.SIGTERM)
        assert operator.wait(240) == 0
    finally:
        operator.kill()
        operator.wait()
        log.seek(0)
        told = log.read()
        log.close()
    assert "Traceback" not in told
    assert "manager started" in told


@pytest.mark.slow  # longer than one of its tests may take, so that a hang shows where
@pytest.mark.parametrize("folder", sorted(EXAMPLES.glob("*/")), ids=lambda each: str(each.name))
def test_the_tests_of_examples_pass_on_their_own(folder: Path, tmp_path: Path) -> None:
    assert list(folder.glob("test_*.py")), "every example has tests"
    unused = ("-p", "no:cacheprovider", "-p", "no:schemathesis")
    command = [sys.executable, "-m", "pytest", "-q", *unused, str(folder)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("example", "limit"), [("hello", 30), ("shelves", 50)])
def test_an_example_stays_within_its_limit_of_lines(example: str, limit: int) -> None:
    source = (EXAMPLES / example / f"{example}.py").read_text()
    assert len(code_lines(source)) <= limit
    assert len(source.splitlines()) <= 80


def code_lines(source: str) -> set[int]:
    """The lines that hold code: neither blank nor comments nor docstrings."""
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in quiet and token.type != tokenize.ENDMARKER:
            found.update(range(token.start[0], token.end[0] + 1))
    docstring = ast.parse(source).body[0]
    return found - set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
