"""The recorder of roles notes what an operator asks for, and nothing of the test beside it."""

import os
import subprocess
import sys
from pathlib import Path

from quarterdeck.codegen import recorded_uses

ROOT = Path(__file__).parents[3]
TEST = "test_the_operator_uses_no_permission_it_does_not_declare"


def test_recorder_notes_the_requests_of_an_operator(tmp_path: Path) -> None:
    path = "tests/integration/operators/applications/test_application.py"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    subprocess.run(
        [*command, f"{path}::{TEST}"],
        cwd=ROOT,
        env={**os.environ, "QUARTERDECK_RECORD_USES": str(tmp_path)},
        check=True,
        capture_output=True,
    )
    (file,) = tmp_path.glob("*.yaml")
    uses = recorded_uses.parse_table(file.read_text())
    assert {each.operator for each in uses} == {"applications"}
    verbs = {each.verb for each in uses if each.resource == "deployments"}
    assert {"patch", "watch"} <= verbs
    # the test creates the Application and installs its definition: the operator does not
    assert not [each for each in uses if each.resource == "customresourcedefinitions"]
    own = {each.verb for each in uses if each.resource == "applications"}
    assert "create" not in own and "watch" in own
