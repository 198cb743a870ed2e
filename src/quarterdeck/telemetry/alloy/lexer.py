"""Splits text into tokens and, as Go does, ends a statement at a newline.

A terminator is inserted where a line ends after something that can end a statement: a name, a
literal, or a closing bracket.
"""

import re
from collections.abc import Iterator

from quarterdeck.telemetry.alloy.tokens import AlloyError, Kind, Position, Token

_SPACE = re.compile(r"[ \t\r\n]+")
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d*)?", re.ASCII)
_OPERATORS = re.compile(r"\|\||&&|==|!=|<=|>=|[=!<>+\-*/%^{}()\[\],.]")
_ESCAPE = re.compile(
    r"\\(?:[abfnrtv\\\"]|[0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_WORDS = {"null": Kind.NULL, "true": Kind.BOOL, "false": Kind.BOOL}
_ENDS_STATEMENT = frozenset(
    {
        Kind.IDENT,
        Kind.NULL,
        Kind.BOOL,
        Kind.NUMBER,
        Kind.FLOAT,
        Kind.STRING,
        Kind.RCURLY,
        Kind.RPAREN,
        Kind.RBRACK,
    }
)


def tokenize(text: str) -> Iterator[Token]:
    """Split a text into tokens; the last one is EOF.

    Raises:
        AlloyError: at the first character that starts no valid token.
    """
    lexer = _Lexer(text)
    last = Kind.EOF
    while True:
        newline = lexer.skip_space()
        if newline is not None and last in _ENDS_STATEMENT:
            last = Kind.TERMINATOR
            yield Token(Kind.TERMINATOR, "\n", newline)
        token = lexer.next()
        if token.kind is Kind.EOF and last in _ENDS_STATEMENT:
            yield Token(Kind.TERMINATOR, "\n", token.position)
        yield token
        last = token.kind
        if last is Kind.EOF:
            return


class _Lexer:
    """Reads the text once, and tracks the current line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._line = 1
        self._line_start = 0

    def skip_space(self) -> Position | None:
        """Skip blanks and comments; returns the position of their first newline, if any."""
        newline: Position | None = None
        while True:
            start = self._offset
            begun = self._build_position(start)
            if match := _SPACE.match(self._text, start):
                end = match.end()
            elif self._text.startswith("//", start):
                end = self._find("\n", start, len(self._text))
            elif self._text.startswith("/*", start):
                end = self._find("*/", start + 2, -2) + 2
                if end == 0:
                    raise AlloyError("block comment not terminated", begun)
            else:
                return newline
            skipped = self._text[start:end]
            if newline is None and "\n" in skipped:
                newline = self._build_position(start + skipped.index("\n"))
            self._advance(end)

    def next(self) -> Token:
        """Read the next token."""
        text, start = self._text, self._offset
        position = self._build_position(start)
        if start >= len(text):
            return Token(Kind.EOF, "", position)
        character = text[start]
        if character.isalpha() or character == "_":
            return self._read_word(start, position)
        if match := _NUMBER.match(text, start):
            return self._read_number(match, position)
        if character == '"':
            return self._read_string(start, position)
        if character == "`":
            return self._read_raw_string(start, position)
        if match := _OPERATORS.match(text, start):
            self._advance(match.end())
            return Token(Kind(match[0]), match[0], position)
        if character == "'":
            raise AlloyError("illegal single-quoted string; use double quotes", position)
        raise AlloyError(f"illegal character U+{ord(character):04X} {character!r}", position)

    def _read_word(self, start: int, position: Position) -> Token:
        end = start
        text = self._text
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
        self._advance(end)
        word = text[start:end]
        return Token(_WORDS.get(word, Kind.IDENT), word, position)

    def _read_number(self, match: re.Match[str], position: Position) -> Token:
        literal = match[0]
        if literal[-1] in "eE+-":
            raise AlloyError("exponent has no digits", position)
        self._advance(match.end())
        kind = Kind.NUMBER if literal.isdigit() else Kind.FLOAT
        return Token(kind, literal, position)

    def _read_string(self, start: int, position: Position) -> Token:
        text, offset = self._text, start + 1
        while offset < len(text) and text[offset] not in '"\n':
            if text[offset] != "\\":
                offset += 1
            elif match := _ESCAPE.match(text, offset):
                offset = match.end()
            else:
                where = min(offset + 1, len(text))
                raise AlloyError("unknown escape sequence", self._build_position(where))
        if offset >= len(text) or text[offset] == "\n":
            raise AlloyError("string literal not terminated", position)
        self._advance(offset + 1)
        return Token(Kind.STRING, text[start : offset + 1], position)

    def _read_raw_string(self, start: int, position: Position) -> Token:
        end = self._text.find("`", start + 1)
        if end < 0:
            raise AlloyError("string literal not terminated", position)
        self._advance(end + 1)
        return Token(Kind.STRING, self._text[start : end + 1], position)

    def _find(self, wanted: str, start: int, otherwise: int) -> int:
        found = self._text.find(wanted, start)
        return found if found >= 0 else otherwise

    def _build_position(self, offset: int) -> Position:
        return Position(self._line, offset - self._line_start + 1)

    def _advance(self, offset: int) -> None:
        lines = self._text.count("\n", self._offset, offset)
        if lines:
            self._line += lines
            self._line_start = self._text.rindex("\n", self._offset, offset) + 1
        self._offset = offset
