"""Every command prints JSON on request, or says here why it does not."""

import json
from pathlib import Path

import pytest

from quarterdeck.cli.commands import Found, walk
from quarterdeck.cli.main import run

_RUNS = "runs until it is stopped; its log is JSON with --log-format json"
_TERMINAL = "connects a terminal"
EXEMPT = {
    "quarterdeck up": _RUNS,
    "quarterdeck run": _RUNS,
    "quarterdeck server": _RUNS,
    "quarterdeck fleet": _RUNS,
    "quarterdeck bootstrap": _RUNS,
    "quarterdeck machine-agent": _RUNS,
    "quarterdeck hub": _RUNS,
    "quarterdeck ingester": _RUNS,
    "quarterdeck collector": _RUNS,
    "quarterdeck dev": _RUNS,
    "quarterdeck machines console": _TERMINAL,
    "quarterdeck machines ssh": _TERMINAL,
    "quarterdeck machines tpm-roots": "prints certificates in PEM",
    "quarterdeck describe": "is for people; programs use `get --json`",
    "quarterdeck completion": "prints a shell script",
}
COMMANDS = [each for each in walk() if each.command is not None]


def list_flags(found: Found) -> set[str]:
    assert found.command is not None
    parser = found.command.build_parser(found.prog)
    return {flag for action in parser._actions for flag in action.option_strings}


@pytest.mark.parametrize("found", COMMANDS, ids=lambda found: str(found.prog))
def test_a_command_prints_json_or_is_exempt(found: Found) -> None:
    assert ("--json" in list_flags(found)) is (found.prog not in EXEMPT)


def test_exemptions_name_commands_that_exist() -> None:
    assert set(EXEMPT) <= {each.prog for each in COMMANDS}


def test_json_means_output_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cel", "1 + 1", "--json"]) == 0
    short = capsys.readouterr().out
    assert run(["cel", "1 + 1", "--output", "json"]) == 0
    assert capsys.readouterr().out == short
    assert isinstance(json.loads(short), dict)


@pytest.mark.parametrize(
    ("arguments", "member"),
    [
        pytest.param(["crds", "--json"], "items", id="crds"),
        pytest.param(["manifests", "--json"], "items", id="manifests"),
        pytest.param(["new", "database", "--folder", "FOLDER/p", "--json"], "files", id="new"),
        pytest.param(["envtest", "--dir", "FOLDER/e", "--json"], "programs", id="envtest"),
        pytest.param(["doctor", "--json"], "settings", id="doctor"),
        pytest.param(["pipelines", "lint", "FOLDER/a.alloy", "--json"], "problems", id="lint"),
    ],
)
def test_the_output_is_one_json_document(
    arguments: list[str], member: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.alloy").write_text('logging { level = "info" }\n')
    run([each.replace("FOLDER", str(tmp_path)) for each in arguments])
    assert member in json.loads(capsys.readouterr().out)
