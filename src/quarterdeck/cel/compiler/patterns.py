"""Compiles constant patterns, with Python's own engine where that is safe.

RE2 never takes more than linear time, but a call into it costs microseconds. Patterns of a simple
shape (anchored at the start, at most one unbounded repetition, nothing repeated but single
characters and classes) are linear for a backtracking engine too, mean the same to both, and are
most of what rules contain. Everything else goes to RE2.
"""

import re
from collections.abc import Callable

from quarterdeck.kit.patterns import compile_re2

_ATOM = re.compile(
    r"""
    (?P<class>\[\^?(?:[A-Za-z0-9_./:@,;=+*?(){}|$ !%&~<>\#"'-]|\\[\\.\-\]\[/^wd])+\])
    | (?P<escape>\\[dw.\-/+*?()\[\]{}|^$\\])
    | (?P<plain>[A-Za-z0-9_/:@,;=!%&~<>\#"' -])
    | (?P<open>\((?:\?:)?)
    | (?P<close>\))
    | (?P<or>\|)
    """,
    re.VERBOSE,
)
_REPEAT = re.compile(r"[*+?]|\{([0-9]{1,3})(?:,([0-9]{0,3}))?\}")
_MAX_REPEAT = 255
_MAX_CHOICES = 256
"""Limit of the paths that a failing match may try for each end of the unbounded repetition."""


def compile_search(pattern: str) -> Callable[[str], object]:
    """A function that is truthy for a text if the pattern matches anywhere in it.

    Raises:
        PatternError: when it is not RE2 syntax.
    """
    compiled = compile_re2(pattern)
    if _is_simple(pattern):
        body = pattern[1:-1] + r"\Z" if _is_closed(pattern) else pattern[1:]
        return re.compile(body, re.ASCII).match
    return compiled.search


def _is_closed(pattern: str) -> bool:
    """Whether a pattern ends with the anchor `$`, not with an escaped dollar sign."""
    before = pattern.removesuffix("$")
    escapes = len(before) - len(before.rstrip("\\"))
    return before != pattern and escapes % 2 == 0


def _is_simple(pattern: str) -> bool:
    if not pattern.startswith("^") or not pattern.isascii():
        return False
    end = len(pattern) - 1 if _is_closed(pattern) else len(pattern)
    at, unbounded, choices = 1, 0, 1
    groups: list[int] = []
    while at < end:
        found = _ATOM.match(pattern, at, end)
        if found is None or not _is_plain_class(found):
            return False
        kind, at = found.lastgroup or "", found.end()
        if kind == "open":
            groups.append(1)
        elif kind in ("or", "close") and not groups:
            return False
        elif kind == "or":
            groups[-1] += 1
        elif kind == "close":
            choices *= groups.pop()
        if (repeat := _REPEAT.match(pattern, at, end)) is not None:
            ways = _count_ways(kind, repeat)
            unbounded += ways == 0
            choices *= max(ways, 1)
            at = repeat.end()
            if ways < 0 or _REPEAT.match(pattern, at, end):
                return False
    return not groups and unbounded <= 1 and choices <= _MAX_CHOICES


def _is_plain_class(found: re.Match[str]) -> bool:
    """Whether a character class has no sequence that `re` reserves for set operations."""
    text = found["class"]
    if text is None:
        return True
    inner = text[1:-1].removeprefix("^")
    return "--" not in inner and "&&" not in inner and "~~" not in inner and "||" not in inner


def _count_ways(kind: str, repeat: re.Match[str]) -> int:
    """How many lengths a repetition can have: 0 if unbounded, -1 if it is not allowed here."""
    text = repeat[0]
    if kind in ("open", "or") or (kind == "close" and text != "?"):
        return -1
    if text in ("*", "+") or repeat[2] == "":
        return 0
    if text == "?":
        return 2
    lowest = int(repeat[1])
    highest = int(repeat[2] or lowest)
    return highest - lowest + 1 if lowest <= highest <= _MAX_REPEAT else -1
