"""Tokens to tree: recursive descent, with cel-go's limits and the wording of its complaints.

`a && b && c` becomes a balanced tree, so that long chains stay shallow; everything else may nest
`MAX_DEPTH` deep, which keeps the later, recursive stages inside Python's own limit.
"""

from quarterdeck.cel.errors import CompileError, Issue
from quarterdeck.cel.syntax import macros
from quarterdeck.cel.syntax.ast import (
    Call,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal_,
    MapExpr,
    MessageExpr,
    Select,
    children,
)
from quarterdeck.cel.syntax.lexer import Token
from quarterdeck.cel.syntax.literals import LiteralError, unescape
from quarterdeck.cel.syntax.stream import MAX_DEPTH, Abort, TokenStream
from quarterdeck.cel.types import BOOL, BYTES, DOUBLE, ERROR, INT, NULL, STRING, UINT
from quarterdeck.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

MAX_CODE_POINTS = 100_000
"""The longest text that is looked at."""
_MARGIN = 30
_MAX_DIGITS = 4000

_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
_MAP_STARTS = (
    "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
    "NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_LIST_STARTS = (
    "{'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, "
    "NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_CALL_STARTS = (
    "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
_FIRST = frozenset(
    [
        "[",
        "{",
        "(",
        ".",
        "-",
        "!",
        "true",
        "false",
        "null",
        "NUM_FLOAT",
        "NUM_INT",
        "NUM_UINT",
        "STRING",
        "BYTES",
        "IDENTIFIER",
    ]
)
_BINARY = {
    "||": 1,
    "&&": 2,
    "<": 3,
    "<=": 3,
    ">=": 3,
    ">": 3,
    "==": 3,
    "!=": 3,
    "in": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "%": 5,
}
_FUNCTIONS = {op: f"_{op}_" for op in _BINARY} | {"in": "@in"}


def parse(source: str) -> Expr:
    """The tree of a text.

    Raises:
        CompileError: with everything found wrong.
    """
    if len(source) > MAX_CODE_POINTS:
        message = (
            f"expression code point size exceeds limit: size: {len(source)}, "
            f"limit {MAX_CODE_POINTS}"
        )
        raise CompileError("", [Issue(1, 1, message)])
    return _Parser(source).run()


class _Parser(TokenStream):
    def run(self) -> Expr:
        tree: Expr | None = None
        try:
            tree = self.expression()
            self.finish()
            if _depth(tree) > MAX_DEPTH + _MARGIN:
                self.too_deep(0)
        except Abort:
            pass
        except RecursionError:
            self.report(0, f"expression recursion limit exceeded: {MAX_DEPTH}")
        if self.issues or tree is None:
            raise CompileError(self.source, self.issues)
        return tree

    # expressions

    def expression(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.too_deep(self.token.pos)
        tree = self.binary(1)
        if self.token.kind == "?":
            question = self.take()
            then = self.binary(1)
            self.expect(":")
            tree = Call(question.pos, "_?_:_", [tree, then, self.expression()])
        self.depth -= 1
        return tree

    def binary(self, level: int) -> Expr:
        left = self.unary()
        chain = 0
        while (strength := _BINARY.get(self.token.kind, 0)) >= level:
            if strength <= 2:
                left = self.logical(left, strength)
                continue
            chain += 1
            if chain > MAX_DEPTH:
                self.too_deep(self.token.pos)
            operator = self.take()
            right = self.binary(strength + 1)
            left = Call(operator.pos, _FUNCTIONS[operator.kind], [left, right])
        return left

    def logical(self, first: Expr, strength: int) -> Expr:
        kind = self.token.kind
        terms, positions = [first], []
        while self.token.kind == kind:
            positions.append(self.take().pos)
            terms.append(self.binary(strength + 1))
        return _balance(_FUNCTIONS[kind], terms, positions, 0, len(positions) - 1)

    def unary(self) -> Expr:
        token = self.token
        if token.kind not in ("!", "-"):
            return self.member(self.primary(_STARTS))
        count = 0
        while self.token.kind == token.kind:
            if token.kind == "-" and self.tokens[self.at + 1].kind in ("NUM_INT", "NUM_FLOAT"):
                operand = self.member(self.number(self.take().pos, negative=True))
                break
            count += 1
            self.at += 1
        else:
            operand = self.member(self.primary(_STARTS))
        if count % 2 == 0:
            return operand
        return Call(token.pos, "!_" if token.kind == "!" else "-_", [operand])

    def member(self, operand: Expr) -> Expr:
        chain = 0
        while True:
            if self.token.kind == ".":
                operand = self.select(operand)
            elif self.token.kind == "[":
                operand = self.index(operand)
            else:
                return operand
            chain += 1
            if chain > MAX_DEPTH:
                self.too_deep(self.token.pos)

    def select(self, operand: Expr) -> Expr:
        dot = self.take()
        optional = self.accept("?") is not None
        name = self.token
        if name.kind == "ESC_IDENTIFIER":
            self.at += 1
            name = name._replace(text=name.text[1:-1])
        elif name.kind != "IDENTIFIER":
            self.stray_dot(".?" if optional else ".")
        else:
            self.at += 1
            if self.token.kind == "(" and not optional:
                return self.member_call(operand, name)
        if optional:
            field = Literal_(name.pos, name.text, STRING)
            return Call(dot.pos, "_?._", [operand, field])
        return Select(dot.pos, operand, name.text)

    def member_call(self, operand: Expr, name: Token) -> Expr:
        opening = self.take()
        args = self.arguments()
        call = Call(opening.pos, name.text, args, operand)
        try:
            return macros.expand(call)
        except macros.MacroError as error:
            return self.report(error.pos, error.message)

    def index(self, operand: Expr) -> Expr:
        bracket = self.take()
        optional = self.accept("?") is not None
        argument = self.expression()
        self.expect("]")
        return Call(bracket.pos, "_[?_]" if optional else "_[_]", [operand, argument])

    def arguments(self) -> list[Expr]:
        if self.accept(")"):
            return []
        if self.token.kind not in _FIRST:
            self.unexpected(_CALL_STARTS)
        args = [self.expression()]
        while self.accept(","):
            args.append(self.expression())
        self.expect(")")
        return args

    # primaries

    def primary(self, expecting: str) -> Expr:
        token = self.token
        match token.kind:
            case "IDENTIFIER":
                return self.name(self.take(), absolute=False)
            case ".":
                self.at += 1
                if self.token.kind != "IDENTIFIER":
                    self.stray_dot(".")
                return self.name(self.take(), absolute=True)
            case "(":
                self.at += 1
                inner = self.expression()
                self.expect(")")
                return inner
            case "[":
                return self.list_literal(self.take())
            case "{":
                return self.map_literal(self.take())
            case "NUM_INT" | "NUM_FLOAT":
                return self.number(token.pos, negative=False)
            case "NUM_UINT":
                return self.unsigned(self.take())
            case "STRING" | "BYTES":
                return self.quoted(self.take())
            case "true" | "false":
                return Literal_(self.take().pos, token.kind == "true", BOOL)
            case "null":
                return Literal_(self.take().pos, None, NULL)
        return self.unexpected(expecting)

    def unexpected(self, expecting: str) -> Expr:
        """Complain; go on where cel-go would."""
        token = self.token
        following = self.tokens[self.at + 1].kind if token.kind != "EOF" else ""
        if following in _FIRST:
            self.syntax(token, f"extraneous input '{token.text}' expecting {expecting}")
            self.at += 1
            return self.primary(expecting)
        self.syntax(token, f"mismatched input '{token.text}' expecting {expecting}")
        if token.kind in _BINARY:
            return Literal_(token.pos, None, ERROR)
        raise Abort

    def name(self, token: Token, *, absolute: bool) -> Expr:
        if (message := self.message(token, absolute=absolute)) is not None:
            return message
        if token.text in _RESERVED:
            return self.report(token.pos, f"reserved identifier: {token.text}")
        if self.token.kind != "(":
            return Ident(token.pos, token.text, absolute=absolute)
        opening = self.take()
        call = Call(opening.pos, token.text, self.arguments())
        try:
            return macros.expand(call)
        except macros.MacroError as error:
            return self.report(error.pos, error.message)

    def message(self, token: Token, *, absolute: bool) -> Expr | None:
        """`a.b.Name{…}`, when a brace follows a dotted name."""
        at, names = self.at, [token.text]
        while self.tokens[at].kind == "." and self.tokens[at + 1].kind == "IDENTIFIER":
            names.append(self.tokens[at + 1].text)
            at += 2
        if self.tokens[at].kind != "{":
            return None
        brace, self.at = self.tokens[at], at + 1
        entries: list[Entry] = []
        while self.token.kind != "}":
            optional = self.accept("?") is not None
            key = self.expect("IDENTIFIER")
            colon = self.expect(":")
            field = Literal_(key.pos, key.text, STRING)
            entries.append(Entry(colon.pos, field, self.expression(), optional=optional))
            if not self.accept(","):
                break
        self.expect("}")
        return MessageExpr(brace.pos, ("." if absolute else "") + ".".join(names), entries)

    def list_literal(self, bracket: Token) -> Expr:
        elements: list[Expr] = []
        optional: set[int] = set()
        while self.token.kind != "]":
            if self.token.kind == "," and not elements and self.tokens[self.at + 1].kind == "]":
                self.at += 1
                break
            if self.accept("?"):
                optional.add(len(elements))
            elif not elements and self.token.kind not in _FIRST:
                self.unexpected(_LIST_STARTS)
            elements.append(self.expression())
            if not self.accept(","):
                break
        self.expect("]")
        return ListExpr(bracket.pos, elements, frozenset(optional))

    def map_literal(self, brace: Token) -> Expr:
        entries: list[Entry] = []
        while self.token.kind != "}":
            if self.token.kind == "," and not entries and self.tokens[self.at + 1].kind == "}":
                self.at += 1
                break
            optional = self.accept("?") is not None
            if not entries and not optional and self.token.kind not in _FIRST:
                self.unexpected(_MAP_STARTS)
            key = self.expression()
            colon = self.expect(":")
            entries.append(Entry(colon.pos, key, self.expression(), optional=optional))
            if not self.accept(","):
                break
        self.expect("}")
        return MapExpr(brace.pos, entries)

    def number(self, pos: int, *, negative: bool) -> Expr:
        token = self.take()
        sign = "-" if negative else ""
        if token.kind == "NUM_INT":
            value = _integer(sign + token.text)
            if value is None or not INT_MIN <= value <= INT_MAX:
                return self.report(pos, "invalid int literal")
            return Literal_(pos, value, INT)
        number = float(sign + token.text)
        if number in (float("inf"), float("-inf")):
            return self.report(pos, "invalid double literal")
        return Literal_(pos, number, DOUBLE)

    def unsigned(self, token: Token) -> Expr:
        value = _integer(token.text[:-1])
        if value is None or value > UINT_MAX:
            return self.report(token.pos, "invalid uint literal")
        return Literal_(token.pos, UInt(value), UINT)

    def quoted(self, token: Token) -> Expr:
        try:
            value = unescape(token.text)
        except LiteralError as error:
            return self.report(token.pos, str(error))
        return Literal_(token.pos, value, BYTES if isinstance(value, bytes) else STRING)


def _integer(text: str) -> int | None:
    """The number, unless it has more digits than any that fits."""
    if len(text) > _MAX_DIGITS:
        return None
    return int(text, 16 if "x" in text else 10)


def _depth(tree: Expr) -> int:
    """How deep the tree is; without recursion, for it may be very deep."""
    deepest = 0
    todo = [(tree, 1)]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        todo += [(part, depth + 1) for part in children(node)]
    return deepest


def _balance(function: str, terms: list[Expr], positions: list[int], low: int, high: int) -> Expr:
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else _balance(function, terms, positions, low, middle - 1)
    right = (
        terms[middle + 1]
        if middle == high
        else _balance(function, terms, positions, middle + 1, high)
    )
    return Call(positions[middle], function, [left, right])
