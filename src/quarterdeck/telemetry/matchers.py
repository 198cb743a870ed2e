"""Collector matchers: `env=prod`, `team=~"a|b"`, one comparison a string, all of them ANDed.

The grammar is Alertmanager's UTF-8 one: names may be any text, regular expressions are RE2 and
anchored at both ends, and an absent attribute has the empty value. A local verdict must equal the
server's, or a collector gets the wrong configuration.
"""

import enum
import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

import msgspec

from quarterdeck.kit.patterns import Pattern, PatternError, compile_re2

Predicate = Callable[[Mapping[str, str]], bool]
"""Tests the attributes of a collector."""

MAX_LENGTH = 200
MAX_MATCHERS = 100

_HEX = re.compile(r"[0-9a-fA-F]+")
_RESERVED = frozenset("{}!=~,\\\"'`")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n"}
_UNESCAPES = {
    "\\": "\\", '"': '"', "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f",
    "v": "\v", "/": "/",
}  # fmt: skip


class MatcherError(ValueError):
    """Raised when a text is not a matcher; has the problem and the column, counted from 1."""

    def __init__(self, text: str, problem: str, column: int) -> None:
        super().__init__(f"matcher {text!r}, column {column}: {problem}")
        self.problem = problem
        self.column = column


class Operator(enum.StrEnum):
    """The comparison operator of a matcher."""

    EQUAL = "="
    NOT_EQUAL = "!="
    MATCHES = "=~"
    NOT_MATCHES = "!~"


class Matcher(msgspec.Struct, frozen=True):
    """One comparison of one attribute."""

    name: str
    operator: Operator
    value: str

    @classmethod
    def parse(cls, text: str) -> "Matcher":
        """Read one matcher.

        Raises:
            MatcherError: naming the text, the column and the fix.
        """
        return _parse(text)

    def matches(self, attributes: Mapping[str, str]) -> bool:
        """Whether a collector's attributes satisfy it."""
        found = attributes.get(self.name, "")
        match self.operator:
            case Operator.EQUAL:
                return found == self.value
            case Operator.NOT_EQUAL:
                return found != self.value
            case Operator.MATCHES:
                return self.pattern.fullmatch(found)
            case Operator.NOT_MATCHES:
                return not self.pattern.fullmatch(found)

    def predicate(self) -> Predicate:
        """Compile `matches` into a function, for frequent calls."""
        name, value = self.name, self.value
        match self.operator:
            case Operator.EQUAL:
                return lambda attributes: attributes.get(name, "") == value
            case Operator.NOT_EQUAL:
                return lambda attributes: attributes.get(name, "") != value
            case Operator.MATCHES:
                fullmatch = self.pattern.fullmatch
                return lambda attributes: fullmatch(attributes.get(name, ""))
            case Operator.NOT_MATCHES:
                fullmatch = self.pattern.fullmatch
                return lambda attributes: not fullmatch(attributes.get(name, ""))

    @property
    def pattern(self) -> Pattern:
        """The compiled regular expression of the value."""
        return compile_re2(self.value)

    def __str__(self) -> str:
        """The canonical text: two matchers are equal if their texts are."""
        name = quote(self.name) if _must_quote(self.name) else self.name
        return f"{name}{self.operator.value}{quote(self.value)}"


def parse_all(texts: Iterable[str]) -> tuple[Matcher, ...]:
    """Read the matchers of a pipeline.

    Raises:
        MatcherError: for the first invalid one.
    """
    return tuple(Matcher.parse(text) for text in texts)


def match_all(matchers: Sequence[Matcher], attributes: Mapping[str, str]) -> bool:
    """Whether a collector satisfies every matcher; no matcher at all selects nothing."""
    return bool(matchers) and all(each.matches(attributes) for each in matchers)


def canonicalize(texts: Iterable[str]) -> frozenset[str]:
    """Convert matchers to a set of canonical texts; invalid ones stay unchanged."""
    result = set()
    for text in texts:
        try:
            result.add(str(Matcher.parse(text)))
        except MatcherError:
            result.add(text)
    return frozenset(result)


def quote(text: str) -> str:
    """Quote a value with double quotes."""
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def _must_quote(name: str) -> bool:
    return not name or any(each in _RESERVED or each.isspace() for each in name)


@functools.lru_cache(maxsize=4096)
def _parse(text: str) -> Matcher:
    if len(text) > MAX_LENGTH:
        raise MatcherError(text[:20] + "…", f"longer than {MAX_LENGTH} characters", MAX_LENGTH + 1)
    return _Reader(text).matcher()


class _Reader:
    """Parses one matcher; `_position` is that of the next character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def matcher(self) -> Matcher:
        name = self._read_word("an attribute name")
        operator = self._read_operator()
        column = self._position + 1
        value = self._read_word('a value; write "" for the empty one')
        self._skip_space()
        if self._peek() == ",":
            self._position += 1
            self._skip_space()
        if self._peek():
            self._fail(
                f"found {self._peek()!r} after the value; quote the value, and use one matcher "
                "per entry"
            )
        if operator in (Operator.MATCHES, Operator.NOT_MATCHES):
            try:
                compile_re2(value)
            except PatternError as error:
                raise MatcherError(
                    self._text, f"not an RE2 regular expression: {error}", column
                ) from error
        return Matcher(name, operator, value)

    def _read_operator(self) -> Operator:
        self._skip_space()
        for operator in (
            Operator.MATCHES,
            Operator.NOT_MATCHES,
            Operator.NOT_EQUAL,
            Operator.EQUAL,
        ):
            if self._text.startswith(operator.value, self._position):
                self._position += len(operator.value)
                return operator
        self._fail("expected one of = != =~ !~")

    def _read_word(self, expected: str) -> str:
        self._skip_space()
        if self._peek() == '"':
            return self._read_quoted()
        start = self._position
        while (character := self._peek()) and not (character in _RESERVED or character.isspace()):
            self._position += 1
        if self._position == start:
            self._fail(f"expected {expected}")
        return self._text[start : self._position]

    def _read_quoted(self) -> str:
        self._position += 1
        result: list[str] = []
        while (character := self._peek()) != '"':
            if not character:
                self._fail('expected a closing "')
            self._position += 1
            result.append(self._escape() if character == "\\" else character)
        self._position += 1
        return "".join(result)

    def _escape(self) -> str:
        character = self._peek()
        self._position += 1
        if character in _UNESCAPES and character:
            return _UNESCAPES[character]
        width = {"u": 4, "U": 8, "x": 2}.get(character, 0)
        digits = self._text[self._position : self._position + width]
        if width and len(digits) == width and _HEX.fullmatch(digits):
            code = int(digits, 16)
            if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:  # as in Go, no half of a pair
                self._position += width
                return chr(code)
        self._fail(f"\\{character} is not an escape")

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self._position += 1

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _fail(self, problem: str) -> NoReturn:
        raise MatcherError(self._text, problem, self._position + 1)
