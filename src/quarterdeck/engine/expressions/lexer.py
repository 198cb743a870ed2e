"""Splits expressions into tokens; in compat mode with the quirks of the original ClusterPulse."""

import enum
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from quarterdeck.engine.expressions.errors import ExpressionError

MAX_LENGTH = 8192
"""Characters of an expression."""

OPERATORS = ("==", "!=", "<=", ">=", "&&", "||", "??", *"+-*/%<>!?:(),")
_LATER = frozenset({"?", ":"})
"""Operators that compat mode does not have."""

_BLANK = re.compile(r"[ \t\r\n]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_COMPAT_NUMBER = re.compile(r"[0-9][0-9.]*", re.ASCII)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_HINTS = {
    "=": "use == to compare",
    "&": "use && for and",
    "|": "use || for or",
    ".": "names have no dots; extract the value with a field of its own",
    "'": "",
}


class Kind(enum.Enum):
    """What a token is."""

    NUMBER = "number"
    TEXT = "text"
    NAME = "name"
    OPERATOR = "operator"
    UNKNOWN = "character"
    END = "end"


class Token(NamedTuple):
    """One token; `value` is the number, the text without quotes, or the token itself."""

    kind: Kind
    value: str | float
    position: int


def tokenize(text: str, *, compat: bool = False) -> list[Token]:
    """Every token, and one of kind END.

    Raises:
        ExpressionError: naming the place.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"the expression has {len(text)} characters, the limit is {MAX_LENGTH}",
            MAX_LENGTH,
            "split it into several computed fields",
        )
    return list(_iterate_tokens(text, compat=compat))


def _iterate_tokens(text: str, *, compat: bool) -> Iterator[Token]:
    at = _skip(text, 0)
    while at < len(text):
        token, end = _read_token(text, at, compat=compat)
        yield token
        at = _skip(text, end)
    yield Token(Kind.END, "", len(text))


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _read_token(text: str, at: int, *, compat: bool) -> tuple[Token, int]:
    if text[at] in "'\"":
        return _read_compat_text(text, at) if compat else _read_text(text, at)
    if (found := (_COMPAT_NUMBER if compat else _NUMBER).match(text, at)) is not None:
        return Token(Kind.NUMBER, _read_number(found[0], at), at), found.end()
    if (found := _NAME.match(text, at)) is not None:
        return Token(Kind.NAME, found[0], at), found.end()
    for operator in OPERATORS:
        if text.startswith(operator, at) and not (compat and operator in _LATER):
            return Token(Kind.OPERATOR, operator, at), at + len(operator)
    if compat:
        return Token(Kind.UNKNOWN, text[at], at), at + 1
    raise ExpressionError(f"unexpected character {text[at]!r}", at, _HINTS.get(text[at], ""))


def _read_number(text: str, at: int) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ExpressionError(f"{text!r} is not a number", at) from None
    if not math.isfinite(value):
        raise ExpressionError("the number is too large", at, "the largest is about 1.8e308")
    return value


def _read_text(text: str, start: int) -> tuple[Token, int]:
    """A quoted text. Unknown escapes keep their backslash, so that patterns stay legible."""
    quote, at = text[start], start + 1
    parts: list[str] = []
    while at < len(text):
        character = text[at]
        if character == quote:
            return Token(Kind.TEXT, "".join(parts), start), at + 1
        if character == "\\" and at + 1 < len(text):
            following = text[at + 1]
            parts.append(_ESCAPES.get(following, character + following))
            at += 2
        else:
            parts.append(character)
            at += 1
    raise ExpressionError("the string is not closed", start, f"close it with {quote}")


def _read_compat_text(text: str, start: int) -> tuple[Token, int]:
    """A quoted text as the original reads it: escapes stay, and the end of input closes it."""
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        if text[at] == "\\":
            at += 1
            if at >= len(text):
                raise ExpressionError("the string ends with a backslash", at - 1)
        at += 1
    return Token(Kind.TEXT, text[start + 1 : at], start), at + 1
