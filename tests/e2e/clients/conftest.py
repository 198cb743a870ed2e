"""A real `quarterdeck server` process, and scripts that use it as a user would."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a fresh server that ends with the test, and ends well."""
    path = tmp_path / "kubeconfig"
    command = [sys.executable, "-m", "quarterdeck.cli", "server", "--in-memory", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--write-kubeconfig", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
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
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (0, "")


@pytest.fixture
def run_script(kubeconfig: Path, tmp_path: Path) -> Callable[..., str]:
    """Run a script of this folder in a process of its own; its output."""

    def run(name: str, *arguments: str) -> str:
        environment = {
            "KUBECONFIG": str(kubeconfig),
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
        }
        done = subprocess.run(
            [sys.executable, str(HERE / name), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
