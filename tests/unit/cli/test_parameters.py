"""Flags read from typed functions, and the exit codes of commands."""

import enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pytest

from quarterdeck.app.errors import Interrupted, NotConfigured, SettingError, StartError
from quarterdeck.app.resolution import EffectiveSettings
from quarterdeck.cli import main
from quarterdeck.cli.command import Command, StartTime
from quarterdeck.cli.commands import walk
from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.cli.parameters import Argument, Option
from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.wire.status import NotFound


class Color(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


class Seen(Exception):
    """Carries what the command was called with."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self.values = values


def paint(
    wall: Annotated[str, Argument(metavar="WALL", help="Wall to paint, 100% of it.")],
    others: Annotated[list[str] | None, Argument(metavar="OTHER", help="More walls.")] = None,
    color: Annotated[Color, Option("--color", "-c", help="Color.")] = Color.RED,
    layers: Annotated[int, Option("--layers", minimum=1, maximum=9, help="Layers.")] = 2,
    dry: Annotated[bool, Option("--dry", help="Only print.")] = False,
    tags: Annotated[list[str] | None, Option("--tag", help="Tags.")] = None,
    house: Annotated[str, Option("--house", env="HOUSE", help="House.")] = "",
    folder: Annotated[Path | None, Option("--folder", help="Folder.")] = None,
) -> None:
    """Paint walls.

    Not part of the help.
    """
    raise Seen(dict(locals()))


def parse(*arguments: str) -> dict[str, Any]:
    parser = Command(paint).build_parser("quarterdeck paint")
    options = parser.parse_intermixed_args(list(arguments))
    with pytest.raises(Seen) as seen:
        Command(paint).call(options, StartTime(0.0))
    return seen.value.values


def test_defaults_are_those_of_the_function() -> None:
    assert parse("north") == {
        "wall": "north",
        "others": None,
        "color": Color.RED,
        "layers": 2,
        "dry": False,
        "tags": None,
        "house": "",
        "folder": None,
    }


def test_values_have_the_declared_types_wherever_the_flags_stand() -> None:
    found = parse(
        "north", "-c", "blue", "south", "--tag", "a", "--tag", "b", "--folder", "/x", "--dry"
    )
    assert (found["wall"], found["others"]) == ("north", ["south"])
    assert found["color"] is Color.BLUE and found["dry"] is True
    assert (found["tags"], found["folder"]) == (["a", "b"], Path("/x"))


def test_a_default_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSE", "mine")
    assert parse("north")["house"] == "mine"
    assert parse("north", "--house", "yours")["house"] == "yours"


def test_help_shows_flags_defaults_and_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.execute(Command(paint), "quarterdeck paint", ["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Paint walls." in text and "Not part of the help" not in text
    assert "100% of it" in text
    assert "-c red|blue, --color red|blue Color. (default: red)" in text
    assert "[env: HOUSE]" in text and "--debug" in text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        pytest.param([], "WALL", id="required"),
        pytest.param(["north", "--zebra", "red"], "--zebra", id="unknown flag"),
        pytest.param(["north", "-c", "green"], "'green' must be one of red, blue", id="choice"),
        pytest.param(["north", "--layers", "x"], "'x' is not a number", id="number"),
        pytest.param(["north", "--layers", "0"], "0 must be at least 1", id="minimum"),
        pytest.param(["north", "--layers", "10"], "10 must be at most 9", id="maximum"),
    ],
)
def test_bad_arguments_are_one_line_that_names_the_help(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute(Command(paint), "quarterdeck paint", arguments) == 2
    line = capsys.readouterr().err
    assert word in line and line.count("\n") == 1
    assert line.endswith("; see quarterdeck paint --help\n")


@pytest.mark.parametrize(("flag", "meant"), [("--colour", "--color"), ("--lay", "--layers")])
def test_a_mistyped_or_abbreviated_flag_is_refused_with_the_one_that_was_meant(
    flag: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.execute(Command(paint), "quarterdeck paint", ["north", flag, "3"]) == 2
    line = capsys.readouterr().err
    assert line.endswith(f'unrecognized arguments: {flag} 3; did you mean "{meant}"?\n')


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(CommandError("x", 2), 2, id="command"),
        pytest.param(SettingError("x"), 2, id="setting"),
        pytest.param(StartError("x"), 2, id="start"),
        pytest.param(NotConfigured("x"), 1, id="not configured"),
        pytest.param(ConnectionFailed("x"), 1, id="client"),
        pytest.param(NotFound("x"), 1, id="server"),
        pytest.param(Interrupted("x"), 130, id="signal"),
        pytest.param(KeyboardInterrupt(), 130, id="Ctrl-C"),
        pytest.param(OSError(13, "x"), 1, id="system"),
        pytest.param(ValueError("x"), 1, id="defect"),
        pytest.param(ExceptionGroup("g", [SettingError("x")]), 2, id="group"),
    ],
)
def test_every_failure_is_one_line_and_a_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        """Fail."""
        raise error

    assert main.execute(Command(fail), "quarterdeck fail", []) == code
    line = capsys.readouterr().err
    assert line.startswith("quarterdeck fail: ") and line.count("\n") == 1


def test_debug_lets_the_failure_through() -> None:
    def fail() -> None:
        """Fail."""
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        main.execute(Command(fail), "quarterdeck fail", ["--debug"])


def test_a_coroutine_and_its_exit_code_are_run() -> None:
    async def seven() -> int:
        """Return seven."""
        return 7

    assert main.execute(Command(seven), "quarterdeck seven", []) == 7


def test_groups_have_help_and_refuse_unknown_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["pipelines", "--help"]) == 0
    out = capsys.readouterr().out
    assert "usage: quarterdeck pipelines COMMAND" in out and "  lint " in out
    assert main.run(["pipelines"]) == 2
    assert main.run(["pipelines", "fly"]) == 2
    assert "'fly'; see quarterdeck pipelines --help" in capsys.readouterr().err


def test_every_command_has_a_description_and_a_summary() -> None:
    for found in walk():
        assert found.summary and not found.summary.endswith(".")
        assert found.command is not None or found.group
        if found.command is not None:
            assert found.command.description.endswith((".", "`."))
            assert found.command.build_parser(found.prog).format_help()


class Ladder(NamedTuple):
    steps: Annotated[int, Option("--steps", minimum=1, help="Steps.")] = 3
    is_wooden: Annotated[bool, Option("--wooden", help="Of wood.")] = False


class Equipment(NamedTuple):
    ladder: Ladder
    bucket: Annotated[str, Option("--bucket", help="Bucket.")] = "tin"


def climb(equipment: Equipment, started: StartTime) -> None:
    """Climb."""
    raise Seen(dict(locals()))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], Equipment(Ladder(3, False), "tin"), id="defaults"),
        pytest.param(
            ["--wooden", "--bucket", "zinc", "--steps", "5"],
            Equipment(Ladder(5, True), "zinc"),
            id="every flag",
        ),
    ],
)
def test_a_group_gets_the_flags_of_its_fields(arguments: list[str], expected: Equipment) -> None:
    parser = Command(climb).build_parser("quarterdeck climb")
    with pytest.raises(Seen) as seen:
        Command(climb).call(parser.parse_args(arguments), StartTime(7.0))
    assert seen.value.values == {"equipment": expected, "started": 7.0}


def look(effective: EffectiveSettings) -> None:
    """Look."""
    raise Seen(dict(locals()))


def test_settings_in_force_are_no_group_of_flags() -> None:
    command = Command(look, settings="up")
    options = command.build_parser("quarterdeck look").parse_args(["--port", "0"])
    with pytest.raises(Seen) as seen:
        command.call(options, StartTime(0.0))
    effective = seen.value.values["effective"]
    assert effective.settings.port == 0
    assert effective.origins["log_level"] == "default"
