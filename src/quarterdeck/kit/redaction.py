"""Secrets that cannot be printed by accident, and text with secrets taken out."""

import functools
import re
from typing import Any, Generic, NoReturn, TypeVar

Value = TypeVar("Value")
MASK = "***"

_PATTERNS = (
    r"(?i)(\b(?:basic|bearer)\s+)[A-Za-z0-9._~+/=:-]+",
    r"(?i)(\b(?:password|passwd|token|secret|api[_-]?key)[\"']?\s*[=:]\s*[\"']?)[^\s\"',;&}]+",
    r"(://[^/\s:@]*:)[^@/\s]+(?=@)",
    r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+()",
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----()",
)


class Secret(Generic[Value]):
    """A value that prints as `***`; `reveal` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def reveal(self) -> Value:
        """The value itself; call it where the value is used, never to keep it."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled")


def redact(text: str) -> str:
    """Take passwords, tokens, keys and credentials in URLs out of a text."""
    for pattern in _compile_patterns():
        text = pattern.sub(_mask, text)
    return text


@functools.cache
def _compile_patterns() -> list[re.Pattern[str]]:
    """Compiled when something goes wrong for the first time, which costs a millisecond."""
    return [re.compile(pattern) for pattern in _PATTERNS]


def _mask(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}"


def redact_members(value: Any, names: frozenset[str]) -> Any:
    """A copy of a document in which members of these names are masked, at any depth."""
    if isinstance(value, dict):
        return {
            key: MASK if key in names else redact_members(member, names)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [redact_members(member, names) for member in value]
    return value
