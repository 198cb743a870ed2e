"""Processes under measurement: asked line by line, on a core of their own."""

import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from bench import accounting, environment


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
        if core is not None:
            accounting.pin(self.pid, core)

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

    def memory_bytes(self) -> int:
        """Memory it holds now."""
        return accounting.memory_bytes(self.pid)

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
