"""Machines as a user meets them: `up --demo` rolls a fleet, kubectl scales it, it outlives `up`."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from free_ports import FREE_PORTS
from measured import PYTHON
from tests.conftest import required_tools

SIMULATOR = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "simulator", "labels": {"hyperfleet.io/config": "simulator"}},
    "data": {"endpoint": "mock://lab", "timing": "{scale: 0.1, boot_s: [0.2, 0.5]}"},
}
"""Simulated machines start in half a second instead of five."""
COMMAND = (*PYTHON, "-m", "quarterdeck.cli")
UP = ("up", "--operators", "machines", *FREE_PORTS)

pytestmark = pytest.mark.slow


class Process:
    """`quarterdeck up` in a folder, and what it says."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, *UP, *flags],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.said = ""

    def until(self, pattern: str) -> None:
        """Wait for a line."""
        assert self._process.stdout is not None
        while re.search(pattern, self.said) is None:
            line = self._process.stdout.readline()
            assert line, f"it ended before {pattern!r}:\n{self.said}"
            self.said += line

    def end(self) -> None:
        """Stop it gracefully."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self.said += self._process.communicate(timeout=240)[0]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


def kubectl(folder: Path, *arguments: str) -> str:
    program = shutil.which("kubectl")
    if program is None:
        if "kubectl" in required_tools():
            pytest.fail("kubectl is required and not installed")
        pytest.skip("kubectl is not installed; make tools installs it")
    command = [program, "--kubeconfig", str(folder / ".quarterdeck" / "kubeconfig"), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout


def quicken(folder: Path) -> None:
    """Let simulated machines start sooner: how they are rolled does not depend on it."""
    path = folder / "simulator.json"
    path.write_text(json.dumps(SIMULATOR))
    kubectl(folder, "apply", "-f", str(path))


def list_machines(folder: Path) -> set[str]:
    """Names of the fleet's machines, without those that are being deleted."""
    found = json.loads(kubectl(folder, "get", "mc", "-l", "app=web", "-o", "json"))
    heads = [each["metadata"] for each in found["items"]]
    return {head["name"] for head in heads if "deletionTimestamp" not in head}


def await_revision(folder: Path, number: int) -> None:
    """Wait until the fleet has a newest revision of that number."""
    newest = f"jsonpath={{.status.revisions[-1:].revision}}={number}"
    kubectl(folder, "wait", "fleet/web", f"--for={newest}", "--timeout", "50s")


def quarterdeck(folder: Path, *arguments: str) -> str:
    command = [*COMMAND, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def rollout(folder: Path) -> str:
    return quarterdeck(folder, "machines", "rollout", "status", "web", "--timeout", "150")


def test_demo_rolls_a_fleet_that_kubectl_scales_and_that_outlives_the_process(
    folder: Path,
) -> None:
    process = Process(folder, "--demo")
    try:
        process.until(r"is ready")
        quicken(folder)
        process.until(r"fleet web rolls to debian-13")
        process.until(r"Fleet default/web UpdateComplete(?s:.)*Fleet default/web UpdateComplete")
        listed = kubectl(folder, "get", "hyperfleet")
        for kind in ("fleet", "hypervisorcluster", "machineclaim", "runnerpool"):
            assert f"{kind}.hypervisor.hyperfleet.io/" in listed
        kubectl(folder, "scale", "fleet", "web", "--replicas", "4")
        assert "all 4 machines" in rollout(folder)
        names = list_machines(folder)
        assert len(names) == 4
        name = min(names)
        assert f"{name} login:" in quarterdeck(folder, "machines", "console", name)
        patch = '{"spec": {"resources": {"memory": "1Gi"}}}'
        kubectl(folder, "patch", "hmt", "debian-13", "--type", "merge", "-p", patch)
        await_revision(folder, 3)
        assert "all 4 machines" in rollout(folder)
        said = quarterdeck(folder, "machines", "rollout", "undo", "web")
        assert "template debian-13 restored to its spec of revision 2" in said
        await_revision(folder, 4)
        assert "all 4 machines" in rollout(folder)
        names = list_machines(folder)
    finally:
        process.end()
    process = Process(folder)
    try:
        process.until(r"is ready")
        assert "all 4 machines" in rollout(folder)
        assert list_machines(folder) == names
    finally:
        process.end()
