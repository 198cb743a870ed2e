"""Reads an Alloy configuration into its tree; stops at the first error, with line and column."""

from collections.abc import Callable
from typing import NoReturn, TypeVar

from quarterdeck.telemetry.alloy.lexer import tokenize
from quarterdeck.telemetry.alloy.tokens import AlloyError, Kind, Position, Token
from quarterdeck.telemetry.alloy.tree import (
    Access,
    Array,
    Attribute,
    Binary,
    Block,
    Call,
    Expression,
    Index,
    Literal,
    Name,
    Object,
    Statement,
    Unary,
    Where,
)

Item = TypeVar("Item")

MAX_DEPTH = 150
_LONG = 20
"""Digits of a whole number that is read as a float, as it has no room in 64 bits."""

_PRECEDENCE = {
    Kind.OR: 1,
    Kind.AND: 2,
    Kind.EQ: 3,
    Kind.NEQ: 3,
    Kind.LT: 4,
    Kind.LTE: 4,
    Kind.GT: 4,
    Kind.GTE: 4,
    Kind.ADD: 5,
    Kind.SUB: 5,
    Kind.MUL: 6,
    Kind.DIV: 6,
    Kind.MOD: 6,
    Kind.POW: 7,
}
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
    '"': '"',
}  # fmt: skip


def parse(text: str) -> tuple[Statement, ...]:
    """The statements of a configuration.

    Raises:
        AlloyError: naming what was expected, with line and column.
    """
    return _Parser(text).file()


def is_equivalent(left: str, right: str) -> bool:
    """Whether two configurations mean the same, whatever their formatting.

    Texts that cannot be parsed are compared line by line, without trailing blanks.
    """
    try:
        return parse(left) == parse(right)
    except AlloyError:
        return _list_tokens(left) == _list_tokens(right)


def _list_tokens(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


class _Parser:
    """Recursive descent, one token ahead."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._token = next(self._tokens)
        self._depth = 0

    def file(self) -> tuple[Statement, ...]:
        return self._body(Kind.EOF)

    def _body(self, end: Kind) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        while self._token.kind not in (end, Kind.EOF):
            statements.append(self._statement())
            if self._token.kind is not end:
                self._expect(Kind.TERMINATOR)
        return tuple(statements)

    def _statement(self) -> Statement:
        start = self._token.position
        names = [self._identifier()]
        while self._token.kind is Kind.DOT:
            self._advance()
            names.append(self._identifier())
        if self._token.kind is Kind.ASSIGN:
            return self._attribute(names, start)
        return self._block(".".join(names), start)

    def _attribute(self, names: list[str], start: Position) -> Attribute:
        if len(names) > 1:
            raise AlloyError(
                'attribute names may only consist of a single identifier with no "."', start
            )
        self._advance()
        return Attribute(names[0], self._expression(), Where(start))

    def _block(self, name: str, start: Position) -> Block:
        label = ""
        if self._token.kind is Kind.STRING:
            label = self._label()
        elif self._token.kind is not Kind.LCURLY:
            self._fail(f"expected block label, got {self._token.kind.value}")
        if self._token.kind is not Kind.LCURLY:
            self._fail(f"expected block body, got {self._token.kind.value}")
        self._advance()
        self._enter()
        body = self._body(Kind.RCURLY)
        self._leave()
        self._expect(Kind.RCURLY)
        return Block(name, label, body, Where(start))

    def _label(self) -> str:
        token = self._token
        if token.text.startswith("`"):
            self._fail(f'expected block label to be a double quoted string, but got "{token.text}"')
        self._advance()
        label = _unquote(token.text)
        if label and not label.isidentifier():
            raise AlloyError(
                f"expected block label to be a valid identifier, but got {token.text}",
                token.position,
            )
        return label

    def _expression(self, minimum: int = 1) -> Expression:
        """Operators of at least this precedence; `^` binds to the right."""
        self._enter()
        left = self._unary()
        while (power := _PRECEDENCE.get(self._token.kind, 0)) >= minimum:
            operator = self._advance()
            right = self._expression(power if operator.kind is Kind.POW else power + 1)
            left = Binary(operator.text, left, right, Where(operator.position))
        self._leave()
        return left

    def _unary(self) -> Expression:
        if self._token.kind in (Kind.NOT, Kind.SUB):
            operator = self._advance()
            self._enter()
            operand = self._unary()
            self._leave()
            return Unary(operator.text, operand, Where(operator.position))
        return self._suffixes(self._primary())

    def _suffixes(self, target: Expression) -> Expression:
        while True:
            where = Where(self._token.position)
            match self._token.kind:
                case Kind.DOT:
                    self._advance()
                    target = Access(target, self._identifier(), where)
                case Kind.LBRACK:
                    self._advance()
                    index = self._expression()
                    self._expect(Kind.RBRACK)
                    target = Index(target, index, where)
                case Kind.LPAREN:
                    self._advance()
                    arguments = self._list(Kind.RPAREN, "expression list", self._expression)
                    target = Call(target, arguments, where)
                case _:
                    return target

    def _primary(self) -> Expression:
        token = self._token
        where = Where(token.position)
        match token.kind:
            case Kind.IDENT:
                self._advance()
                return Name(token.text, where)
            case Kind.STRING:
                self._advance()
                return Literal(_unquote(token.text), where)
            case Kind.NUMBER | Kind.FLOAT:
                self._advance()
                return Literal(_parse_number(token.text), where)
            case Kind.BOOL:
                self._advance()
                return Literal(token.text == "true", where)
            case Kind.NULL:
                self._advance()
                return Literal(None, where)
            case Kind.LPAREN:
                self._advance()
                inner = self._expression()
                self._expect(Kind.RPAREN)
                return inner
            case Kind.LBRACK:
                self._advance()
                items = self._list(Kind.RBRACK, "expression list", self._expression)
                return Array(items, where)
            case Kind.LCURLY:
                self._advance()
                return Object(self._list(Kind.RCURLY, "field list", self._field), where)
            case _:
                self._fail(f"expected expression, got {token.kind.value}")

    def _list(self, end: Kind, what: str, read: Callable[[], Item]) -> tuple[Item, ...]:
        """Items between commas; a newline before the end wants a comma before it."""
        items: list[Item] = []
        while self._token.kind is not end:
            items.append(read())
            if self._token.kind is Kind.COMMA:
                self._advance()
            elif self._token.kind is not end:
                self._fail(f"missing ',' in {what}")
        self._advance()
        return tuple(items)

    def _field(self) -> tuple[str, Expression]:
        token = self._token
        if token.kind is Kind.STRING:
            self._advance()
            name = _unquote(token.text)
        elif token.kind is Kind.IDENT:
            name = self._identifier()
        else:
            self._fail(f"expected field name (string or identifier), got {token.kind.value}")
        self._expect(Kind.ASSIGN)
        return name, self._expression()

    def _identifier(self) -> str:
        if self._token.kind is not Kind.IDENT:
            self._fail(f"expected identifier, got {self._token.kind.value}")
        return self._advance().text

    def _expect(self, kind: Kind) -> Token:
        if self._token.kind is not kind:
            self._fail(f"expected {kind.value}, got {self._token.kind.value}")
        return self._advance()

    def _advance(self) -> Token:
        token = self._token
        if token.kind is not Kind.EOF:
            self._token = next(self._tokens)
        return token

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")

    def _leave(self) -> None:
        self._depth -= 1

    def _fail(self, problem: str) -> NoReturn:
        raise AlloyError(problem, self._token.position)


def _parse_number(text: str) -> float | int:
    return int(text) if text.isdigit() and len(text) < _LONG else float(text)


def _unquote(text: str) -> str:
    """The value of a string literal; the lexer has checked its escapes."""
    if text[0] == "`":
        return text[1:-1]
    body = text[1:-1]
    if "\\" not in body:
        return body
    result: list[str] = []
    position = 0
    while position < len(body):
        character = body[position]
        if character != "\\":
            result.append(character)
            position += 1
            continue
        value, position = _read_escape(body, position + 1)
        result.append(value)
    return "".join(result)


def _read_escape(body: str, position: int) -> tuple[str, int]:
    letter = body[position]
    if letter in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[letter], position + 1
    width = {"x": 2, "u": 4, "U": 8}.get(letter)
    if width is None:
        return chr(int(body[position : position + 3], 8)), position + 3
    start = position + 1
    code = min(int(body[start : start + width], 16), 0x10FFFF)
    return chr(code), start + width
