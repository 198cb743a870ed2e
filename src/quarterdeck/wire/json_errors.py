"""Finds the syntax error in a text that should be JSON, with the message of Go.

It is called only for a body that the fast decoder has refused, so it need not be fast.
"""

from collections.abc import Callable

_SPACE = " \t\r\n"
_MAX_DEPTH = 10_000
_TEXT_END = "unexpected end of JSON input"


def find_syntax_error(text: str) -> str:
    """Return the first syntax error of a text; empty if it is valid JSON."""
    try:
        _Scanner(text).run()
    except _Problem as problem:
        return str(problem)
    return ""


def _is_digit(character: str) -> bool:
    return character.isascii() and character.isdigit()


class _Problem(Exception):
    """Raised at the first syntax error; ends the scan."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def run(self) -> None:
        """Scan one value and the end of the text, without recursion."""
        closers: list[str] = []
        expect = self._read_value
        while True:
            opened = expect()
            if opened:
                closers.append("}" if opened == "{" else "]")
                if len(closers) > _MAX_DEPTH:
                    raise _Problem("exceeded max depth")
                expect = self._read_first_key if opened == "{" else self._read_first_item
                continue
            following = self._read_after_value(closers)
            if following is None:
                return
            expect = following

    def _read_after_value(self, closers: list[str]) -> Callable[[], str] | None:
        """Close objects and arrays that end here; return the next reader, or None at the end."""
        while closers:
            place = "object key:value pair" if closers[-1] == "}" else "array element"
            character = self._next()
            if character == closers[-1]:
                closers.pop()
                continue
            if character == ",":
                return self._read_key if closers[-1] == "}" else self._read_value
            raise self._build_unexpected(character, f"after {place}")
        character = self._next(may_end=True)
        if character:
            raise self._build_unexpected(character, "after top-level value")
        return None

    def _read_first_key(self) -> str:
        if self._peek() == "}":
            return ""
        return self._read_key()

    def _read_first_item(self) -> str:
        if self._peek() == "]":
            return ""
        return self._read_value()

    def _read_key(self) -> str:
        character = self._next()
        if character != '"':
            raise self._build_unexpected(character, "looking for beginning of object key string")
        self._read_string()
        character = self._next()
        if character != ":":
            raise self._build_unexpected(character, "after object key")
        return self._read_value()

    def _read_value(self) -> str:
        character = self._next()
        if character in "{[":
            return character
        if character == '"':
            self._read_string()
        elif character in "tfn":
            self._read_literal({"t": "true", "f": "false", "n": "null"}[character])
        elif character == "-" or _is_digit(character):
            self._read_number(character)
        else:
            raise self._build_unexpected(character, "looking for beginning of value")
        return ""

    def _read_string(self) -> None:
        while True:
            character = self._take()
            if character == '"':
                return
            if character == "\\":
                escaped = self._take()
                if escaped == "u":
                    for _ in range(4):
                        if (digit := self._take()) not in "0123456789abcdefABCDEF":
                            raise self._build_unexpected(
                                digit, "in \\u hexadecimal character escape"
                            )
                elif escaped not in 'bfnrt\\/"':
                    raise self._build_unexpected(escaped, "in string escape code")
            elif character < " ":
                raise self._build_unexpected(character, "in string literal")

    def _read_literal(self, word: str) -> None:
        for expected in word[1:]:
            if (character := self._take()) != expected:
                raise self._build_unexpected(
                    character, f"in literal {word} (expecting '{expected}')"
                )

    def _read_number(self, first: str) -> None:
        if first == "-":
            first = self._take()
            if not _is_digit(first):
                raise self._build_unexpected(first, "in numeric literal")
        if first != "0":
            self._read_digits()
        if self._peek_raw() == ".":
            self._take()
            if not _is_digit(character := self._take()):
                raise self._build_unexpected(character, "after decimal point in numeric literal")
            self._read_digits()
        if self._peek_raw() in ("e", "E"):
            self._take()
            if self._peek_raw() in ("+", "-"):
                self._take()
            if not _is_digit(character := self._take()):
                raise self._build_unexpected(character, "in exponent of numeric literal")
            self._read_digits()

    def _read_digits(self) -> None:
        while _is_digit(self._peek_raw()):
            self.at += 1

    def _peek_raw(self) -> str:
        return self.text[self.at : self.at + 1]

    def _peek(self) -> str:
        while self._peek_raw() and self._peek_raw() in _SPACE:
            self.at += 1
        return self._peek_raw()

    def _take(self) -> str:
        character = self._peek_raw()
        if not character:
            raise _Problem(_TEXT_END)
        self.at += 1
        return character

    def _next(self, *, may_end: bool = False) -> str:
        character = self._peek()
        if not character and may_end:
            return ""
        return self._take()

    def _build_unexpected(self, character: str, context: str) -> _Problem:
        shown = {"'": "'\\''", '"': "'\"'"}.get(character)
        if shown is None:
            shown = f"'{character}'" if character.isprintable() else f"{character!r}"
        return _Problem(f"invalid character {shown} {context}")
