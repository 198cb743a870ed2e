"""What a regular expression says about how its matches begin.

An index can file `host=~"edge-1[0-9]"` under `edge-1` and pass it over for every other host. The
reading is careful, not complete: a form it does not know begins with anything, the empty prefix.
"""

import re
from typing import NamedTuple

_PLAIN = re.compile(r"[^.^$*+?()\[\]{}|\\]*")
_OPTIONAL = ("*", "?", "{")
_UNCLEAR = ("[", "\\", "(?")
"""Beside alternatives: a bar may stand for itself, or a flag may reach the branches after it."""


class Beginning(NamedTuple):
    """How a match begins; `is_whole` if there is nothing after it."""

    text: str
    is_whole: bool


def find_beginnings(pattern: str) -> tuple[Beginning, ...]:
    """Each way in which a text that matches the whole pattern can begin."""
    return tuple(dict.fromkeys(_find_beginning(branch) for branch in _split_branches(pattern)))


def _split_branches(pattern: str) -> list[str]:
    """The alternatives at the top; one that begins with anything if that is unclear."""
    if "|" not in pattern:
        return [pattern]
    if any(each in pattern for each in _UNCLEAR):
        return [".*"]
    depth = 0
    branches = [""]
    for character in pattern:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            branches.append("")
        else:
            branches[-1] += character
    return branches


def _find_beginning(branch: str) -> Beginning:
    branch = branch.removeprefix("^")
    found = _PLAIN.match(branch)
    assert found is not None  # it may be empty, it always matches
    text, rest = found[0], branch[found.end() :]
    if rest.startswith(_OPTIONAL):
        text = text[:-1]
    return Beginning(text, not rest)
