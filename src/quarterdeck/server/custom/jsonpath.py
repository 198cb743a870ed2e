r"""The JSONPath of printer columns and selectable fields.

Members (`.spec.size`, `['a.b']`, escaped dots `.a\.b`), indices and slices, `[*]`, and filters on
one member (`[?(@.type=="Ready")]`) are supported: that is what published definitions use.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

Step = Callable[[Any], Iterator[Any]]


class JsonPathError(ValueError):
    """Raised when a path is not of the supported form; names the part that is not."""


# no two neighbours may match the same space: that would take time by a power of the spaces
_TOKEN = re.compile(
    r"""
    \.?\[\s*\?\(\s*@(?P<field>[^=!<>]+)(?P<operator>==|!=|<=|>=|<|>)(?P<literal>[^)]+)\)\s*\]
    | \.?\[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]
    | \.?\[\s*(?P<slice>-?\d{0,9}:-?\d{0,9})\s*\]
    | \.?\[\s*(?P<index>-?\d{1,9})\s*\]
    | \.?\[\s*(?P<every>\*)\s*\]
    | \.(?P<star>\*)
    | \.(?P<member>(?:[^.\[\]\\]|\\.)+)
    """,
    re.VERBOSE,
)


@functools.lru_cache(maxsize=4096)
def compile_path(path: str) -> Callable[[Any], list[Any]]:
    """Compile a path to a function that returns the values found; none if a member is missing.

    Raises:
        JsonPathError: naming the path and the part that cannot be parsed.
    """
    steps = list(_parse_steps(path))

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = [below for each in found for below in step(each)]
        return found

    return find


def _parse_steps(path: str) -> Iterator[Step]:
    text = path if path.startswith((".", "[")) else f".{path}"
    position = 0
    if text in ("", "."):
        return
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise JsonPathError(f"unrecognized JSONPath {path!r} at {text[position:]!r}")
        yield _build_step(found)
        position = found.end()


def _build_step(found: re.Match[str]) -> Step:
    parts = found.groupdict()
    if parts["member"] is not None:
        return _build_member_step(re.sub(r"\\(.)", r"\1", parts["member"]))
    if parts["quoted"] is not None:
        return _build_member_step(re.sub(r"\\(.)", r"\1", parts["quoted"][1:-1]))
    if parts["index"] is not None:
        return _index(int(parts["index"]))
    if parts["slice"] is not None:
        start, _, end = parts["slice"].partition(":")
        return _build_slice_step(int(start) if start else None, int(end) if end else None)
    if parts["field"] is not None:
        return _build_filter_step(parts["field"], parts["operator"], parts["literal"])
    return _iterate_values


def _build_member_step(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _build_slice_step(start: int | None, end: int | None) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[start:end]

    return step


def _iterate_values(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: bool(left == right),
    "!=": lambda left, right: bool(left != right),
    "<": lambda left, right: bool(left < right),
    ">": lambda left, right: bool(left > right),
    "<=": lambda left, right: bool(left <= right),
    ">=": lambda left, right: bool(left >= right),
}


def _build_filter_step(field: str, operator: str, literal: str) -> Step:
    find, wanted, compare = (
        compile_path(field.strip()),
        _parse_literal(literal.strip()),
        _COMPARISONS[operator],
    )

    def step(value: Any) -> Iterator[Any]:
        for each in value if isinstance(value, list) else ():
            try:
                if any(compare(found, wanted) for found in find(each)):
                    yield each
            except TypeError:  # values that have no order do not match
                continue

    return step


def _parse_literal(text: str) -> Any:
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise JsonPathError(f"unrecognized literal in JSONPath filter: {text}") from error


def format_value(value: Any) -> str:
    """Format a value as kubectl's printer shows it."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
        case dict() | list():
            return msgspec.json.encode(value).decode()
        case _:
            return str(value)
