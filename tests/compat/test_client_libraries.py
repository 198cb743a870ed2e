"""Client libraries of other languages, fetched and unmodified, against a server process.

Those of Python and kopf are in tests/e2e/clients. A program here is the life of some objects as
a user of the library would write it, and prints `ok` at its end.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from server_process import serve
from tests.compat.go_suite import find_program

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(3600)]

HERE = Path(__file__).parent


def fetch(command: Sequence[str], work: Path, library: str) -> None:
    """Have a package manager bring a library; skips, by its name, if it cannot be had."""
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{library} cannot be fetched: {done.stderr[-300:]}")


def run(command: Sequence[str], work: Path) -> None:
    """Run a program against a new server."""
    with serve(work) as kubeconfig:
        done = subprocess.run(
            command,
            cwd=work,
            env={**os.environ, "KUBECONFIG": str(kubeconfig)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stdout + done.stderr


def test_the_node_client_works_unchanged(tmp_path: Path) -> None:
    npm, node = find_program("npm"), find_program("node")
    work = tmp_path / "node"
    shutil.copytree(HERE / "node", work)
    flags = ("--silent", "--no-progress", "--no-audit", "--no-fund")
    fetch([npm, "install", *flags], work, "@kubernetes/client-node")
    run([node, "life.js"], work)


def test_the_rust_client_works_unchanged(tmp_path: Path) -> None:
    cargo = find_program("cargo")
    work = tmp_path / "rust"
    shutil.copytree(HERE / "rust", work)
    fetch([cargo, "fetch", "--quiet"], work, "kube-rs")
    built = subprocess.run(
        [cargo, "build", "--quiet", "--target-dir", str(tmp_path / "target")],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-4000:]
    run([str(tmp_path / "target" / "debug" / "compat")], work)
