"""Semantic versions."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.operations.classes import no_overload_error

LATER = {
    33: """
semver string_to_semver (string) Semver
semver string_bool_to_semver (string, bool) Semver
isSemver is_semver_string (string) bool
isSemver is_semver_string_bool (string, bool) bool
major semver_major Semver.() int
minor semver_minor Semver.() int
patch semver_patch Semver.() int
isLessThan semver_is_less_than Semver.(Semver) bool
isGreaterThan semver_is_greater_than Semver.(Semver) bool
compareTo semver_compare_to Semver.(Semver) int
"""
}

_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
)


@functools.total_ordering
class Semver:
    """A version; build metadata does not take part in comparison."""

    __slots__ = ("numbers", "pre", "text")
    cel_type: ClassVar[types.Type] = types.SEMVER

    def __init__(self, text: str) -> None:
        found = _VERSION.fullmatch(text)
        if found is None:
            raise ValueError(text)
        self.text = text
        self.numbers = (int(found[1]), int(found[2]), int(found[3]))
        self.pre = (
            tuple(_identifier_sort_key(part) for part in found[4].split(".")) if found[4] else ()
        )

    def _key(self) -> tuple[tuple[int, int, int], bool, tuple[Any, ...]]:
        return self.numbers, not self.pre, self.pre

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key() == other._key()

    def __lt__(self, other: "Semver") -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self.text


def _identifier_sort_key(part: str) -> tuple[int, int, str]:
    """The sort key of a pre-release identifier: numbers sort before words."""
    if not part:
        raise ValueError("empty identifier")
    if part.isdigit():
        if len(part) > 1 and part[0] == "0":
            raise ValueError("leading zero")
        return 0, int(part), ""
    return 1, 0, part


def _normalize(text: str) -> str:
    """Drop a leading v, add missing numbers, remove leading zeros."""
    text = text.removeprefix("v")
    found = re.match(r"[0-9.]*", text)
    core, rest = (text[: found.end()], text[found.end() :]) if found else ("", text)
    parts = core.split(".")
    if len(parts) <= 3 and all(parts):
        parts += ["0"] * (3 - len(parts))
        core = ".".join(part.lstrip("0") or "0" for part in parts)
    return core + rest


def _parse(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 # CEL's signature
    if type(normalize) is not bool:
        raise no_overload_error()
    try:
        return Semver(_normalize(text) if normalize else text)
    except ValueError:
        raise EvaluationError(f"invalid semantic version '{text}'") from None


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 # CEL's signature
    try:
        _parse(text, normalize)
    except EvaluationError as error:
        if "overload" in str(error):
            raise
        return False
    return True


def _compare(left: Semver, right: Any) -> int:
    if not isinstance(right, Semver):
        raise no_overload_error()
    return (left > right) - (left < right)


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "semver": {str: _parse},
    "isSemver": {str: _is_semver},
    "major": {Semver: lambda version: version.numbers[0]},
    "minor": {Semver: lambda version: version.numbers[1]},
    "patch": {Semver: lambda version: version.numbers[2]},
    "isLessThan": {Semver: lambda left, right: _compare(left, right) < 0},
    "isGreaterThan": {Semver: lambda left, right: _compare(left, right) > 0},
    "compareTo": {Semver: _compare},
}
