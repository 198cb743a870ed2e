"""Parses an Alloy configuration into a tree; stops at the first error, with line and column."""

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
"""Number of digits from which an integer is read as a float: it exceeds 64 bits."""

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
    """Parse the statements of a configuration.

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
        return _list_lines(left) == _list_lines(right)


def _list_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


class _Parser:
    """A recursive descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._tokens = tokenize(text)
        self._token = next(self._tokens)
        self._depth = 0

    def file(self) -> tuple[Statement, ...]:
        return self._parse_body(Kind.EOF)

    def _parse_body(self, end: Kind) -> tuple[Statement, ...]:
        statements: list[Statement] = []
        while self._token.kind not in (end, Kind.EOF):
            statements.append(self._parse_statement())
            if self._token.kind is not end:
                self._expect(Kind.TERMINATOR)
        return tuple(statements)

    def _parse_statement(self) -> Statement:
        start = self._token.position
        names = [self._parse_identifier()]
        while self._token.kind is Kind.DOT:
            self._advance()
            names.append(self._parse_identifier())
        if self._token.kind is Kind.ASSIGN:
            return self._parse_attribute(names, start)
        return self._parse_block(".".join(names), start)

    def _parse_attribute(self, names: list[str], start: Position) -> Attribute:
        if len(names) > 1:
            raise AlloyError(
                'attribute names may only consist of a single identifier with no "."', start
            )
        self._advance()
        return Attribute(names[0], self._parse_expression(), Where(start))

    def _parse_block(self, name: str, start: Position) -> Block:
        label = ""
        if self._token.kind is Kind.STRING:
            label = self._parse_label()
        elif self._token.kind is not Kind.LCURLY:
            self._fail(f"expected block label, got {self._token.kind.value}")
        if self._token.kind is not Kind.LCURLY:
            self._fail(f"expected block body, got {self._token.kind.value}")
        self._advance()
        self._enter()
        body = self._parse_body(Kind.RCURLY)
        self._leave()
        self._expect(Kind.RCURLY)
        return Block(name, label, body, Where(start))

    def _parse_label(self) -> str:
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

    def _parse_expression(self, minimum: int = 1) -> Expression:
        """Parse operators of at least this precedence; `^` is right-associative."""
        self._enter()
        left = self._parse_unary()
        while (power := _PRECEDENCE.get(self._token.kind, 0)) >= minimum:
            operator = self._advance()
            right = self._parse_expression(power if operator.kind is Kind.POW else power + 1)
            left = Binary(operator.text, left, right, Where(operator.position))
        self._leave()
        return left

    def _parse_unary(self) -> Expression:
        if self._token.kind in (Kind.NOT, Kind.SUB):
            operator = self._advance()
            self._enter()
            operand = self._parse_unary()
            self._leave()
            return Unary(operator.text, operand, Where(operator.position))
        return self._parse_suffixes(self._parse_primary())

    def _parse_suffixes(self, target: Expression) -> Expression:
        while True:
            where = Where(self._token.position)
            match self._token.kind:
                case Kind.DOT:
                    self._advance()
                    target = Access(target, self._parse_identifier(), where)
                case Kind.LBRACK:
                    self._advance()
                    index = self._parse_expression()
                    self._expect(Kind.RBRACK)
                    target = Index(target, index, where)
                case Kind.LPAREN:
                    self._advance()
                    arguments = self._parse_list(
                        Kind.RPAREN, "expression list", self._parse_expression
                    )
                    target = Call(target, arguments, where)
                case _:
                    return target

    def _parse_primary(self) -> Expression:
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
                inner = self._parse_expression()
                self._expect(Kind.RPAREN)
                return inner
            case Kind.LBRACK:
                self._advance()
                items = self._parse_list(Kind.RBRACK, "expression list", self._parse_expression)
                return Array(items, where)
            case Kind.LCURLY:
                self._advance()
                return Object(self._parse_list(Kind.RCURLY, "field list", self._parse_field), where)
            case _:
                self._fail(f"expected expression, got {token.kind.value}")

    def _parse_list(self, end: Kind, noun: str, read: Callable[[], Item]) -> tuple[Item, ...]:
        """Parse items between commas; a newline before the end requires a comma before it."""
        items: list[Item] = []
        while self._token.kind is not end:
            items.append(read())
            if self._token.kind is Kind.COMMA:
                self._advance()
            elif self._token.kind is not end:
                self._fail(f"missing ',' in {noun}")
        self._advance()
        return tuple(items)

    def _parse_field(self) -> tuple[str, Expression]:
        token = self._token
        if token.kind is Kind.STRING:
            self._advance()
            name = _unquote(token.text)
        elif token.kind is Kind.IDENT:
            name = self._parse_identifier()
        else:
            self._fail(f"expected field name (string or identifier), got {token.kind.value}")
        self._expect(Kind.ASSIGN)
        return name, self._parse_expression()

    def _parse_identifier(self) -> str:
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
