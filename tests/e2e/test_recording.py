"""The first minute of a newcomer, recorded: `build/first-minute.cast` and `.txt` come from here."""

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
from recording import Output, encode_cast, render_text

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "quarterdeck.cli")
SERVICES = (
    *("http", "dashboard", "ingester", "fleet", "webhook"),
    *("runner-webhook", "bootstrap", "health", "metrics"),
)
PORTS = ("--port", "0", *(word for each in SERVICES for word in (f"--{each}-port", "0")))
COMMANDS = (
    ("get", "applications"),
    ("get", "pipelines"),
    ("get", "clusterconnections"),
    ("describe", "application", "my-app"),
)

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
        [*COMMAND, "up", "--demo", *PORTS],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "110"},
    )
    assert process.stdout is not None
    try:
        session.read_until(iter(process.stdout), "Activity")
        session.read_until(iter(process.stdout), "my-app")
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
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    (folder / "first-minute.txt").write_text(text, encoding="utf-8")
    (folder / "first-minute.cast").write_text(cast, encoding="utf-8")
