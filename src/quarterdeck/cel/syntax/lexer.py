"""The lexer: text to tokens.

Characters that begin no token are reported and skipped, so that they do not hide other errors. The
skipped characters and the messages are those of cel-go.
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
_UNQUOTED = "UNQUOTED"
"""A name that is written like the prefix of a string, before a quote that begins none."""
_ESCAPED_NAME = r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]+`)"
_ESCAPED_START = re.compile(r"`[A-Za-z0-9_.\-/ ]*")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TOKENS = rf"""
(?P<SKIP>[\t\ \r\n\f]+|//[^\n]*)
|(?P<IDENTIFIER>(?![bBrR]{{1,2}}[\"']){_NAME})
|(?P<OP>==|!=|<=|>=|&&|\|\||\.(?![0-9])|[<>\[\]{{}}(),\-!?:+*/%])
|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
|(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
|(?P<BYTES>[bB]{_STRING})
|(?P<STRING>{_STRING})
|(?P<{_UNQUOTED}>{_NAME})
{_ESCAPED_NAME}
"""
"""The tokens, the most frequent ones first, as the alternatives are tried in turn."""


@functools.cache
def _compile_pattern(*, has_escapes: bool) -> re.Pattern[str]:
    return re.compile(_TOKENS if has_escapes else _TOKENS.replace(_ESCAPED_NAME, ""), re.VERBOSE)


def tokenize(source: str, *, has_escapes: bool) -> tuple[list[Token], list[LexError]]:
    """All tokens, ending with `EOF`, and the skipped characters; escapes are names in backticks."""
    pattern = _compile_pattern(has_escapes=has_escapes)
    tokens: list[Token] = []
    errors: list[LexError] = []
    while (pos := _read(pattern, source, errors[-1].end if errors else 0, tokens=tokens)) < len(
        source
    ):
        end = _find_invalid_end(source, pos, has_escapes=has_escapes) + 1
        errors.append(LexError(pos, end, f"token recognition error at: '{source[pos:end]}'"))
    tokens.append(Token("EOF", "<EOF>", len(source)))
    return tokens, errors


def _read(pattern: re.Pattern[str], source: str, pos: int, *, tokens: list[Token]) -> int:
    """Collect tokens from `pos`; returns the offset of the first character that begins none."""
    for found in pattern.finditer(source, pos):
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
        elif kind == _UNQUOTED:
            kind = "IDENTIFIER"
        tokens.append(Token(kind, text, start))
    return pos


def _find_invalid_end(source: str, pos: int, *, has_escapes: bool) -> int:
    """The offset of the last character that is skipped with an invalid token at `pos`."""
    first = source[pos]
    if first == "`" and has_escapes:
        found = _ESCAPED_START.match(source, pos)
        return min(found.end() if found is not None else pos + 1, len(source) - 1)
    if first in "=&|":
        return min(pos + 1, len(source) - 1)
    start = pos + 1 if first in "bBrR" else pos
    quote = source[start : start + 1]
    if quote and quote in "\"'":
        return _find_invalid_string_end(source, start, quote)
    return pos


def _find_invalid_string_end(source: str, pos: int, quote: str) -> int:
    escape = re.compile(_ESCAPE)
    at = pos + 1
    while at < len(source) and source[at] not in "\n\r":
        if source[at] == "\\":
            if (found := escape.match(source, at)) is None:
                return _find_invalid_escape_end(source, at)
            at = found.end()
        else:
            at += 1
    return min(at, len(source) - 1)


def _find_invalid_escape_end(source: str, at: int) -> int:
    digits = {"x": 2, "X": 2, "u": 4, "U": 8}.get(source[at + 1 : at + 2], 0)
    stop = at + 1
    while digits and stop + 1 < len(source) and source[stop + 1] in "0123456789abcdefABCDEF":
        stop += 1
        digits -= 1
    return min(
        stop + 1 if source[at + 1 : at + 2] in ("x", "X", "u", "U") else stop, len(source) - 1
    )
