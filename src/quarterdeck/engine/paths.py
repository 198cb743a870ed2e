"""The path grammar: `.spec.containers[0].image` to steps.

    path    := ["."] step { "." step | bracket }
    step    := characters without . and [, where a backslash makes the next one ordinary
    bracket := "[" number | "*" | 'key' | "key" | "?(" condition { "&&" condition } ")" "]"
    condition := "@" path [ ("==" | "!=" | "<" | "<=" | ">" | ">=") literal ]

A negative number counts from the end. `[*]` makes a list of what the rest of the path finds in each
element; a condition picks the first element for which it holds. `.length` of a list is its length.
"""

import re
from typing import Any, TypeAlias

import msgspec

MAX_PATH = 2048
MAX_STEPS = 64


PATH_FORMS: dict[str, str] = {
    ".status.phase": "Members of objects; the first dot may be left out.",
    ".spec.containers[0].image": "An element of a list, counted from 0.",
    ".status.history[-1].version": "An element counted from the end.",
    ".metadata.labels['app.kubernetes.io/name']": "A member with dots or slashes in its name.",
    r".metadata.annotations.example\.com/owner": "The same with a backslash before each dot.",
    ".spec.containers[*].name": "A list of what is found in each element; nulls are left out.",
    '.status.conditions[?(@.type=="Ready")].status': (
        "The first element for which a condition holds: ==, !=, <, <=, >, >= with a text, number, "
        "true, false or null; `@.x` alone if it must exist; several joined by &&."
    ),
    ".spec.containers.length": "The length of a list.",
}
"""Every form of a step, by example; the reference page lists them."""


class PathError(ValueError):
    """Raised when a path cannot be parsed; has the position and a hint."""

    def __init__(self, message: str, position: int, hint: str = "") -> None:
        self.message = message
        self.position = position
        self.hint = hint
        super().__init__(f"{message} at column {position + 1}" + (f"; {hint}" if hint else ""))


class Key(msgspec.Struct, frozen=True):
    """A member of an object."""

    name: str


class Length(msgspec.Struct, frozen=True):
    """The length of a list; of an object the member `length`."""


class Index(msgspec.Struct, frozen=True):
    """An element of a list, from the end if negative."""

    at: int


class Every(msgspec.Struct, frozen=True):
    """Each element of a list."""


class Test(msgspec.Struct, frozen=True):
    """One condition on an element: a path, and a comparison unless it is only to exist."""

    path: tuple["Step", ...]
    operator: str
    value: str | float | bool | None


class Where(msgspec.Struct, frozen=True):
    """The first element of a list for which all tests hold."""

    tests: tuple[Test, ...]


class NoMatch(msgspec.Struct, frozen=True):
    """A bracket that never finds anything, such as `[abc]`."""

    text: str


Step: TypeAlias = Key | Length | Index | Every | Where | NoMatch
Path: TypeAlias = tuple[Step, ...]

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_QUOTED = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*""", re.S)
_TEST = re.compile(r"\s*@((?:\.[^\s=!<>&.\[\]()]+|\[\s*'[^']*'\s*\]|\[\s*\"[^\"]*\"\s*\])*)\s*")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")
_LITERAL = re.compile(
    r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(true|false|null)|"""
    r"""([+-]?[0-9]+(?:\.[0-9]+)?))\s*""",
    re.S,
)
_BRACKET_HINT = 'write a number, *, a quoted key, or ?(@.type=="Ready")'


def parse_path(text: str) -> Path:
    """Read a path.

    Raises:
        PathError: naming the place.
    """
    if len(text) > MAX_PATH:
        raise PathError(f"the path has {len(text)} characters, the limit is {MAX_PATH}", MAX_PATH)
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if text[at] == ".":
            at += 1
        elif text[at] == "[":
            step, at = _parse_bracket(text, at)
            steps.append(step)
        else:
            name, at = _name(text, at)
            steps.append(Length() if name == "length" else Key(name))
    if not steps:
        raise PathError("path cannot be empty", 0, "write one such as .status.phase")
    if len(steps) > MAX_STEPS:
        raise PathError(f"the path has {len(steps)} steps, the limit is {MAX_STEPS}", 0)
    return tuple(steps)


def parse_compat_path(text: str) -> Path:
    """Parse a path like the original ClusterPulse: brackets hold a number or find nothing."""
    steps: list[Step] = []
    for part in text.split("."):
        head, *groups = part.split("[")
        if head:
            steps.append(Key(head))
        for group in groups:
            inside, closed, rest = group.partition("]")
            if closed:
                steps.append(_parse_compat_bracket(inside))
                steps.extend([Key(rest)] if rest else [])
    return tuple(steps)


def format_segments(path: Path) -> list[str]:
    """The steps as the compiled definition lists them."""
    return [_format_step(step) for step in path]


def _format_step(step: Step) -> str:
    match step:
        case Key(name=name):
            return name
        case Length():
            return "length"
        case Index(at=at):
            return f"[{at}]"
        case Every():
            return "[*]"
        case NoMatch(text=text):
            return f"[{text}]"
        case Where(tests=tests):
            return f"[?({' && '.join(map(_test_text, tests))})]"


def _test_text(test: Test) -> str:
    place = "@" + "".join(f".{segment}" for segment in format_segments(test.path))
    if not test.operator:
        return place
    return f"{place}{test.operator}{msgspec.json.encode(test.value).decode()}"


def _parse_compat_bracket(inside: str) -> Step:
    if _NUMBER.fullmatch(inside) and int(inside) >= 0:
        return Index(int(inside))
    return NoMatch(inside)


def _name(text: str, at: int) -> tuple[str, int]:
    parts = []
    while at < len(text) and text[at] not in ".[":
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        parts.append(text[at])
        at += 1
    return "".join(parts), at


def _parse_bracket(text: str, start: int) -> tuple[Step, int]:
    inside = start + 1
    if (quoted := _QUOTED.match(text, inside)) is not None:
        return Key(_unquote(quoted)), _close(text, quoted.end(), start)
    if text.startswith("?", inside):
        return _parse_condition(text, start)
    end = text.find("]", inside)
    if end < 0:
        raise PathError("the bracket is not closed", start, "close it with ]")
    content = text[inside:end].strip()
    if content == "*":
        return Every(), end + 1
    if _NUMBER.fullmatch(content) and len(content) < 12:
        return Index(int(content)), end + 1
    if content[:1] in ("'", '"', "", "("):
        raise PathError(f"[{content}] is not an index", start, _BRACKET_HINT)
    return NoMatch(content), end + 1


def _close(text: str, at: int, start: int) -> int:
    if not text.startswith("]", at):
        raise PathError("the bracket is not closed", start, "close it with ]")
    return at + 1


def _unquote(found: "re.Match[str]") -> str:
    quoted = found[1] if found[1] is not None else found[2]
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.S)


def _parse_condition(text: str, start: int) -> tuple[Step, int]:
    at = start + 2
    if not text.startswith("(", at):
        raise PathError("the condition has no parenthesis", at, _BRACKET_HINT)
    at += 1
    tests: list[Test] = []
    while True:
        test, at = _parse_test(text, at)
        tests.append(test)
        if not text.startswith("&&", at):
            break
        at += 2
    if not text.startswith(")", at):
        raise PathError("unexpected text after the condition", at, "close it with )]")
    return Where(tuple(tests)), _close(text, at + 1, start)


def _parse_test(text: str, at: int) -> tuple[Test, int]:
    place = _TEST.match(text, at)
    if place is None:
        raise PathError("a condition must begin with @", at, 'write one such as @.type=="Ready"')
    path = parse_path(place[1]) if place[1] else ()
    at = place.end()
    operator = _OPERATOR.match(text, at)
    if operator is None:
        return Test(path, "", None), at
    literal = _LITERAL.match(text, operator.end())
    if literal is None:
        raise PathError(
            "the condition has no value to compare with",
            operator.end(),
            "write a quoted text, a number, true, false or null",
        )
    return Test(path, operator[0], _parse_literal(literal)), literal.end()


def _parse_literal(found: "re.Match[str]") -> Any:
    if found[3] is not None:
        return {"true": True, "false": False, "null": None}[found[3]]
    return float(found[4]) if found[4] is not None else _unquote(found)
