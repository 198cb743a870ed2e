"""The dashboard in a real Chromium, in a process of its own: see `dashboard/conftest.py`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quarterdeck.testing import programs

FOLDER = Path(__file__).parent / "dashboard"


@pytest.mark.slow
def test_every_view_works_in_a_browser() -> None:
    programs.require("chromium")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:randomly", str(FOLDER)]
    environment = {**os.environ, "QUARTERDECK_BROWSER": "1"}
    for name in [each for each in environment if each.startswith("PYTEST_")]:
        del environment[name]
    done = subprocess.run(
        command, env=environment, cwd=FOLDER.parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
