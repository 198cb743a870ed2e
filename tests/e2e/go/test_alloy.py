"""Alloy itself, its runtime and its remotecfg service, against `quarterdeck fleet`.

`tools/alloy.sh` builds it, which takes a while: without it these tests are skipped.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
PROGRAM = "alloy-remotecfg"
TOOLS = Path(__file__).parents[3] / ".tools" / "bin"
UP = (
    *("up", "--in-memory", "--operators", "pipelines"),
    *FREE_PORTS,
)
CONFIG = """
remotecfg {
  url            = "%(url)s"
  id             = "edge-1"
  attributes     = {"env" = "field"}
  poll_frequency = "10s"
  basic_auth {
    username      = "edge"
    password_file = "%(token)s"
  }
}
"""
CONNECTION = """
apiVersion: v1
kind: Secret
metadata: {name: fleet, namespace: default}
stringData: {username: me, password: "%(token)s"}
---
apiVersion: fleetmanagement.grafana.com/v1alpha1
kind: FleetConnection
metadata: {name: fleet, namespace: default}
spec: {url: "%(url)s", secretRef: {name: fleet}, default: true, syncInterval: 5s}
"""
PIPELINE = """
apiVersion: fleetmanagement.grafana.com/v1alpha1
kind: Pipeline
metadata: {name: web, namespace: default}
spec:
  contents: |
    local.file "%(word)s" {
      filename = "%(file)s"
    }
  matchers: [env=field]
%(rollout)s
"""
ROLLOUT = "  rollout: {steps: [{weight: 100, duration: 1h}]}"


@pytest.fixture(scope="module")
def alloy() -> str:
    program = shutil.which(PROGRAM, path=f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        if "alloy" in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").split():
            pytest.fail("Alloy is required and not built; run tools/alloy.sh .tools")
        pytest.skip(
            "Alloy 1.12.2 is not built: tools/alloy.sh needs Go and a clone of grafana/alloy, "
            "which the module proxies do not have in this version"
        )
    return program


class Process:
    """A process, and the lines it has written."""

    def __init__(self, command: tuple[str, ...], folder: Path) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()

    def wait_for(self, pattern: str, *, after: int = 0) -> str:
        """The first group of a pattern in what was written since a mark."""
        with self._news:
            found: re.Match[str] | None = None

            def is_written() -> bool:
                nonlocal found
                found = re.search(pattern, "".join(self._lines[after:]))
                return found is not None

            assert self._news.wait_for(is_written, timeout=240), "".join(self._lines[-40:])
        assert found is not None
        return found[found.re.groups and 1]

    def mark(self) -> int:
        with self._news:
            return len(self._lines)

    def components(self) -> list[str]:
        """What runs of the remote configuration now."""
        with self._news:
            lines = [each for each in self._lines if each.startswith('{"components"')]
        return list(json.loads(lines[-1])["components"]) if lines else []

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(timeout=240)
        self._reader.join(timeout=240)
        assert self._process.stdout is not None
        self._process.stdout.close()


class World:
    """A fleet server, the operator on it, and one Alloy."""

    def __init__(self, alloy: str, folder: Path) -> None:
        self.folder = folder
        self.fleet = self._start_fleet(0)
        self.url = self.fleet.wait_for(r"listening on (\S+)\n")
        token = folder / "fleet" / "fleet-token"
        self.up = Process((*COMMAND, *UP), folder)
        self.kubeconfig = self.up.wait_for(r"export KUBECONFIG=(\S+)")
        names = {"url": self.url, "token": token.read_text().strip()}
        self._run("apply", "-f", "-", given=CONNECTION % names)
        config = folder / "config.alloy"
        config.write_text(CONFIG % {"url": self.url, "token": token})
        (folder / "present").write_text("here")
        self.alloy = Process((alloy, str(config), str(folder / "alloy")), folder)

    def _start_fleet(self, port: int) -> Process:
        command = (*COMMAND, "fleet", "--data-dir", "fleet", "--port", str(port))
        return Process(command, self.folder)

    def restart_fleet(self) -> None:
        """Stop the server until Alloy has noticed, and start it again at the same address."""
        mark = self.alloy.mark()
        self.fleet.stop()
        self.alloy.wait_for("failed to fetch remote config", after=mark)
        self.fleet = self._start_fleet(int(self.url.rpartition(":")[2]))
        self.fleet.wait_for("listening on")

    def wait_for_component(self, word: str) -> None:
        """Wait until Alloy runs this component and no other."""
        self.alloy.wait_for(rf'{{"components":\[[^]]*local\.file\.{word}"')
        only = [each for each in self.alloy.components() if "local.file." in each]
        assert only == [f"remotecfg/pipe_web.default/local.file.{word}"]

    def apply(self, word: str, file: str = "present", rollout: str = "") -> None:
        names = {"word": word, "file": self.folder / file, "rollout": rollout}
        self._run("apply", "-f", "-", given=PIPELINE % names)

    def wait_for_status(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask until the status of the pipeline is so; the command itself takes a while."""
        while True:
            found = json.loads(self._run("get", "pipelines", "web", "-o", "json"))
            status: dict[str, Any] = found.get("status", {})
            if condition(status):
                return status

    def _run(self, *arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [*COMMAND, *arguments],
            env={**os.environ, "KUBECONFIG": self.kubeconfig},
            input=given,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stop(self) -> None:
        for each in (self.alloy, self.up, self.fleet):
            each.stop()


@pytest.fixture
def world(alloy: str, tmp_path: Path) -> Iterator[World]:
    found = World(alloy, tmp_path)
    yield found
    found.stop()


def is_applied(status: dict[str, Any]) -> bool:
    delivery = status.get("delivery", {})
    return bool(delivery.get("applied") == 1 and not delivery.get("failed"))


def test_a_pipeline_is_delivered_changed_failed_and_quarantined(world: World) -> None:
    world.apply("first")
    world.wait_for_component("first")
    world.wait_for_status(is_applied)
    world.apply("second")
    world.wait_for_component("second")

    world.apply("broken", file="absent", rollout=ROLLOUT)
    failed = world.wait_for_status(
        lambda status: bool(status.get("rollout", {}).get("quarantined"))
    )
    assert failed["rollout"]["phase"] == "RolledBack"
    assert "edge-1" in failed["rollout"]["message"]
    assert "no such file" in failed["rollout"]["message"]
    world.wait_for_status(is_applied)
    world.wait_for_component("second")

    world.apply("third", rollout="  rollout: {steps: [{weight: 100, duration: 1s}]}")
    world.wait_for_component("third")
    world.wait_for_status(lambda status: status["rollout"]["phase"] == "Promoted")


def test_an_outage_of_the_fleet_server_quarantines_nothing(world: World) -> None:
    world.apply("first")
    world.wait_for_component("first")
    world.apply("second", rollout=ROLLOUT)
    world.wait_for_component("second")
    world.wait_for_status(is_applied)
    world.restart_fleet()
    world.apply("third", rollout=ROLLOUT)
    world.wait_for_component("third")
    status = world.wait_for_status(is_applied)
    assert not status["rollout"].get("quarantined")
    assert status["rollout"]["phase"] == "Progressing"
