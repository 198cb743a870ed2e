"""`tools/venv.sh` shows how far pip is, on a terminal; a log gets one line."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PIP = """#!/bin/sh
case "$*" in *--find-links*) ;; *) exit 0 ;; esac
echo "Processing /wheels/one.whl"
echo "Processing /wheels/two.whl"
echo "Installing collected packages: one, two"
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Installs what running needs into an environment whose pip only prints."""
    pip = tmp_path / "bin/pip"
    pip.parent.mkdir()
    pip.write_text(PIP)
    pip.chmod(0o755)
    return ["bash", "tools/venv.sh", "python3", str(tmp_path), "run"]


def test_a_terminal_shows_each_package(command: list[str]) -> None:
    here, there = os.openpty()
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=there, stderr=there, check=False)
        shown = os.read(here, 10_000).decode()
    finally:
        os.close(here)
        os.close(there)
    assert done.returncode == 0, shown
    assert "\r  1 of " in shown and "\r  2 of " in shown and "\r  unpacking " in shown


def test_a_log_gets_one_line(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("installing what 'run' needs")
