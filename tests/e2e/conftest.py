"""Real `quarterdeck server` processes."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

Serve = Callable[..., AbstractContextManager[Path]]


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Starts a server in a folder with more flags; gives its kubeconfig, and ends it well."""
    return contextlib.contextmanager(_serve)


def _serve(folder: Path, *flags: str) -> Iterator[Path]:
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
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
