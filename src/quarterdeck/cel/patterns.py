"""Constant patterns that Python's own engine may run.

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


def searcher(pattern: str) -> Callable[[str], object]:
    """A function that is true for texts the pattern matches somewhere.

    Raises:
        PatternError: when it is not RE2 syntax.
    """
    compiled = compile_re2(pattern)
    if _is_simple(pattern):
        body = pattern[1:-1] + r"\Z" if pattern.endswith("$") else pattern[1:]
        return re.compile(body, re.ASCII).match
    return compiled.search


def _is_simple(pattern: str) -> bool:
    if not pattern.startswith("^") or not pattern.isascii() or "\\\\$" in pattern:
        return False
    end = len(pattern) - 1 if pattern.endswith("$") and pattern[-2:] != "\\$" else len(pattern)
    at, depth, unbounded = 1, 0, 0
    while at < end:
        found = _ATOM.match(pattern, at, end)
        if found is None or not _is_plain_class(found):
            return False
        kind, at = found.lastgroup, found.end()
        depth += (kind == "open") - (kind == "close")
        if depth < 0 or (kind == "or" and depth == 0):
            return False
        repeat = _REPEAT.match(pattern, at, end)
        if repeat is None:
            continue
        allowed, endless = _judge(kind or "", repeat)
        unbounded += endless
        at = repeat.end()
        if not allowed or unbounded > 1 or _REPEAT.match(pattern, at, end):
            return False
    return depth == 0


def _is_plain_class(found: re.Match[str]) -> bool:
    """Whether a class has no member the two engines might read differently."""
    text = found["class"]
    if text is None:
        return True
    inner = text[1:-1].removeprefix("^")
    return "--" not in inner and "&&" not in inner and "~~" not in inner and "||" not in inner


def _judge(kind: str, repeat: re.Match[str]) -> tuple[bool, bool]:
    """Whether something may be repeated like that, and whether it is without bound."""
    text = repeat[0]
    if kind in ("open", "or"):
        return False, False
    if kind == "close":
        return text == "?", False
    if text in ("*", "+"):
        return True, True
    if text == "?":
        return True, False
    endless = repeat[2] == ""
    highest = int(repeat[2] or repeat[1])
    return highest <= _MAX_REPEAT, endless
