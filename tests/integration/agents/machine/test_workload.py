"""The runner of a machine in this process: scripts in the place of GitHub's runner."""

import io
import json
import os
import signal
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.agents.machine.__main__ import main
from quarterdeck.agents.machine.runner import RUN_FAILED, Runner, RunnerError, parse_runner_config
from quarterdeck.agents.machine.workload import Workload, run_standalone

TOKEN = "AABBCC-registration-token"
REGISTER = '#!/bin/sh\necho "$@" > ../registered\n'
RUN = "#!/bin/sh\necho $$ > ../started\n{}\n"


class Machine:
    """A machine with the scripts of a runner; each wait does what the test says."""

    def __init__(self, folder: Path, *, register: str = REGISTER, run: str = "exit 0") -> None:
        self.folder = folder
        self.phases: list[str] = []
        self.lines: list[str] = []
        self.waits: list[float] = []
        self.steps: list[Callable[[], None]] = []
        self.pid = 0
        self.is_off = False
        (folder / "runner").mkdir()
        os.mkfifo(folder / "started")
        for name, text in (("config.sh", register), ("run.sh", RUN.format(run))):
            (folder / "runner" / name).write_text(text)
            (folder / "runner" / name).chmod(0o755)
        self.workload = Workload(self.phases.append, self.wait, self.lines.append, self.switch_off)

    def describe(self, **runner: str) -> dict[str, Any]:
        """What a bootstrap service, or a file, says of the runner."""
        return {
            "method": "runner-token",
            "platform": "github-actions",
            "runner_token": TOKEN,
            "registration_url": "https://github.com/acme",
            "runner_name": "one",
            "runner_group": "shop",
            "runner": {
                "install_path": str(self.folder / "runner"),
                "work_dir": str(self.folder / "work"),
                **runner,
            },
        }

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if self.steps:
            self.steps.pop(0)()
        return False

    def switch_off(self) -> int:
        self.is_off = True
        return 0

    def await_start(self) -> None:
        """Until the script, or the job that it started, says its number."""
        self.pid = int((self.folder / "started").read_text())

    def await_end(self) -> None:
        """Until the script has ended; the agent collects its exit code."""
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    def await_all(self) -> None:
        """Until the script has started and ended."""
        self.await_start()
        self.await_end()


@pytest.mark.parametrize(
    ("ending", "phase", "code"), [("exit 0", "JobCompleted", 0), ("exit 7", "Failed", 4)]
)
def test_runner_that_ends_is_removed_and_the_machine_is_switched_off(
    tmp_path: Path, ending: str, phase: str, code: int
) -> None:
    machine = Machine(tmp_path, run=ending)
    machine.workload.prepare(machine.describe())
    machine.steps = [machine.await_all]
    assert machine.workload.wait(3600.0) == code
    assert machine.phases == [phase]
    assert machine.is_off
    assert not (tmp_path / "runner").exists(), "credentials of the runner are in it"
    assert not (tmp_path / "work").exists()
    assert (tmp_path / "registered").read_text().split() == [
        *("--url", "https://github.com/acme", "--token", TOKEN, "--name", "one", "--labels"),
        *("--work", str(tmp_path / "work"), "--unattended", "--ephemeral"),
        *("--runnergroup", "shop"),
    ]
    assert TOKEN not in "".join(machine.lines)


BUSY = """
sh -c 'echo $$ > ../working; read _ < ../finish' Runner.Worker
exit 0
"""


def test_job_is_reported_and_is_not_interrupted_by_a_drain(tmp_path: Path) -> None:
    machine = Machine(tmp_path, run=BUSY)
    for name in ("working", "finish"):
        os.mkfifo(tmp_path / name)

    def work() -> None:
        (tmp_path / "working").read_text()
        machine.workload.apply_directive("drain")

    def finish() -> None:
        assert machine.phases == ["Busy"]
        (tmp_path / "finish").write_text("\n")
        machine.await_end()

    machine.workload.prepare(machine.describe())
    machine.steps = [machine.await_start, work, finish]
    assert machine.workload.wait(3600.0) == 0
    assert machine.phases == ["Busy", "JobCompleted"]
    assert "drain requested: the runner takes no new jobs" in machine.lines
    assert "stopping the idle runner" not in machine.lines


IDLE = """
trap 'exit 0' INT
echo ready > ../waiting
while :; do sleep 0.05; done
"""


def test_idle_runner_is_stopped_by_a_drain(tmp_path: Path) -> None:
    machine = Machine(tmp_path, run=IDLE)
    os.mkfifo(tmp_path / "waiting")

    def drain() -> None:
        (tmp_path / "waiting").read_text()
        machine.workload.apply_directive("drain")

    machine.workload.prepare(machine.describe())
    machine.steps = [machine.await_start, drain, machine.await_end]
    assert machine.workload.wait(3600.0) == 0
    assert machine.phases == ["JobCompleted"]
    assert "stopping the idle runner" in machine.lines


def test_rest_ends_with_its_time_while_the_runner_waits_for_a_job(tmp_path: Path) -> None:
    machine = Machine(tmp_path, run="read _ < ../started")
    machine.workload.prepare(machine.describe())
    machine.steps = [machine.await_start]
    assert machine.workload.wait(2.5) is None
    assert machine.waits == [1.0, 1.0, 0.5]
    os.kill(machine.pid, signal.SIGKILL)
    machine.await_end()
    assert machine.workload.wait(1.0) == 4


def test_runner_that_does_not_register_hides_its_token(tmp_path: Path) -> None:
    machine = Machine(tmp_path, register='#!/bin/sh\necho "bad $4" >&2\nexit 1\n')
    with pytest.raises(RunnerError, match=r"cannot register the runner: .*failed: bad \*\*\*"):
        machine.workload.prepare(machine.describe())


def test_runner_without_its_script_cannot_be_started(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with pytest.raises(RunnerError, match="cannot start the runner") as raised:
        machine.workload.prepare(machine.describe(run_script="absent.sh"))
    assert raised.value.code == 4


def test_runner_that_was_not_started_has_nothing_to_stop(tmp_path: Path) -> None:
    config = parse_runner_config(Machine(tmp_path).describe())
    assert config is not None
    runner = Runner(config)
    runner.stop()
    assert (runner.poll(), runner.is_busy()) == (0, False)


def test_file_of_a_runner_needs_no_service(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.steps = [machine.await_all]
    found = run_standalone(
        machine.describe(),
        wait=machine.wait,
        log=machine.lines.append,
        power_off=lambda: machine.lines.append("off"),
    )
    assert found == 0
    assert machine.lines[-2:] == ["phase JobCompleted", "off"]


@pytest.fixture
def _signals() -> Iterator[None]:
    """The program handles signals of this process; they are as before afterwards."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signals")
def test_program_names_what_is_wrong_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.json"
    arguments = ["--config", str(file), "--state-dir", str(tmp_path / "state")]
    assert main(arguments) == 1
    assert f"machine-agent: cannot read {file}: " in capsys.readouterr().err
    file.write_text('{"method": "tpm", "url": "http://x"}')
    assert main(arguments) == 1
    assert f"{file}: url 'http://x' does not start with https://" in capsys.readouterr().err
    file.write_text(json.dumps(Machine(tmp_path).describe(run_script="absent.sh")))
    assert main(arguments) == 1
    assert f"{file} is readable by other users; run chmod 600 {file}" in capsys.readouterr().err
    file.chmod(0o600)
    assert main(arguments) == RUN_FAILED
    assert "cannot start the runner" in capsys.readouterr().err


@pytest.fixture
def download(tmp_path: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The URL of a server, and the files that it offers."""
    files: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            self.send_response(404 if body is None else 200)
            if self.path == "/cut":
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", files
    server.shutdown()
    thread.join()
    server.server_close()


def test_runner_is_downloaded_and_unpacked(
    tmp_path: Path, download: tuple[str, dict[str, bytes]]
) -> None:
    url, files = download
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(Machine(tmp_path).folder / "runner", ".")
    files["/runner.tar.gz"] = data.getvalue()
    new = tmp_path / "new"
    new.mkdir()
    machine = Machine(new)
    machine.steps = [machine.await_all]
    document = machine.describe(
        download_url=f"{url}/runner.tar.gz", install_path=str(new / "unpacked")
    )
    machine.workload.prepare(document)
    assert (new / "unpacked/run.sh").exists()
    assert not list(new.glob("*.tar.gz")), "the archive is removed"
    assert machine.workload.wait(3600.0) == 0


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("/absent", "404"),
        ("/text", "cannot unpack"),
        ("/cut", "IncompleteRead"),
        ("/a b", "URL can't contain control characters"),
    ],
)
def test_download_that_fails_is_named(
    tmp_path: Path, download: tuple[str, dict[str, bytes]], path: str, cause: str
) -> None:
    url, files = download
    files["/text"] = b"not an archive"
    files["/cut"] = b"5\r\nbegin\r\n5\r\nen"
    machine = Machine(tmp_path)
    with pytest.raises(RunnerError, match=f"cannot install {url}{path}: .*{cause}") as raised:
        machine.workload.prepare(machine.describe(download_url=url + path))
    assert raised.value.code == 2
    assert not list(tmp_path.glob("*.tar.gz"))
