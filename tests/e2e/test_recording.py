"""The first minute of a newcomer, recorded: the page of the documentation comes from here.

With UPDATE_GOLDEN=1 the test writes the page and the recording anew; without, it holds the page
against what the commands print now, but for numbers, ages and addresses.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from free_ports import FREE_PORTS
from recording import Output, encode_cast, render_text

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "quarterdeck.cli")
COMMANDS = (
    ("get", "applications"),
    ("get", "pipelines"),
    ("get", "clusterconnections"),
    ("describe", "application", "my-app"),
)

PAGE = ROOT / "docs/tutorial/first-minute.md"
CAST = ROOT / "docs/images/first-minute.cast"
HEAD = """\
# The first minute

<!-- Recorded by tests/e2e/test_recording.py (UPDATE_GOLDEN=1); do not edit. -->

```
make run ARGS=--demo
make shell   # in another terminal, for what follows
```

What the first shows, and some commands in the second, as a test has recorded them. The same session
as an [asciicast](../images/first-minute.cast), for `asciinema play`. Then: [your first
application](first-application.md).
"""

pytestmark = pytest.mark.slow


class Session:
    """Runs commands in a folder and keeps what they wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outputs: list[Output] = []
        self._began = time.monotonic()

    def write(self, text: str) -> None:
        shown = re.sub(r"code=\S+", "code=...", text).replace(str(self.folder), "~")
        self.outputs.append(Output(time.monotonic() - self._began, shown))

    def run(self, *arguments: str) -> None:
        self.write(f"$ quarterdeck {' '.join(arguments)}\n")
        kubeconfig = str(self.folder / ".quarterdeck/kubeconfig")
        done = subprocess.run(
            [*COMMAND, *arguments, "--kubeconfig", kubeconfig],
            cwd=self.folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        self.write(done.stdout)

    def read_until(self, lines: Iterator[str], word: str) -> None:
        for line in lines:
            self.write(line)
            if word in line:
                return
        raise AssertionError(f"the process ended before it said {word}: {self.outputs}")


def test_the_first_minute_is_recorded(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.write("$ quarterdeck up --demo\n")
    process = subprocess.Popen(
        [*COMMAND, "up", "--demo", *FREE_PORTS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "110"},
    )
    assert process.stdout is not None
    try:
        session.read_until(iter(process.stdout), "Activity")
        session.read_until(iter(process.stdout), "my-app ReconciliationSucceeded")
        for arguments in COMMANDS:
            session.run(*arguments)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    check_and_store(session)


def check_and_store(session: Session) -> None:
    text = render_text(session.outputs)
    assert "\x1b" not in text and "code=..." in text  # no credential is recorded
    for wanted in ("Quarterdeck", "$ quarterdeck get applications", "my-app"):
        assert wanted in text
    cast = encode_cast(session.outputs, title="Quarterdeck: the first minute")
    times = [json.loads(line)[0] for line in cast.splitlines()[1:]]
    assert times == sorted(times) and len(times) > 2 * len(COMMANDS)
    if os.environ.get("UPDATE_GOLDEN"):
        CAST.write_text(cast, encoding="utf-8")
        PAGE.write_text(render_page(text), encoding="utf-8")
    assert list_fixed_lines(PAGE.read_text(encoding="utf-8")) == list_fixed_lines(text)
    recorded = "".join(json.loads(line)[2] for line in CAST.read_text().splitlines()[1:])
    assert list_fixed_lines(recorded.replace("\r", "")) == list_fixed_lines(text)


def render_page(text: str) -> str:
    return f"{HEAD}\n```text\n{text.rstrip()}\n```\n"


def list_fixed_lines(text: str) -> list[str]:
    """What does not depend on the moment: the commands and the heads of tables."""
    fixed = [line for line in text.splitlines() if re.match(r"\$ |[A-Z][A-Z ]{8,}$", line)]
    return [" ".join(line.split()) for line in fixed]
