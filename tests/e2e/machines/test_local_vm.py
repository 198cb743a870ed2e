"""A Fleet of one real VM: from nothing to running and to gone, in `quarterdeck up`, without KVM.

The VM boots a disk of its own (Debian's kernel and a small initial RAM disk, made by `make tools`),
reads its seed, gets an address, survives a restart of the operator, and goes when its Fleet goes.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_PORTS
from watched_object import wait_for_object

from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.operators.machines.drivers.qemu.folder import Folder
from quarterdeck.operators.machines.drivers.qemu.process import find_pid
from quarterdeck.testing.programs import require

pytestmark = pytest.mark.slow  # a whole machine boots, in emulation

COMMAND = (sys.executable, "-m", "quarterdeck.cli")
IMAGES = Path(__file__).parents[3] / ".tools/vm"
TRIES = 600
STEP_S = 0.5
CLUSTER = """
apiVersion: hypervisor.hyperfleet.io/v1alpha1
kind: HypervisorCluster
metadata: {name: local, namespace: default}
spec:
  provider: qemu
  endpoint: https://localhost
  nodes: [here]
  defaultStorage: local
  defaultNetwork: user
"""
FLEET = """
apiVersion: hypervisor.hyperfleet.io/v1alpha1
kind: Fleet
metadata: {name: web, namespace: default}
spec:
  replicas: 1
  image: machine
  selector: {app: web}
"""


def require_image(name: str = "machine.qcow2") -> Path:
    """An image of `make tools`."""
    image = IMAGES / name
    if image.is_file():
        return image
    if name in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", ""):
        pytest.fail(f"{image} is required and not built: make tools")
    pytest.skip(f"{image} is not built: make tools")


class Up:
    """A `quarterdeck up` with the machines operator alone, and commands against it."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self.files = Folder(folder / "data" / "qemu")
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "up.log"

    def start(self) -> None:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(*COMMAND, "up", "--operators", "machines", "--data-dir", "data"),
                    *(*FREE_PORTS, *self._options),
                ],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.wait("the start of quarterdeck up", lambda: "Activity" in self.log())

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)
            process.wait(240)

    def log(self) -> str:
        if self._process is not None and self._process.poll() is not None:
            pytest.fail(f"quarterdeck up ended: {self._log.read_text()}")
        return self._log.read_text()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.folder / "data" / "kubeconfig")}

    def run(self, *arguments: str, text: str = "", code: int = 0) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return done.stdout

    def objects(self, kind: str) -> list[dict[str, Any]]:
        found: dict[str, Any] = json.loads(self.run("get", kind, "-o", "json") or '{"items": []}')
        return list(found.get("items", [found]))  # one object comes without a list

    def wait_ready(self, kind: str, condition: str = "Ready") -> dict[str, Any]:
        """Wait until an object of a kind has a condition that is True."""

        def is_ready(found: dict[str, Any]) -> bool:
            conditions = found.get("status", {}).get("conditions", [])
            return any(
                each["type"] == condition and each["status"] == "True" for each in conditions
            )

        return wait_for_object(kind, environment=self.environment, is_met=is_ready)

    def wait(self, what: str, is_there: Callable[[], bool]) -> None:
        """Wait for something that other processes do; the limit only detects hangs."""
        pause = threading.Event()
        for _ in range(TRIES):
            if is_there():
                return
            pause.wait(STEP_S)
        consoles = [path.read_text(errors="replace") for path in self.files.vms.glob("*/*.log")]
        pytest.fail(f"{what} did not come about: {self.log()}\n{consoles}")

    def pids(self) -> list[int]:
        records = self.files.read_all()
        return [find_pid(self.files.at(record.id), record.uuid) for record in records]


@contextmanager
def running_up(folder: Path, *options: str) -> Iterator[Up]:
    """A started `quarterdeck up`; in the end its VMs are gone too."""
    started = Up(folder, *options)
    try:
        started.start()
        yield started
    finally:
        started.stop()
        for number in filter(None, started.pids()):
            os.kill(number, signal.SIGKILL)


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    with running_up(tmp_path) as started:
        yield started


def test_a_fleet_of_one_real_vm_lives_and_goes(up: Up) -> None:
    for program in (programs.QEMU, programs.QEMU_IMG):
        require(program)
    image = require_image()
    up.run("apply", "-f", "-", text=CLUSTER)
    command = ("machines", "template", "import", str(image), "--memory", "256Mi", "--user", "me")
    up.run(*command, "--data-dir", "data")
    up.wait_ready("hypervisormachinetemplates", "TemplateValid")
    up.run("apply", "-f", "-", text=FLEET)
    claim = up.wait_ready("machineclaims")
    name, vmid = claim["metadata"]["name"], claim["status"]["vmRef"]["vmId"]
    at = up.files.at(vmid)
    wanted = (f"machine: ready {name}", "machine: address 10.0.2.15", "machine: seed on")
    up.wait(
        "the end of the boot",
        lambda: all(each in at.console_log.read_text(errors="replace") for each in wanted),
    )
    assert claim["status"]["networkInfo"]["ipAddress"] == "10.0.2.15"
    port = claim["status"]["networkInfo"]["sshAddress"].removeprefix("127.0.0.1:")
    assert up.run("machines", "ssh", name, "--print") == f"ssh -p {port} me@127.0.0.1\n"
    console = up.run("machines", "console", name, "--data-dir", "data").strip()
    assert console == f"unix://{at.console_socket}"
    (number,) = up.pids()
    up.stop()
    assert up.pids() == [number]
    up.start()
    up.wait_ready("machineclaims")
    assert up.pids() == [number]
    up.run("delete", "fleet", "web")
    up.wait("no machine", lambda: up.objects("machineclaims") == [])
    assert up.files.list_ids() == []
    assert not Path(f"/proc/{number}/cmdline").exists() or (
        Path(f"/proc/{number}/cmdline").read_bytes() == b""
    )
