"""Tokens to tree: recursive descent, with cel-go's limits.

`a && b && c` becomes a balanced tree, so that long chains stay shallow; everything else may nest
`MAX_DEPTH` deep, which keeps the later, recursive stages inside Python's own limit. The parser
stops at the first unexpected token; `diagnosis` then finds the errors that cel-go reports.
"""

import contextlib
import re

from quarterdeck.cel.errors import CompileError, Issue
from quarterdeck.cel.introduction import EVERYTHING, NEVER
from quarterdeck.cel.syntax import literals, macros
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
    is_deeper,
)
from quarterdeck.cel.syntax.grammar import (
    FUNCTIONS,
    LOGICAL,
    PRECEDENCES,
    RESERVED,
)
from quarterdeck.cel.syntax.lexer import Token
from quarterdeck.cel.syntax.stream import (
    MAX_DEPTH,
    SyntaxIssue,
    TokenStream,
    TooDeep,
    Unexpected,
    locate,
)
from quarterdeck.cel.types import BOOL, NULL, STRING

MAX_CODE_POINTS = 100_000
"""The longest text that is parsed."""
_ESCAPES_INTRODUCED = 33
"""The release since which names in backticks are tokens; most uses of them are still errors."""
_GO_VERB = re.compile(r"%[-+# 0]*[0-9]*(?:\.[0-9]*)?(.)")
_MOST_TOKENS = 250
"""A text with more tokens gets one simple error instead of those of cel-go."""
_DEEPEST = MAX_DEPTH + 30
"""The maximum depth of a tree, with the levels that macros and operator chains add."""


def parse(source: str, newest: int = EVERYTHING) -> Expr:
    """Parse a text; macros introduced after the release `newest` are parsed as calls.

    Raises:
        CompileError: with every issue found.
    """
    if len(source) > MAX_CODE_POINTS:
        message = (
            f"expression code point size exceeds limit: size: {len(source)}, "
            f"limit {MAX_CODE_POINTS}"
        )
        raise CompileError("", [Issue(1, 1, message)])
    return _Parser(source, newest).run()


class _Parser(TokenStream):
    def __init__(self, source: str, newest: int) -> None:
        self.newest = newest
        self.has_escapes = newest >= _ESCAPES_INTRODUCED
        super().__init__(source, has_escapes=self.has_escapes)

    def run(self) -> Expr:
        tree: Expr | None = None
        try:
            tree = self.parse_expression()
            self.finish()
            # each level needs a token, so a text with few tokens cannot be too deep
            if len(self.tokens) > _DEEPEST and is_deeper(tree, _DEEPEST):
                self.report_too_deep(0)
        except Unexpected:
            self.issues += self.diagnose()
        except TooDeep:
            pass
        except RecursionError:
            self.report(0, f"expression recursion limit exceeded: {MAX_DEPTH}")
        if self.issues or self.skipped or tree is None:
            raise CompileError(self.source, [*self.list_skipped(), *self.issues])
        return tree

    def diagnose(self) -> list[Issue]:
        """The syntax errors that cel-go reports; for a long text only the unexpected token."""
        found = [SyntaxIssue(self.token, f"mismatched input '{self.token.text}'")]
        if len(self.tokens) <= _MOST_TOKENS:
            from quarterdeck.cel.syntax.diagnosis.recovery import diagnose

            with contextlib.suppress(RecursionError):
                found = diagnose(
                    self.source, self.tokens, self.skipped, has_escapes=self.has_escapes
                )
        return [self.build_syntax_issue(each.token.pos, each.message) for each in found]

    def list_skipped(self) -> list[Issue]:
        return [self.build_syntax_issue(bad.pos, bad.message) for bad in self.skipped]

    def build_syntax_issue(self, pos: int, message: str) -> Issue:
        if not self.has_escapes:  # older releases use the message as a format string
            message = _GO_VERB.sub(r"%!\1(MISSING)", message)
        line, column = locate(self.source, pos)
        return Issue(line, column if self.source else 0, f"Syntax error: {message}")

    # operators

    def parse_expression(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.report_too_deep(self.token.pos)
        tree = self.parse_binary(1)
        if self.token.kind == "?":
            question = self.take()
            then = self.parse_binary(1)
            self.expect(":")
            tree = Call(question.pos, "_?_:_", [tree, then, self.parse_expression()])
        self.depth -= 1
        return tree

    def parse_binary(self, level: int) -> Expr:
        left = self.parse_unary()
        chain = 0
        while (precedence := PRECEDENCES.get(self.token.kind, 0)) >= level:
            if precedence <= LOGICAL:
                left = self.parse_logical(left, precedence)
                continue
            chain += 1
            if chain > MAX_DEPTH:
                self.report_too_deep(self.token.pos)
            operator = self.take()
            right = self.parse_binary(precedence + 1)
            left = Call(operator.pos, FUNCTIONS[operator.kind], [left, right])
        return left

    def parse_logical(self, first: Expr, precedence: int) -> Expr:
        kind = self.token.kind
        terms, positions = [first], []
        while self.token.kind == kind:
            positions.append(self.take().pos)
            terms.append(self.parse_binary(precedence + 1))
        return _balance(FUNCTIONS[kind], terms, positions)

    def parse_unary(self) -> Expr:
        sign = self.token
        if sign.kind not in ("!", "-"):
            return self.parse_members(self.parse_primary())
        count = 0
        while self.token.kind == sign.kind:
            if sign.kind == "-" and self.peek_next() in ("NUM_INT", "NUM_FLOAT"):
                operand = self.parse_members(self.parse_literal(self.take().pos, sign="-"))
                break
            count += 1
            self.take()
        else:
            operand = self.parse_members(self.parse_primary())
        return Call(sign.pos, f"{sign.kind}_", [operand]) if count % 2 else operand

    # members

    def parse_members(self, operand: Expr) -> Expr:
        chain = 0
        while True:
            if self.token.kind == ".":
                operand = self.parse_selection(operand)
            elif self.token.kind == "[":
                operand = self.parse_index(operand)
            else:
                return operand
            chain += 1
            if chain > MAX_DEPTH:
                self.report_too_deep(self.token.pos)

    def parse_selection(self, operand: Expr) -> Expr:
        dot = self.take()
        optional = self.accept("?") is not None
        if self.token.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            raise Unexpected
        name = self.take()
        if name.kind == "ESC_IDENTIFIER" and self.newest < NEVER:
            self.report(name.pos, "unsupported syntax: '`'")
        if name.kind == "IDENTIFIER" and self.token.kind == "(" and not optional:
            return self.parse_call(name, operand)
        field = name.text.strip("`")
        if optional:
            return Call(dot.pos, "_?._", [operand, Literal_(name.pos, field, type=STRING)])
        return Select(dot.pos, operand, field, field)

    def parse_index(self, operand: Expr) -> Expr:
        bracket = self.take()
        optional = self.accept("?") is not None
        argument = self.parse_expression()
        self.expect("]")
        return Call(bracket.pos, "_[?_]" if optional else "_[_]", [operand, argument])

    def parse_call(self, name: Token, target: Expr | None) -> Expr:
        opening = self.take()
        try:
            call = Call(opening.pos, name.text, self.parse_arguments(), target)
            return macros.expand(call, self.newest)
        except macros.MacroError as error:
            return self.report(error.pos, error.message)

    def parse_arguments(self) -> list[Expr]:
        if self.accept(")"):
            return []
        args = [self.parse_expression()]
        while self.accept(","):
            args.append(self.parse_expression())
        self.expect(")")
        return args

    # primaries

    def parse_primary(self) -> Expr:
        token = self.token
        match token.kind:
            case "IDENTIFIER":
                return self.parse_name(self.take(), absolute=False)
            case "STRING" | "NUM_INT" | "NUM_FLOAT" | "NUM_UINT" | "BYTES":
                return self.parse_literal(token.pos)
            case "(":
                self.take()
                inner = self.parse_expression()
                self.expect(")")
                return inner
            case "[":
                return self.parse_list(self.take())
            case "{":
                return self.parse_map(self.take())
            case "true" | "false":
                return Literal_(self.take().pos, token.kind == "true", type=BOOL)
            case "null":
                return Literal_(self.take().pos, None, type=NULL)
            case ".":
                self.take()
                return self.parse_name(self.expect("IDENTIFIER"), absolute=True)
        raise Unexpected

    def parse_literal(self, pos: int, *, sign: str = "") -> Expr:
        try:
            return literals.read(self.take(), pos, sign=sign)
        except literals.LiteralError as error:
            return self.report(pos, str(error))

    def parse_name(self, token: Token, *, absolute: bool) -> Expr:
        if (message := self.parse_message(token, absolute=absolute)) is not None:
            return message
        if token.text in RESERVED:
            return self.report(token.pos, f"reserved identifier: {token.text}")
        if self.token.kind == "(":
            return self.parse_call(token, None)
        return Ident(token.pos, token.text, absolute=absolute)

    # messages, lists and maps

    def parse_message(self, token: Token, *, absolute: bool) -> Expr | None:
        """Parse `a.b.Name{…}`; None if no brace follows the dotted name."""
        if "{" not in self.source:
            return None
        at, tokens, names = self.at, self.tokens, [token.text]
        while tokens[at].kind == "." and tokens[at + 1].kind == "IDENTIFIER":
            names.append(tokens[at + 1].text)
            at += 2
        if tokens[at].kind != "{":
            return None
        self.take(at + 1 - self.at)
        entries: list[Entry] = []
        while self.token.kind != "}":
            optional = self.accept("?") is not None
            key = self.expect("IDENTIFIER")
            entries.append(
                self.parse_entry(Literal_(key.pos, key.text, type=STRING), optional=optional)
            )
            if not self.accept(","):
                break
        self.expect("}")
        return MessageExpr(tokens[at].pos, ("." if absolute else "") + ".".join(names), entries)

    def parse_entry(self, key: Expr, *, optional: bool) -> Entry:
        colon = self.expect(":")
        return Entry(colon.pos, key, self.parse_expression(), optional)

    def is_lone_comma(self, closing: str) -> bool:
        """Whether the brackets contain only a comma."""
        return self.token.kind == "," and self.peek_next() == closing

    def parse_list(self, bracket: Token) -> Expr:
        elements: list[Expr] = []
        optional: set[int] = set()
        if self.is_lone_comma("]"):
            self.take()
        while self.token.kind != "]":
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.parse_expression())
            if not self.accept(","):
                break
        self.expect("]")
        return ListExpr(bracket.pos, elements, frozenset(optional))

    def parse_map(self, brace: Token) -> Expr:
        entries: list[Entry] = []
        if self.is_lone_comma("}"):
            self.take()
        while self.token.kind != "}":
            optional = self.accept("?") is not None
            entries.append(self.parse_entry(self.parse_expression(), optional=optional))
            if not self.accept(","):
                break
        self.expect("}")
        return MapExpr(brace.pos, entries)


def _balance(function: str, terms: list[Expr], positions: list[int]) -> Expr:
    """Build a balanced tree of a chain of one operator."""
    if not positions:
        return terms[0]
    middle = len(positions) // 2
    left = _balance(function, terms[: middle + 1], positions[:middle])
    right = _balance(function, terms[middle + 1 :], positions[middle + 1 :])
    return Call(positions[middle], function, [left, right])
