"""A real `quarterdeck server` process, and scripts that use it as a user would."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def kubeconfig(serve: Any, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a fresh server that ends with the test."""
    with serve(tmp_path) as path:
        yield path


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
