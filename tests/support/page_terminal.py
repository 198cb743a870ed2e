"""A terminal in which the reader of a page leaves a program running."""

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

LIMIT_S = 240
"""How long a reader looks again before a page counts as wrong. It only matters for failures."""


class PageError(AssertionError):
    """Raised when a page's command does not do what the page says."""


class Terminal:
    """A program that runs until Ctrl-C, and its screen."""

    def __init__(self, words: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        named = re.search(r"--data-dir (\S+)", words[-1])
        self.data_folder = named[1] if named else ""
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._has_ended = False
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def wait_for(self, pattern: str) -> None:
        """Wait until a line has the pattern."""
        self.wait_until(
            lambda seen: re.search(pattern, seen) is not None,
            lambda seen: f"no {pattern!r} on the screen:\n{seen}",
        )

    def wait_until(self, is_right: Callable[[str], bool], explain: Callable[[str], str]) -> None:
        """Wait until the screen is right."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_ended or is_right(self._screen()), LIMIT_S)
            if not is_right(self._screen()):
                raise PageError(explain(self._screen()))

    def close(self) -> None:
        """Press Ctrl-C."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(240)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise
        finally:
            self._reading.join()

    def _screen(self) -> str:
        return "".join(self._lines)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                with self._changed:
                    self._lines.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()
