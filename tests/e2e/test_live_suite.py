"""The opt-in suite against a real Fleet Management stack, with `quarterdeck fleet` as the stack.

Nobody runs the suite for months; this keeps its way through the environment working.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SUITE = "tests/contract/fleet/test_fleet_api.py"


def test_the_live_suite_passes_on_our_own_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quarterdeck.cli", "fleet", "--port", "0"]
    with subprocess.Popen(
        [*command, "--in-memory", "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            server.stdout.readline()  # the token is written
            environment = {
                **os.environ,
                "QUARTERDECK_LIVE_FLEET_URL": url,
                "QUARTERDECK_LIVE_FLEET_USERNAME": "123456",
                "QUARTERDECK_LIVE_FLEET_PASSWORD": (tmp_path / "fleet-token").read_text().strip(),
            }
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-n", "0", "-k", "live", SUITE],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            server.terminate()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b[1-9]\d* passed", done.stdout)
    assert "skipped" not in done.stdout
