"""Network, mounts and processes of their own for a group of programs, and a cgroup.

What the programs leave behind (bridges, packet filters, mounts, containers) ends with the sandbox,
and nothing of the machine is changed.
"""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
_ATTEMPTS = 200
_STEP_S = 0.05
_PREPARE = """
set -eu
mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir -p /run/lock
ip link set lo up
ip link add node0 type bridge
ip address add "$1/24" dev node0
ip link set node0 up
ip route add default dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward
echo ready
exec sleep infinity
"""


class Sandbox:
    """Programs that see each other and nothing else."""

    def __init__(self, holder: "subprocess.Popen[str]", folder: Path) -> None:
        self.folder = folder
        self._holder = holder
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        self._target = children[0]
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def enter(self, command: Sequence[str]) -> list[str]:
        """A command that runs inside."""
        flags = ("--net", "--mount", "--pid")
        return ["nsenter", "--target", self._target, *flags, "--", *command]

    def start(self, *command: str) -> None:
        """Start a program; its output is a file named after it."""
        name = Path(command[0]).name
        with (self.folder / f"{name}.log").open("wb") as log:
            self._started[name] = subprocess.Popen(
                self.enter(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            )

    def run(self, *command: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command to its end, however it ends."""
        return subprocess.run(
            self.enter(command),
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )

    def check_running(self) -> None:
        """Raise AssertionError with the log of a program that has ended."""
        for name, process in self._started.items():
            assert process.poll() is None, f"{name} has ended:\n{self.read_log(name)}"

    def read_log(self, name: str) -> str:
        """The end of what a program has written."""
        return (self.folder / f"{name}.log").read_text(errors="replace")[-4000:]

    def close(self) -> None:
        """End every program inside: the first process of the sandbox takes the others along."""
        self._holder.kill()
        self._holder.wait()
        for each in self._started.values():
            each.wait()


@contextlib.contextmanager
def running_sandbox(folder: Path, address: str) -> Iterator[Sandbox]:
    """A sandbox whose only network interface besides loopback has an address."""
    spaces = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    holder = subprocess.Popen(
        ["unshare", *spaces, "sh", "-c", _PREPARE, "sh", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert holder.stdout is not None
    with holder.stdout:
        line = holder.stdout.readline()
        assert line == "ready\n", f"no sandbox: {line}{holder.stdout.read()}"
        sandbox = Sandbox(holder, folder)
        try:
            yield sandbox
        finally:
            sandbox.close()


@contextlib.contextmanager
def own_cgroup(name: str) -> Iterator[str]:
    """A cgroup for containers in every hierarchy; it is removed once they have ended."""
    is_unified = (CGROUPS / "cgroup.controllers").exists()
    hierarchies = [CGROUPS] if is_unified else list(CGROUPS.iterdir())
    for each in hierarchies:
        (each / name).mkdir()
    try:
        yield f"/{name}"
    finally:
        for each in hierarchies:
            _remove(each / name)


def _remove(root: Path) -> None:
    pause = threading.Event()
    for _ in range(_ATTEMPTS):  # ended processes leave a cgroup a moment later
        for folder, _, _ in os.walk(root, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        if not root.exists():
            return
        pause.wait(_STEP_S)
    raise AssertionError(f"cgroup {root} still has processes")
