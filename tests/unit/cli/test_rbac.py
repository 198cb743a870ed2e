"""`quarterdeck rbac` prints the role that controllers of a file need."""

from pathlib import Path

import pytest

from quarterdeck.cli.main import run
from quarterdeck.kit import yaml

HELLO = Path(__file__).parents[3] / "examples/hello/hello.py"


def test_the_role_has_what_the_controllers_declare(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rbac", str(HELLO), "--name", "greeter"]) == 0
    role = yaml.load(capsys.readouterr().out)
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "greeter")
    resources = {name for rule in role["rules"] for name in rule["resources"]}
    assert {"greetings", "greetings/status", "configmaps"} <= resources


@pytest.mark.parametrize("form", ["name", "table"])
def test_a_role_is_named_after_its_module(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rbac", str(HELLO), "-o", form]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_a_file_without_controllers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.py").write_text("")
    assert run(["rbac", str(tmp_path / "empty.py")]) == 2
    assert "has no Controller at its top level" in capsys.readouterr().err
