"""Commands about experiments that the docs show exist, with the flags they show."""

import re
import shlex
from pathlib import Path

import pytest

from quarterdeck.cli.commands import COMMANDS, Found, load

DOCS = Path(__file__).parents[3] / "docs"
PAGES = (
    "tutorial/first-experiment.md",
    "how-to/run-experiments.md",
    "how-to/from-taskfile.md",
    "how-to/troubleshoot-experiments.md",
)
_SHOWN = re.compile(r"quarterdeck experiments ([a-z]+[^`\n#;|]*)")


def shown() -> list[str]:
    found = [
        match[1].strip().rstrip(":.,")
        for page in PAGES
        for match in _SHOWN.finditer((DOCS / page).read_text())
    ]
    return sorted(set(found))


def test_every_command_is_documented() -> None:
    root = Found("quarterdeck", "", None, COMMANDS, "quarterdeck.cli.commands")
    group = load(root, "experiments")
    assert {line.split()[0] for line in shown()} == set(group.group)


@pytest.mark.parametrize("line", shown())
def test_a_shown_command_can_be_parsed(line: str) -> None:
    root = Found("quarterdeck", "", None, COMMANDS, "quarterdeck.cli.commands")
    name, *arguments = shlex.split(line)
    found = load(load(root, "experiments"), name)
    assert found.command is not None
    if arguments:
        found.command.build_parser(found.prog).parse_intermixed_args(arguments)
