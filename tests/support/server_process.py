"""A `quarterdeck server` in a process of its own."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def serve(folder: Path, *flags: str, may_warn: bool = False) -> Iterator[Path]:
    """Start a server in a folder; gives its kubeconfig, and ends it well.

    It must print no warnings, unless the clients give it a reason.
    """
    path = folder / "kubeconfig"
    command = [sys.executable, "-m", "quarterdeck.cli", "server", "--in-memory", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--write-kubeconfig", str(path), *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        for line in process.stdout:
            if line.startswith("ready"):
                break
        else:
            pytest.fail(f"the server did not start: {process.stderr.read()}")
        yield path
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=240)
    assert (process.returncode, "" if may_warn else errors) == (0, "")
