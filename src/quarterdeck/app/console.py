"""What `quarterdeck up` prints: a summary when it is ready, then a line for each activity.

No library: the summary appears before anything else is loaded.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from quarterdeck.app.host import Endpoint

DASHBOARD = "dashboard"
"""The name of the endpoint that is shown first, on a line of its own."""
_NAMES = ("quarterdeck", "qd")
_BOLD, _DIM, _CYAN, _YELLOW, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[33m", "\x1b[0m"


class Started(NamedTuple):
    """What the summary shows."""

    version: str
    took_s: float
    endpoints: Sequence[Endpoint]
    operators: Sequence[str]
    kubeconfig: Path
    data: str
    commands: Sequence[str]
    """Commands to try next."""


def format_started(started: Started) -> list[str]:
    """The summary, line by line, without colors."""
    links = [each for each in started.endpoints if each.name == DASHBOARD]
    others = [each for each in started.endpoints if each.name != DASHBOARD]
    width = max(len(each.url) for each in others)
    lines = [f"Quarterdeck {started.version} is ready ({started.took_s:.2f} s)", ""]
    for link in links:
        lines += [f"  Open  {link.url}", f"        {link.what}", ""]
    lines += [f"  {each.url.ljust(width)}  {each.what}" for each in others]
    lines += [
        "",
        f"  operators  {', '.join(started.operators)}",
        f"  data       {started.data}",
        "",
        "  Try, in another terminal:",
        "",
        f"    export KUBECONFIG={started.kubeconfig}",
    ]
    lines += [f"    {each}" for each in started.commands]
    lines += ["", "  Press Ctrl-C to stop. Activity:", ""]
    return lines


def find_program(called_as: str, *, folder: Path, home: Path) -> str:
    """The command that runs this program in another terminal: a name if it is on every PATH."""
    path = Path(called_as)
    if path.name not in _NAMES:
        return _NAMES[0]
    if path.parent in (Path("/usr/bin"), Path("/usr/local/bin"), home / ".local" / "bin"):
        return path.name
    path = folder / path
    return str(path.relative_to(folder) if path.is_relative_to(folder) else path)


class Console:
    """Prints lines: with colors on a terminal, without elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_closed = False
        self._is_colored = stream.isatty() and not os.environ.get("NO_COLOR")

    def print_started(self, started: Started) -> None:
        """Print the summary."""
        first, *rest = format_started(started)
        self._write("\n".join([self._color(_BOLD, first), *map(self._decorate, rest)]))

    def print_line(self, text: str, is_warning: bool = False) -> None:  # noqa: FBT001, FBT002
        """Print one line."""
        self._write(self._color(_YELLOW, text) if is_warning else text)

    def _decorate(self, line: str) -> str:
        if line.startswith("    "):
            return self._color(_CYAN, line)
        if line.startswith("  Open"):
            return self._color(_BOLD, line)
        return self._color(_DIM, line) if line.startswith("  Press") else line

    def _color(self, color: str, text: str) -> str:
        return f"{color}{text}{_OFF}" if self._is_colored and text else text

    def _write(self, text: str) -> None:
        """Print; a closed terminal or one without Unicode must not stop the process."""
        if self._is_closed:
            return
        try:
            self._stream.write(f"{text}\n")
            self._stream.flush()
        except UnicodeEncodeError:
            self._stream.write(text.encode("ascii", "replace").decode() + "\n")
        except (OSError, ValueError):
            self._is_closed = True
