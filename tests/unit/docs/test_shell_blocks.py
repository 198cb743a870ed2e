"""Commands in pages and dashboard exist as they are written; those that need nothing are run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from page_blocks import PAGES, ROOT, list_blocks

from quarterdeck.cli.commands import COMMANDS, PACKAGE, Found, load
from quarterdeck.cli.main import run
from quarterdeck.cli.parameters import UsageError

_ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"}
_PLACEHOLDER = re.compile(r"[…\[\]]|\.\.\.|<\w+>")
MARKED_AT_MOST = 0.1
ALONE = ("cel", "crds", "manifests", "completion", "version")
"""Commands that need no cluster, no file and no network."""


class Written(NamedTuple):
    """A command as a page has it."""

    place: str
    program: str
    arguments: tuple[str, ...]
    is_whole: bool
    """Whether nothing stands around it: no pipe, no redirection, no variable."""


def list_written() -> Iterator[Written]:
    for page in PAGES:
        for block in list_blocks(page):
            if block.is_shell:
                yield from read_commands(block.text, block.name)


def list_advised() -> Iterator[tuple[str, str]]:
    """Where the dashboard advises a command in an empty view, and the command."""
    for path in sorted((ROOT / "web/src").rglob("*.tsx")):
        for text in re.findall(r'command="([^"]+)"', path.read_text()):
            yield path.name, text


def read_commands(text: str, place: str) -> Iterator[Written]:
    """The commands of a block; lines that cannot be split are output, not commands."""
    for line in text.replace("\\\n", " ").splitlines():
        stripped = line.removeprefix("$ ").strip()
        try:
            lexer = shlex.shlex(stripped, posix=True, punctuation_chars="|&;<>")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            continue
        yield from split_commands(words, place, line=stripped)


def split_commands(words: list[str], place: str, *, line: str) -> Iterator[Written]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _ENDS or set(word) <= set("|&;<>"):
            parts.append([])
        else:
            parts[-1].append(word)
    is_whole = len(parts) == 1 and "$" not in line and "`" not in line
    for part in parts:
        while part and re.fullmatch(r"[A-Z_]+=\S*", part[0]):
            part.pop(0)
        is_message = any(word.endswith(":") for word in part[:3])  # what a command printed
        if part and part[0] in ("quarterdeck", "qd", "make") and not is_message:
            yield Written(f"{place} {line}", part[0], tuple(part[1:]), is_whole)


ADVISED = list(list_advised())
WRITTEN = [
    *list_written(),
    *(written for place, text in ADVISED for written in read_commands(text, place)),
]
QUARTERDECK = [
    each
    for each in WRITTEN
    if each.program != "make" and not any(map(_PLACEHOLDER.search, each.arguments))
]


def find_command(arguments: tuple[str, ...]) -> tuple[Found, list[str]]:
    here, rest = Found("quarterdeck", "", None, COMMANDS, PACKAGE), list(arguments)
    while rest and rest[0] in here.group:
        here, rest = load(here, rest[0]), rest[1:]
    return here, rest


def test_files_of_advised_commands_exist() -> None:
    assert len(ADVISED) > 8
    named = [word for _, text in ADVISED for word in text.split() if word.endswith(".yaml")]
    assert named
    assert [each for each in named if not (ROOT / each).is_file()] == []


def test_the_pages_hold_commands() -> None:
    assert len(QUARTERDECK) > 60
    assert sum(each.program == "make" for each in WRITTEN) > 10


@pytest.mark.parametrize("written", QUARTERDECK, ids=lambda each: str(each.place))
def test_a_command_of_a_page_is_accepted(written: Written) -> None:
    found, rest = find_command(written.arguments)
    if found.command is None:
        assert not rest or rest[0] in ("--help", "--version"), f"no such command: {written.place}"
        return
    if "--help" in rest:
        return
    try:
        found.command.build_parser(found.prog).parse_intermixed_args(rest)
    except UsageError as error:
        pytest.fail(f"{written.place}: {error}")


@pytest.mark.parametrize(
    "written",
    [
        each
        for each in QUARTERDECK
        if "$" not in each.place and each.arguments[:1] and each.arguments[0] in ALONE
        and "-f" not in each.arguments
    ],
    ids=lambda each: str(each.place),
)  # fmt: skip
def test_a_command_that_needs_nothing_succeeds(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    if any(":" in each and "/" not in each for each in written.arguments[1:]):
        pytest.skip("names a module of the reader's own")
    assert run(list(written.arguments)) == 0


@pytest.mark.parametrize(
    "written",
    [each for each in WRITTEN if each.program == "make"],
    ids=lambda each: str(each.place),
)
def test_a_make_target_of_a_page_exists(written: Written) -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), flags=re.M))
    for word in written.arguments:
        if not word.startswith("-") and "=" not in word and re.fullmatch(r"[a-z][\w-]*", word):
            assert word in targets, written.place


def test_few_blocks_need_what_a_test_does_not_have() -> None:
    blocks = [block for page in PAGES for block in list_blocks(page) if block.is_shell]
    marked = [block.name for block in blocks if block.not_run]
    assert len(blocks) > 100
    assert len(marked) <= MARKED_AT_MOST * len(blocks), marked
