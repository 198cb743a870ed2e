"""Processes under measurement: a core of their own, their memory and processor time."""

import os
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from bench import environment

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Child:
    """A process that is asked line by line, and ends when its input ends.

    Args:
        command: what to run; a name that starts with `-m` is run by this Python.
        core: the core to keep it on; None leaves that to the system.
        quiet: whether what it complains about is dropped, where failures are the point.
    """

    def __init__(
        self, command: Sequence[str], *, core: int | None = None, quiet: bool = False
    ) -> None:
        arguments = [sys.executable, *command] if command[0] == "-m" else list(command)
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            text=True,
            env=environment.clean(),
        )
        if core is not None and hasattr(os, "sched_setaffinity"):
            allowed = sorted(os.sched_getaffinity(0))
            if core < len(allowed):
                os.sched_setaffinity(self._process.pid, {allowed[core]})

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def line(self) -> str:
        """The next line of its output; empty when it has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def send(self, text: str = "") -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def ask(self, text: str = "") -> str:
        """Send a line and wait for one."""
        self.send(text)
        return self.line()

    def cpu_s(self) -> float:
        """Processor seconds used so far, in steps of the system's clock (Linux)."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_bytes(self, field: str = "VmRSS") -> int:
        """Memory it holds now, or with `VmHWM` at most so far (Linux)."""
        with open(f"/proc/{self.pid}/status") as file:
            for row in file:
                if row.startswith(f"{field}:"):
                    return int(row.split()[1]) * 1024
        return 0

    def close(self) -> None:
        """Close its input and wait for it; kill it if that does not help."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
