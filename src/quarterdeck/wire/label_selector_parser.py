"""The grammar of label selectors: `env in (a, b), !canary, tier != db`."""

import re
from collections.abc import Iterator
from typing import NoReturn

from quarterdeck.meta import field, names
from quarterdeck.wire.label_requirement import (
    Operator,
    Requirement,
    SelectorError,
    build_requirement,
)

_SYMBOLS = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SPECIAL = frozenset(("=", "==", "!=", "!", "(", ")", ",", "<", ">"))
END = ""


class SelectorParser:
    """Recursive descent over the tokens, worded like Kubernetes' own."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), END]
        self._position = 0

    def parse_requirements(self) -> Iterator[Requirement]:
        """The terms of the text, in its order.

        Raises:
            SelectorError: where the text is not a selector.
        """
        while True:
            token = self._peek()
            if token == END:
                return
            if token != "!" and not _is_identifier(token):
                _fail(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                yield self._parse_requirement()
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from error
            self._parse_separator()

    def _parse_separator(self) -> None:
        token = self._next()
        if token == END:
            self._position -= 1
            return
        if token != ",":
            _fail(f"found '{token}', expected: ',' or 'end of string'")
        following = self._peek()
        if following != "!" and not _is_identifier(following):
            _fail(f"found '{following}', expected: identifier after ','")

    def _parse_requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if not _is_identifier(key):
            _fail(f"found '{key}', expected: identifier")
        if problems := names.check_qualified_name(key):
            raise SelectorError(str(field.invalid("<nil>", key, "; ".join(problems))))
        if negated:
            return build_requirement(key, Operator.DOES_NOT_EXIST, ())
        if self._peek() in (END, ","):
            return build_requirement(key, Operator.EXISTS, ())
        operator = self._parse_operator()
        values = (
            self._parse_values()
            if operator in (Operator.IN, Operator.NOT_IN)
            else self._parse_value()
        )
        return build_requirement(key, operator, values)

    def _parse_operator(self) -> Operator:
        token = self._next()
        operator = _SYMBOLS.get(token)
        if operator is None:
            _fail(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        return operator

    def _parse_values(self) -> tuple[str, ...]:
        token = self._next()
        if token != "(":
            _fail(f"found '{token}' expected: '('")
        values: dict[str, None] = {}
        token = self._peek()
        if token == ")":
            self._next()
            return ("",)  # an empty list is a list of the empty value, as Kubernetes reads it
        if token != "," and not _is_identifier(token):
            _fail(f"found '{token}', expected: ',', ')' or identifier")
        while True:
            values[self._parse_listed_value()] = None
            token = self._next()
            if token == ")":
                return tuple(values)
            if token != ",":
                _fail(f"found '{token}', expected: ',' or ')'")

    def _parse_listed_value(self) -> str:
        """Parse a value of a list, which may be empty: `in (a,,b)`."""
        token = self._peek()
        if token in (",", ")"):
            return ""
        if not _is_identifier(token):
            _fail(f"found '{token}', expected: ',', or identifier")
        return self._next()

    def _parse_value(self) -> tuple[str, ...]:
        token = self._peek()
        if token in (END, ","):
            return ("",)
        if not _is_identifier(token):
            _fail(f"found '{token}', expected: identifier")
        return (self._next(),)

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        token = self._tokens[self._position]
        if token != END:
            self._position += 1
        else:
            self._position = len(self._tokens)
            self._tokens.append(END)
        return token


def _is_identifier(token: str) -> bool:
    """Whether a token is a key or value; `in` and `notin` are operators only after a key."""
    return token != END and token not in _SPECIAL


def _fail(message: str) -> NoReturn:
    raise SelectorError(message)
