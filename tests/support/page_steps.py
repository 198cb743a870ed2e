"""What the reader of a page does, step by step: files to save, commands to type, outputs to see."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from page_blocks import Block, list_blocks

_MASKS = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), "<address>"),
    (re.compile(r"-[0-9a-f]{8,10}-[a-z0-9]{5}\b"), "-<suffix>"),
    (re.compile(r"-(?=[a-z]*\d)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-<suffix>"),
    (re.compile(r"\b[0-9a-f]{10,64}\b"), "<hash>"),
    (re.compile(r"\b(\d+(\.\d+)?(ms|s|m|h|d))+\b"), "<age>"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "<age>"),
    (re.compile(r"\b\d{3,}\b"), "<number>"),
    (re.compile(r"[ \t]+"), " "),
]
"""What differs between two runs: times, uids, addresses, suffixes, hashes, ages, counts, spaces."""


class Save(NamedTuple):
    """A file that the reader makes."""

    block: Block
    path: str


class Command(NamedTuple):
    """A command that the reader types, and what the page says it prints."""

    block: Block
    text: str
    output: str = ""


Step = Save | Command


def list_steps(page: Path) -> list[Step]:
    """What a page asks for, in its order; blocks that are marked as not run are left out."""
    steps: list[Step] = []
    values: dict[str, str] = {}
    for block in list_blocks(page):
        values |= block.values
        steps += [Command(block, each) for each in split_commands(block.given)]
        if block.not_run:
            continue
        if block.info == "text":
            if not block.above.strip():
                _add_output(steps, block)
        elif block.is_shell:
            steps += [
                each._replace(text=_fill_in(each.text, values)) for each in _list_commands(block)
            ]
        elif block.file_name:
            steps.append(Save(block, block.file_name))
    return steps


def _fill_in(text: str, values: dict[str, str]) -> str:
    for word, value in values.items():
        text = re.sub(rf"\b{re.escape(word)}\b", value.replace("\\", r"\\"), text)
    return text


def _add_output(steps: list[Step], block: Block) -> None:
    last = steps[-1] if steps else None
    assert isinstance(last, Command), f"{block.name}: output of which command?"
    steps[-1] = last._replace(output=block.text)


def _list_commands(block: Block) -> list[Command]:
    """The commands of a block; behind `$ ` each has its output below it."""
    if not block.text.startswith("$ "):
        return [Command(block, each) for each in split_commands(block.text)]
    parts = re.split(r"^\$ ", block.text, flags=re.M)[1:]
    return [Command(block, each.partition("\n")[0], each.partition("\n")[2]) for each in parts]


def split_commands(text: str) -> list[str]:
    """The commands of a block: lines are joined until bash takes them as a whole."""
    commands: list[str] = []
    pending = ""
    for line in text.splitlines():
        if not pending and (not line.strip() or line.lstrip().startswith("#")):
            continue
        pending += line + "\n"
        if not line.endswith("\\") and _is_whole(pending):
            commands.append(pending)
            pending = ""
    assert not pending, f"bash takes this for unfinished: {pending}"
    return commands


def _is_whole(text: str) -> bool:
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    return done.returncode == 0 and not done.stderr  # an open here-document is a warning


def mask(text: str) -> list[str]:
    """The lines of an output without what differs between two runs; empty ones are left out."""
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return [line.strip() for line in text.splitlines() if line.strip()]


def matches(expected: str, actual: str, *, is_followed: bool = False) -> bool:
    """Whether an output is the one of the page; `...` in a page stands for anything.

    A command that follows changes shows more steps than a page: the page's lines must come in
    their order.
    """
    wanted, found = mask(expected), mask(actual)
    if is_followed:
        rest = iter(found)
        return all(any(_line_matches(line, each) for each in rest) for line in wanted)
    return _lines_match(wanted, found)


def _lines_match(wanted: list[str], found: list[str]) -> bool:
    if not wanted:
        return not found
    if wanted[0] in ("...", "…"):
        return any(_lines_match(wanted[1:], found[start:]) for start in range(len(found) + 1))
    return (
        bool(found) and _line_matches(wanted[0], found[0]) and _lines_match(wanted[1:], found[1:])
    )


def _line_matches(wanted: str, found: str) -> bool:
    parts = re.split(r"\.\.\.|…", wanted)
    return re.fullmatch(".*".join(map(re.escape, parts)), found) is not None
