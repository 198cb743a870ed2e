"""Every example runs as its README says: as a process of its own, against an API server."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.client import Client, load_config
from quarterdeck.kit import yaml
from quarterdeck.meta.identity import GVR
from quarterdeck.testing.background import BackgroundCluster
from quarterdeck.testing.waiting import eventually

EXAMPLES = Path(__file__).parents[3] / "examples"
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
GREETINGS = GVR("example.com", "v1", "greetings")


def read(path: Path) -> Any:
    return yaml.load(path.read_text())


async def test_hello_runs_as_a_script_and_ends_gracefully(
    cluster: BackgroundCluster, tmp_path: Path
) -> None:
    folder = EXAMPLES / "01-hello"
    environment = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "LOG_FORMAT": "console"}
    log = (tmp_path / "log").open("w+")
    operator = subprocess.Popen(
        [sys.executable, "operator.py"], cwd=folder, env=environment, stderr=log
    )
    try:
        async with Client(load_config(cluster.kubeconfig)) as client:
            await client.resource(CRDS).create(read(folder / "crd.yaml"))
            greetings = client.resource(GREETINGS)
            created: list[Any] = []

            async def is_created() -> bool:
                created.append(await greetings.create(read(folder / "sample.yaml")))
                return True

            await eventually(is_created)

            async def is_greeted() -> bool:
                found = await greetings.get("sample", "default")
                return bool(found["status"]["text"] == "Hello, Ada!")

            await eventually(is_greeted, within_s=15)
        operator.send_signal(signal.SIGTERM)
        assert operator.wait(10) == 0
    finally:
        operator.kill()
        operator.wait()
        log.seek(0)
        told = log.read()
        log.close()
    assert "Traceback" not in told
    assert "running" in told


@pytest.mark.parametrize("folder", sorted(EXAMPLES.glob("*/")), ids=lambda each: str(each.name))
def test_the_tests_of_examples_pass_on_their_own(folder: Path, tmp_path: Path) -> None:
    if not list(folder.glob("test_*.py")):
        pytest.skip("this example has no tests of its own")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
