"""The hub API as a user meets it: in `up`, and as a process of its own on Redis."""

import json
import os
import re
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS
from measured import PYTHON

from quarterdeck.kit.clock import SystemClock
from quarterdeck.runtime.endpoints.certificate import generate_self_signed
from quarterdeck.testing import programs

pytestmark = pytest.mark.slow

COMMAND = (*PYTHON, "-m", "quarterdeck.cli")
LIMIT_S = 240.0


class Process:
    """A command that runs until it is told to end."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str]) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **env},
        )

    def find(self, pattern: str) -> str:
        """Read lines until one matches; returns its first group."""
        assert self.process.stdout is not None
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"it ended: {''.join(lines)}")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=240)


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Process] = []

    def run(*arguments: str, **env: str) -> Process:
        running.append(Process(tmp_path, *arguments, env=env))
        return running[-1]

    yield run
    for each in reversed(running):
        each.end()


def ask(url: str, token: str = "") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=240) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def wait_for_cluster(url: str, token: str, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        status, found = ask(f"{url}/api/v1/clusters", token)
        assert status == 200, found
        for each in found:
            if each["name"] == name and each["status"]["health"] == "healthy":
                return dict(each)
        time.sleep(0.2)  # noqa: TID251 -- a user at a terminal
    raise AssertionError(f"{name} is not healthy: {found}")


def test_up_answers_the_administrator_and_nobody_else(start: Start, tmp_path: Path) -> None:
    up = start("up", *FREE_PORTS, "--operators", "clusters")
    url = up.find(r"(http://\S+)\s+hub API")
    up.find("(Activity)")
    assert ask(f"{url}/api/v1/clusters") == (401, {"error": "authentication required"})
    assert ask(f"{url}/api/v1/clusters", "wrong")[0] == 401
    token = (tmp_path / ".quarterdeck" / "token").read_text()
    local = wait_for_cluster(url, token, "local")
    assert local["metrics"]["nodes"] == 1
    told = subprocess.run(
        [*COMMAND, "access", "explain", "alice", "local"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert "alice -> local: deny" in told.stdout
    assert "no policy names alice" in told.stdout


def test_a_hub_of_its_own_reads_what_operators_wrote_to_redis(start: Start, tmp_path: Path) -> None:
    port = programs.find_free_port()
    with programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path):
        redis = f"redis://127.0.0.1:{port}/0"
        up = start("up", *FREE_PORTS, "--operators", "clusters", REDIS_URL=redis)
        up.find("(Activity)")
        kubeconfig = str(tmp_path / ".quarterdeck" / "kubeconfig")
        flags = ("--hub-port", "0", "--kubeconfig", kubeconfig, "--log-format", "json")
        hub = start("hub", *flags, REDIS_URL=redis)
        url = hub.find(r'"url": "(http://[^"]+)"')
        token = (tmp_path / ".quarterdeck" / "token").read_text()
        assert wait_for_cluster(url, token, "local")["metrics"]["nodes"] == 1
        assert ask(f"{url}/readyz") == (200, {"status": "ready"})
        assert ask(f"{url}/api/v1/auth/me")[0] == 401


def test_a_hub_serves_tls_and_shows_its_metrics(start: Start, tmp_path: Path) -> None:
    certificate, key = generate_self_signed(SystemClock().now(), ["127.0.0.1"])
    folder = tmp_path / "tls"
    folder.mkdir()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    port = programs.find_free_port()
    with programs.run_program(programs.build_redis_command(port), port=port, folder=tmp_path):
        up = start("server", "--in-memory", "--port", "0")
        kubeconfig = up.find(r"kubeconfig is (\S+)")
        up.find("(ready in)")
        flags = ("--hub-port", "0", "--kubeconfig", kubeconfig, "--hub-cert-path", str(folder))
        pages = ("--metrics-bind-address", "127.0.0.1:0", "--metrics-insecure")
        more = ("--log-format", "json")
        hub = start("hub", *flags, *pages, *more, REDIS_URL=f"redis://127.0.0.1:{port}/0")
        url, metrics = hub.find(r'"url": "(https://[^"]+", "metrics": "http://[^"]+)"').split(
            '", "metrics": "'
        )
        trust = ssl.create_default_context(cadata=certificate.decode())
        trust.check_hostname = False
        with urllib.request.urlopen(f"{url}/readyz", timeout=240, context=trust) as response:
            assert json.load(response) == {"status": "ready"}
        with urllib.request.urlopen(f"{metrics}/metrics", timeout=240) as response:
            page = response.read().decode()
        assert (
            'clusterpulse_hub_api_requests_total{method="GET",path="/readyz",code="200"} 1' in page
        )


def test_a_hub_without_a_shared_store_says_what_to_set(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "hub"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "REDIS_URL": "", "REDIS_HOST": ""},
    )
    assert done.returncode != 0
    assert "REDIS_URL" in done.stderr
