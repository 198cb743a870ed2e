"""Text to tokens.

Characters no token begins with are reported and skipped, so that one stray sign does not hide
what else is wrong; what is skipped, and how the message shows it, follows cel-go.
"""

import functools
import re
from typing import NamedTuple

import msgspec


class Token(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A piece of the source; `kind` is the text itself for operators and keywords."""

    kind: str
    text: str
    pos: int


class LexError(NamedTuple):
    """Characters that are not a token."""

    pos: int
    end: int
    message: str


_KEYWORDS = frozenset({"in", "true", "false", "null"})

_ESCAPE = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_STRING = (
    r"(?:[rR](?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|\"[^\"\n\r]*\"|'[^'\n\r]*')"
    rf"|\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*')"
)
_TOKENS = rf"""
(?P<SKIP>[\t\ \r\n\f]+|//[^\n]*)
|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
|(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
|(?P<BYTES>[bB]{_STRING})
|(?P<STRING>{_STRING})
|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]+`)
|(?P<OP>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
"""


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_TOKENS, re.VERBOSE)


def tokenize(source: str) -> tuple[list[Token], list[LexError]]:
    """Every token, ending with an `EOF`, and what was skipped."""
    tokens: list[Token] = []
    errors: list[LexError] = []
    while (pos := _read(source, errors[-1].end if errors else 0, tokens)) < len(source):
        end = _failure(source, pos) + 1
        shown = _visible(source[pos:end])
        errors.append(LexError(pos, end, f"token recognition error at: '{shown}'"))
    tokens.append(Token("EOF", "<EOF>", len(source)))
    return tokens, errors


def _read(source: str, pos: int, tokens: list[Token]) -> int:
    """Collect tokens from `pos` on; where the first character stands that begins none."""
    for found in _pattern().finditer(source, pos):
        start, end = found.span()
        if start != pos:
            break
        pos = end
        kind = found.lastgroup or ""
        if kind == "SKIP":
            continue
        text = found[0]
        if kind == "OP" or text in _KEYWORDS:
            kind = text
        tokens.append(Token(kind, text, start))
    return pos


def _failure(source: str, pos: int) -> int:
    """Where a token that began at `pos` could not go on."""
    first = source[pos]
    if first in "=&|":
        return min(pos + 1, len(source) - 1)
    start = pos + 1 if first in "bBrR" else pos
    quote = source[start : start + 1]
    if quote and quote in "\"'":
        return _string_failure(source, start, quote)
    return pos


def _string_failure(source: str, pos: int, quote: str) -> int:
    escape = re.compile(_ESCAPE)
    at = pos + 1
    while at < len(source) and source[at] not in "\n\r":
        if source[at] == "\\":
            if (found := escape.match(source, at)) is None:
                return _escape_failure(source, at)
            at = found.end()
        else:
            at += 1
    return min(at, len(source) - 1)


def _escape_failure(source: str, at: int) -> int:
    digits = {"x": 2, "X": 2, "u": 4, "U": 8}.get(source[at + 1 : at + 2], 0)
    stop = at + 1
    while digits and stop + 1 < len(source) and source[stop + 1] in "0123456789abcdefABCDEF":
        stop += 1
        digits -= 1
    return min(
        stop + 1 if source[at + 1 : at + 2] in ("x", "X", "u", "U") else stop, len(source) - 1
    )


def _visible(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
