"""Clusters as a user meets them: `up --demo`, a hub on Redis, and what survives a restart."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS
from measured import PYTHON

from quarterdeck.testing import programs
from quarterdeck.testing.background import BackgroundCluster

pytestmark = pytest.mark.slow

COMMAND = (*PYTHON, "-m", "quarterdeck.cli")
KINDS = "clusterconnections,registryconnections,metricsources"


class Hub:
    """A running `quarterdeck up` with the clusters operator alone."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*COMMAND, "up", *FREE_PORTS, "--operators", "clusters", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
        assert self.process.stdout is not None and self.process.stderr is not None
        for line in self.process.stdout:
            if "Activity" in line:
                return
        raise AssertionError(f"it ended: {self.process.stderr.read()}")

    def call(self, *arguments: str) -> str:
        """A command of ours, in the folder of the hub."""
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=self.folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    def items(self, kind: str) -> dict[str, dict[str, Any]]:
        """Statuses by name."""
        found = json.loads(self.call("get", kind, "-n", "default", "-o", "json"))
        items = found.get("items", [found])
        return {each["metadata"]["name"]: each.get("status", {}) for each in items}

    def until(self, holds: Callable[[], object], within_s: float = 120.0) -> None:
        deadline = time.monotonic() + within_s
        while not holds():
            assert time.monotonic() < deadline, self.call("get", KINDS, "-n", "default", "--wide")
            time.sleep(0.2)  # noqa: TID251 -- a user at a terminal

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=240)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Hub]]:
    running: list[Hub] = []

    def run(*arguments: str, env: dict[str, str] | None = None) -> Hub:
        running.append(Hub(tmp_path, *arguments, env=env))
        return running[-1]

    yield run
    for each in running:
        each.end()


def test_a_demo_shows_a_living_fleet(start: Callable[..., Hub]) -> None:
    hub = start("--demo", "--in-memory", "--kubeconfig", "kubeconfig")
    os.environ["KUBECONFIG"] = str(hub.folder / "kubeconfig")
    try:
        wanted = {
            "local": "healthy",
            "demo-east": "healthy",
            "demo-west": "degraded",
            "demo-lost": "unhealthy",
            "demo-edge": "healthy",
        }

        def healths() -> dict[str, str]:
            found = hub.items("clusterconnections")
            return {name: each.get("health", "") for name, each in found.items()}

        hub.until(lambda: healths() == wanted)
        lost = hub.items("clusterconnections")["demo-lost"]
        assert lost["phase"] == "Error"
        hub.until(lambda: hub.items("registryconnections")["demo-registry"].get("available"))
        hub.until(
            lambda: (
                hub.items("metricsources")["default-pvc-capacity"].get("clustersCollected", 0) > 2
            )
        )

        def is_pushed() -> bool:
            status = hub.items("clusterconnections")["demo-edge"].get("collectorStatus") or {}
            return bool(status.get("connected") and status.get("image"))  # the hub deployed it

        hub.until(is_pushed)
        listed = hub.call("clusters", "list", "-n", "default")
        assert "5 clusters" in listed and "4 connected" in listed
        top = hub.call("clusters", "top", "-n", "default")
        assert "TOTAL" in top and "demo-lost: " in top
    finally:
        del os.environ["KUBECONFIG"]


def test_a_hub_on_redis_keeps_its_findings_there(start: Callable[..., Hub], tmp_path: Path) -> None:
    port = programs.find_free_port()
    with programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path):
        hub = start(env={"REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(port)})
        hub.until(lambda: hub.items("clusterconnections")["local"].get("health") == "healthy")
        cli = programs.require("redis-cli")
        found = subprocess.run(
            [cli, "-p", str(port), "GET", "cluster:local:status"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(found.stdout)["health"] == "healthy"
        assert not (tmp_path / ".quarterdeck" / "hub.db").exists()


@pytest.mark.full  # two intervals of half a minute
def test_redis_that_goes_and_comes_back_is_named_and_filled_again(
    start: Callable[..., Hub], tmp_path: Path
) -> None:
    port = programs.find_free_port()

    def stored() -> dict[str, str]:
        conditions = hub.items("clusterconnections")["local"].get("conditions", [])
        return {each["type"]: each["status"] for each in conditions}

    with programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path):
        hub = start(env={"REDIS_URL": f"redis://127.0.0.1:{port}/1"})
        hub.until(lambda: hub.items("clusterconnections")["local"].get("health") == "healthy")
    hub.until(lambda: stored().get("Stored") == "False")
    assert hub.items("clusterconnections")["local"]["health"] == "healthy"
    with programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path):
        hub.until(lambda: stored().get("Stored") == "True")
        cli = programs.require("redis-cli")
        found = subprocess.run(
            [cli, "-p", str(port), "-n", "1", "GET", "cluster:local:status"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(found.stdout)["health"] == "healthy"


def test_what_was_found_survives_a_restart(start: Callable[..., Hub]) -> None:
    first = start()
    first.until(lambda: first.items("clusterconnections")["local"].get("health") == "healthy")
    first.end()
    assert (first.folder / ".quarterdeck" / "hub.db").exists()
    assert (first.folder / ".quarterdeck" / "history.db").exists()
    second = start()
    second.until(lambda: second.items("clusterconnections")["local"].get("phase") == "Connected")


def test_a_wrong_address_of_redis_is_refused_before_anything_starts(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "up", *FREE_PORTS, "--in-memory", "--operators", "clusters"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "REDIS_URL": "http://:hunter2@redis"},
    )
    assert done.returncode == 2
    assert "REDIS_URL" in done.stderr
    assert "hunter2" not in done.stderr


def test_the_quick_start_of_existing_users_works(tmp_path: Path) -> None:
    """Redis, CRDs, `run --namespace`, a ClusterConnection: as the original's guide has it."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(BackgroundCluster())
        port = programs.find_free_port()
        redis = programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path)
        stack.enter_context(redis)
        kubeconfig = ["--kubeconfig", str(server.kubeconfig)]

        def call(*arguments: str, given: str = "") -> str:
            done = subprocess.run(
                [*COMMAND, *arguments], capture_output=True, text=True, input=given, timeout=100
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        call("apply", "-f", "-", *kubeconfig, given=call("crds", "--operators", "clusters"))
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusterpulse"}}
        call("apply", "-f", "-", *kubeconfig, given=json.dumps(namespace))
        added = ("--name", "test-cluster", "-n", "clusterpulse")
        hub = ("--hub-kubeconfig", str(server.kubeconfig))
        call("clusters", "add", *kubeconfig, *added, *hub)
        environment = {
            "NAMESPACE": "clusterpulse",
            "REDIS_HOST": "localhost",
            "REDIS_PORT": str(port),
        }
        chosen = ("--operators", "clusters")
        quiet = ("--health-probe-bind-address", "0", "--metrics-bind-address", "0")
        ports = ("--ingester-port", "0")
        process = subprocess.Popen(
            [*COMMAND, "run", "--namespace=clusterpulse", *chosen, *quiet, *ports, *kubeconfig],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait, timeout=240)
        stack.callback(process.terminate)
        cli = programs.require("redis-cli")
        deadline = time.monotonic() + 240
        while True:
            get = [cli, "-p", str(port), "GET", "cluster:test-cluster:status"]
            found = subprocess.run(get, capture_output=True, text=True, check=True).stdout.strip()
            if found and json.loads(found)["health"] in ("healthy", "degraded"):
                break
            assert process.poll() is None and time.monotonic() < deadline, found
            time.sleep(0.2)  # noqa: TID251 -- a user at a terminal
        listed = call("clusters", "list", "-n", "clusterpulse", *kubeconfig)
        assert "test-cluster" in listed
