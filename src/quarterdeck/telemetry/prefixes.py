"""Finds the literal prefixes of what a regular expression matches.

An index can store `host=~"edge-1[0-9]"` under `edge-1` and skip it for every other host. The
analysis is conservative: a form that it does not support has the empty prefix, which fits any text.
"""

import re
from typing import NamedTuple

_PLAIN = re.compile(r"[^.^$*+?()\[\]{}|\\]*")
_OPTIONAL = ("*", "?", "{")
_UNCLEAR = ("[", "\\", "(?")
"""Not supported together with `|`: it may be literal there, or a flag may apply to branches."""


class LiteralPrefix(NamedTuple):
    """A prefix of a match; `is_whole` if it is the whole match."""

    text: str
    is_whole: bool


def find_prefixes(pattern: str) -> tuple[LiteralPrefix, ...]:
    """Find the prefixes of texts that match the whole pattern, one for each alternative."""
    return tuple(dict.fromkeys(_find_prefix(branch) for branch in _split_branches(pattern)))


def _split_branches(pattern: str) -> list[str]:
    """Split the alternatives of the top level; one with any prefix if that is not supported."""
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


def _find_prefix(branch: str) -> LiteralPrefix:
    branch = branch.removeprefix("^")
    found = _PLAIN.match(branch)
    assert found is not None  # it may be empty, it always matches
    text, rest = found[0], branch[found.end() :]
    if rest.startswith(_OPTIONAL):
        text = text[:-1]
    return LiteralPrefix(text, not rest)
