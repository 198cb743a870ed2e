"""An object that does not exist: every command that names one says so, and ends with 1."""

from pathlib import Path

import pytest

from quarterdeck.cli.exit_codes import FAILED, OK
from quarterdeck.cli.main import run

ROOT = Path(__file__).parents[3]
COMMANDS = (
    "get configmaps missing",
    "get fleets missing -o yaml",
    "get nonsense",
    "get configmaps missing --watch --count 1",
    "describe configmaps missing",
    "delete configmaps missing",
    "logs missing",
    "pipelines promote missing",
    "pipelines rollback missing",
    "machines rollout status missing --no-wait",
    "machines rollout history missing",
    "machines rollout undo missing",
    "machines console missing",
    "machines ssh missing",
    "hypervisor act power-off missing",
    "hypervisor act kill-node missing",
    "experiments rerun missing",
    "experiments resume missing",
    "experiments tree missing",
    "experiments compare missing absent",
    "clusters join missing --image x --ingester-address hub:9443",
)


def test_a_missing_object_is_named_in_one_line(
    kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert run(["apply", "-f", str(ROOT / "config/crd/bases")]) == OK
    capsys.readouterr()
    wrong = {}
    for line in COMMANDS:
        code = run(line.split())
        done = capsys.readouterr()
        is_named = "missing" in done.err or "nonsense" in done.err
        if code != FAILED or done.out or done.err.count("\n") != 1 or not is_named:
            wrong[line] = (code, done.out, done.err)
    assert wrong == {}
