"""The modules of the dashboard that need no browser, in Node: see `web/tests`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_modules_of_the_dashboard_work_without_a_browser() -> None:
    command = ["bash", "tools/web.sh", ".tools", sys.executable, "test"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    if "# pass" not in output:
        message = f"the modules of the dashboard are not built (make web): {output[-500:]}"
        if "dashboard" in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").split():
            pytest.fail(message)
        pytest.skip(message)
    assert done.returncode == 0, output[-6000:]
