"""`quarterdeck server` as a process: what it says, what it writes, how it ends."""

import json
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-m", "quarterdeck.cli", "server"]


class Process:
    """A running server and what it has said."""

    def __init__(self, arguments: list[str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
        )
        self.lines: list[str] = []

    def wait_ready(self) -> "Process":
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line.startswith("ready"):
                return self
        raise AssertionError(self.process.communicate())

    def said(self, pattern: str) -> str:
        for line in self.lines:
            if match := re.search(pattern, line):
                return match.group(1)
        raise AssertionError(f"{pattern} is not in {self.lines}")

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=240)
        return self.process.returncode, errors


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Process] = []

    def run(*arguments: str) -> Process:
        process = Process(list(arguments), tmp_path)
        running.append(process)
        return process.wait_ready()

    yield run
    for process in running:
        process.end(signal.SIGKILL)


def refused(tmp_path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2, done
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def fetch(url: str, context: ssl.SSLContext | None = None, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=240) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "pki" / "authority.crt"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_with_code_zero(start: Start, number: int) -> None:
    process = start("--in-memory", "--port", "0")
    assert process.end(number) == (0, "")


def test_the_server_prints_its_addresses_and_its_files_are_private(
    start: Start, tmp_path: Path
) -> None:
    process = start("--data-dir", "data", "--port", "0", "--http-port", "0")
    folder = tmp_path / "data"
    assert process.said(r"kubeconfig is (.*)") == "data/kubeconfig"
    assert process.said(r"ready in (\d+) ms")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in [folder / "kubeconfig", *(folder / "pki").glob("*.key"), folder / "state.db"]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    plain = process.said(r"(http://\S+)")
    assert fetch(f"{plain}/readyz") == (200, b"ok")
    assert fetch(f"{plain}/api/v1/namespaces")[0] == 200


def test_administrator_is_who_has_the_certificate(start: Start, tmp_path: Path) -> None:
    process = start("--data-dir", "data", "--port", "0")
    folder, url = tmp_path / "data", process.said(r"(https://\S+)")
    nobody = trusting(folder)
    assert fetch(f"{url}/healthz", nobody) == (200, b"ok")
    assert fetch(f"{url}/version", nobody)[0] == 200
    assert fetch(f"{url}/apis", nobody)[0] == 403
    status, body = fetch(f"{url}/api/v1/namespaces", nobody)
    assert (status, body["message"]) == (
        403,
        'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API'
        ' group "" at the cluster scope',
    )
    assert fetch(f"{url}/metrics", nobody)[0] == 403
    assert fetch(f"{url}/api/v1/namespaces", nobody, Authorization="Bearer x")[0] == 401
    administrator = trusting(folder)
    administrator.load_cert_chain(
        folder / "pki" / "administrator.crt", folder / "pki" / "administrator.key"
    )
    assert fetch(f"{url}/api/v1/namespaces", administrator)[0] == 200
    status, metrics = fetch(f"{url}/metrics", administrator)
    assert b"apiserver_request_total{" in metrics
    assert b"apiserver_request_duration_seconds_bucket{" in metrics


def test_certificates_and_objects_survive_a_restart(start: Start, tmp_path: Path) -> None:
    arguments = ("--data-dir", "data", "--port", "0", "--http-port", "0")
    first = start(*arguments)
    authority = (tmp_path / "data" / "pki" / "authority.crt").read_bytes()
    body = b'{"metadata":{"name":"kept"}}'
    url = first.said(r"(http://\S+)")
    request = urllib.request.Request(
        f"{url}/api/v1/namespaces/default/configmaps",
        data=body,
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=240) as answer:
        assert answer.status == 201
    first.process.kill()
    first.process.communicate()
    second = start(*arguments)
    url = second.said(r"(http://\S+)")
    assert fetch(f"{url}/api/v1/namespaces/default/configmaps/kept")[0] == 200
    assert (tmp_path / "data" / "pki" / "authority.crt").read_bytes() == authority


def test_in_memory_kubeconfig_goes_at_the_end(start: Start) -> None:
    process = start("--in-memory", "--port", "0")
    path = Path(process.said(r"kubeconfig is (.*)"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    process.end()
    assert not path.parent.exists()


def test_watches_end_cleanly_when_it_stops(start: Start) -> None:
    process = start("--in-memory", "--port", "0", "--http-port", "0")
    url = process.said(r"(http://\S+)")
    with urllib.request.urlopen(f"{url}/api/v1/namespaces?watch=1", timeout=240) as stream:
        assert json.loads(stream.readline())["type"] == "ADDED"
        process.process.send_signal(signal.SIGTERM)
        rest = stream.read()  # a cut would raise IncompleteRead
        assert rest.endswith(b"\n")
    _, errors = process.process.communicate(timeout=240)
    assert (process.process.returncode, errors) == (0, "")


def test_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused(tmp_path, "--data-dir", "data", "--port", str(port))
        assert line == (
            f"quarterdeck server: cannot bind port {port} (--port): address already in use; "
            "choose another port with --port (0 for any free port)"
        )
        assert not (tmp_path / "data").exists()
        line = refused(tmp_path, "--data-dir", "data", "--port", "0", "--http-port", str(port))
        assert "--http-port" in line
        assert not (tmp_path / "data").exists()


def test_second_server_on_one_folder_is_refused(start: Start, tmp_path: Path) -> None:
    start("--data-dir", "data", "--port", "0")
    assert "data" in refused(tmp_path, "--data-dir", "data", "--port", "0")


def test_damaged_database_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "state.db").write_bytes(b"this is no database " * 1000)
    before = (folder / "state.db").read_bytes()
    assert "state.db" in refused(tmp_path, "--data-dir", "data", "--port", "0")
    assert (folder / "state.db").read_bytes() == before


@pytest.mark.parametrize("text", ["-1", "70000", "x"])
def test_bad_port_is_bad_usage(tmp_path: Path, text: str) -> None:
    done = subprocess.run(
        [*COMMAND, "--port", text], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_start_loads_nothing_it_does_not_need(tmp_path: Path) -> None:
    heavy = ("cryptography", "yaml", "re2", "prometheus_client", "structlog", "argparse")
    script = (
        "import sys, asyncio\n"
        "from quarterdeck.app.cluster import Cluster\n"
        "async def main():\n"
        "    async with Cluster():\n"
        f"        print([name for name in {heavy!r} if name in sys.modules])\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.strip() == "[]", done


def test_help_and_version_are_quick_and_clear(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    for arguments, text in ((["--help"], "server"), (["--version"], "quarterdeck ")):
        done = subprocess.run(
            [sys.executable, "-m", "quarterdeck.cli", *arguments],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        assert text in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "quarterdeck.cli", "fly"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 2
    assert "fly" in done.stderr
