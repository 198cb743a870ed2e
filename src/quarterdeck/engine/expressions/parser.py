"""Tokens to a tree, by precedence climbing."""

from quarterdeck.engine.expressions.errors import ExpressionError
from quarterdeck.engine.expressions.lexer import Kind, Token, tokenize
from quarterdeck.engine.expressions.tree import (
    Binary,
    Call,
    Chain,
    Condition,
    Expression,
    Literal,
    Name,
    Unary,
)

LEVELS: tuple[tuple[str, ...], ...] = (
    ("??",),
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%"),
)
"""Binary operators from the loosest to the tightest; all of them are left-associative."""

MAX_DEPTH = 50
"""How deep a tree may be. Python's own compiler has a limit not far above."""
MAX_ARGUMENTS = 64

CHAINED = frozenset({"??", "||", "&&"})
_ORDER = frozenset(LEVELS[4])
_PRECEDENCE = {operator: level for level, group in enumerate(LEVELS) for operator in group}
_KEYWORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "nil": None}
_TOO_DEEP = "the expression is nested too deeply"
_SPLIT = f"the limit is {MAX_DEPTH} levels; split it into several computed fields"


def parse(text: str, *, compat: bool = False) -> Expression:
    """Read an expression.

    Raises:
        ExpressionError: naming the first place that does not fit.
    """
    if not text.strip():
        raise ExpressionError("the expression is empty", 0, "write a value such as used / capacity")
    parser = _Parser(tokenize(text, compat=compat), compat=compat)
    tree, _ = parser.expression(0)
    if not compat:
        parser.expect_end()
    return tree


class _Parser:
    """Every method returns a node and the height of the tree below it."""

    def __init__(self, tokens: list[Token], *, compat: bool) -> None:
        self._tokens = tokens
        self._compat = compat
        self._at = 0

    def expect_end(self) -> None:
        """Refuse text after a complete expression."""
        token = self._tokens[self._at]
        if token.kind is Kind.END:
            return
        hint = "put an operator between the two values"
        if token.kind is Kind.OPERATOR:
            hint = "remove it, or complete what stands before it"
        raise ExpressionError(f"unexpected {_describe(token)}", token.position, hint)

    def expression(self, depth: int) -> tuple[Expression, int]:
        """A whole expression, with `?` and `:`."""
        token = self._tokens[self._at]
        if depth > MAX_DEPTH:
            raise ExpressionError(_TOO_DEEP, token.position, _SPLIT)
        test, height = self._parse_binary(0, depth)
        question = self._tokens[self._at]
        if not self._take("?"):
            return test, height
        then, then_height = self.expression(depth + 1)
        self._expect(":", "a condition is written test ? then : otherwise")
        otherwise, other_height = self.expression(depth + 1)
        height = self._check_depth(max(height, then_height, other_height) + 1, question)
        return Condition(question.position, test, then, otherwise), height

    def _parse_binary(self, level: int, depth: int) -> tuple[Expression, int]:
        left, height = self._parse_unary(depth)
        while True:
            token = self._tokens[self._at]
            precedence = _PRECEDENCE.get(str(token.value), -1)
            if token.kind is not Kind.OPERATOR or precedence < level:
                return left, height
            self._at += 1
            right, right_height = self._parse_binary(precedence + 1, depth + 1)
            left, grown = self._join(left, token, right)
            height = self._check_depth(max(height, right_height) + grown, token)

    def _join(self, left: Expression, token: Token, right: Expression) -> tuple[Expression, int]:
        """The node of an operator, and by how much the tree grew."""
        operator = str(token.value)
        if operator in CHAINED:
            if isinstance(left, Chain) and left.operator == operator:
                return Chain(left.position, operator, (*left.operands, right)), 0
            return Chain(token.position, operator, (left, right)), 1
        is_chain = operator in _ORDER and isinstance(left, Binary) and left.operator in _ORDER
        if is_chain and not self._compat:
            raise ExpressionError(
                "comparisons cannot be chained", token.position, "write a < b && b < c"
            )
        return Binary(token.position, operator, left, right), 1

    def _parse_unary(self, depth: int) -> tuple[Expression, int]:
        token = self._tokens[self._at]
        if token.kind is not Kind.OPERATOR or token.value not in ("!", "-"):
            return self._parse_primary(depth)
        if depth > MAX_DEPTH:
            raise ExpressionError(_TOO_DEEP, token.position, _SPLIT)
        self._at += 1
        operand, height = self._parse_unary(depth + 1)
        return Unary(token.position, str(token.value), operand), self._check_depth(
            height + 1, token
        )

    def _parse_primary(self, depth: int) -> tuple[Expression, int]:
        token = self._tokens[self._at]
        self._at += 1
        match token.kind:
            case Kind.NUMBER | Kind.TEXT:
                return Literal(token.position, token.value), 1
            case Kind.NAME:
                return self._parse_name(token, depth)
            case Kind.OPERATOR if token.value == "(":
                inner, height = self.expression(depth + 1)
                self._expect(")", "close the parenthesis")
                return inner, height
        self._at -= 1
        hint = "write a value, a field name, a function or a parenthesis here"
        raise ExpressionError(f"unexpected {_describe(token)}", token.position, hint)

    def _parse_name(self, token: Token, depth: int) -> tuple[Expression, int]:
        name = str(token.value)
        if name.lower() in _KEYWORDS:
            return Literal(token.position, _KEYWORDS[name.lower()]), 1
        if not self._take("("):
            return Name(token.position, name), 1
        arguments: list[Expression] = []
        height = 0
        if not self._take(")"):
            while True:
                argument, below = self.expression(depth + 1)
                arguments.append(argument)
                height = max(height, below)
                if not self._take(","):
                    break
            self._expect(")", f"close the arguments of {name}")
        if len(arguments) > MAX_ARGUMENTS:
            raise ExpressionError(
                f"{name} has {len(arguments)} arguments, the limit is {MAX_ARGUMENTS}",
                token.position,
            )
        node = Call(token.position, name, tuple(arguments))
        return node, self._check_depth(height + 1, token)

    def _take(self, operator: str) -> bool:
        token = self._tokens[self._at]
        taken = token.kind is Kind.OPERATOR and token.value == operator
        self._at += taken
        return taken

    def _expect(self, operator: str, hint: str) -> None:
        token = self._tokens[self._at]
        if not self._take(operator):
            message = f"expected {operator!r}, found {_describe(token)}"
            raise ExpressionError(message, token.position, hint)

    @staticmethod
    def _check_depth(height: int, token: Token) -> int:
        if height > MAX_DEPTH:
            raise ExpressionError(_TOO_DEEP, token.position, _SPLIT)
        return height


def _describe(token: Token) -> str:
    if token.kind is Kind.END:
        return "end of the expression"
    value = token.value
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{token.kind.value} {text[:40]!r}"
