"""Tokens one after the other, and complaints about them in ANTLR's words."""

from typing import NoReturn

from quarterdeck.cel.errors import Issue
from quarterdeck.cel.syntax.ast import Expr, Literal_
from quarterdeck.cel.syntax.lexer import Token, tokenize
from quarterdeck.cel.types import ERROR

MAX_DEPTH = 120
"""How deep expressions may nest."""


def locate(source: str, pos: int) -> tuple[int, int]:
    """Line and column, counted from 1, of an offset."""
    line = source.count("\n", 0, pos) + 1
    return line, pos - (source.rfind("\n", 0, pos) + 1) + 1


class Abort(Exception):
    """Raised when parsing cannot go on; what is wrong has been noted."""


class TokenStream:
    """The tokens of a source, and the issues found so far."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens, skipped = tokenize(source)
        self.issues = [self.issue(bad.pos, f"Syntax error: {bad.message}") for bad in skipped]
        self.at = 0
        self.token = self.tokens[0]
        """The token at hand."""
        self.depth = 0

    def take(self, count: int = 1) -> Token:
        """The token at hand, done with, as are those after it if more are asked for."""
        token = self.token
        self.at += count
        self.token = self.tokens[self.at]
        return token

    def peek_next(self) -> str:
        """The kind of the token after the one at hand, which must not be the last."""
        return self.tokens[self.at + 1].kind

    def accept(self, kind: str) -> Token | None:
        """The token at hand if it is of this kind, done with."""
        return self.take() if self.token.kind == kind else None

    def expect(self, kind: str) -> Token:
        """The same, or a complaint."""
        if (token := self.accept(kind)) is not None:
            return token
        text = self.token.text
        if self.token.kind == "EOF":
            self.syntax(self.token, f"missing '{kind}' at '<EOF>'")
        elif self.peek_next() == kind:
            self.syntax(self.token, f"extraneous input '{text}' expecting '{kind}'")
            self.take()
            return self.take()
        else:
            self.syntax(self.token, f"mismatched input '{text}' expecting '{kind}'")
        raise Abort

    def finish(self) -> None:
        """Nothing may be left."""
        token = self.token
        if token.kind == "EOF":
            return
        word = "extraneous" if self.peek_next() == "EOF" else "mismatched"
        self.syntax(token, f"{word} input '{token.text}' expecting <EOF>")

    def issue(self, pos: int, message: str) -> Issue:
        """A complaint about a place."""
        return Issue(*locate(self.source, pos), message)

    def report(self, pos: int, message: str) -> Expr:
        """Note a complaint; the node stands for what could not be read."""
        self.issues.append(self.issue(pos, message))
        return Literal_(pos, None, type=ERROR)

    def syntax(self, token: Token, message: str) -> None:
        """Note a complaint about the grammar."""
        self.issues.append(self.issue(token.pos, f"Syntax error: {message}"))

    def report_too_deep(self, pos: int) -> NoReturn:
        """Give up: later stages could not follow."""
        self.report(pos, f"expression recursion limit exceeded: {MAX_DEPTH}")
        raise Abort

    def report_stray_dot(self, seen: str) -> NoReturn:
        """Give up: a dot is not followed by a name."""
        shown = "" if self.token.kind == "EOF" else self.token.text
        if self.token.kind in ("true", "false", "null", "in"):
            self.syntax(self.token, f"mismatched input '{shown}' expecting IDENTIFIER")
            raise Abort
        before = self.source[: self.token.pos]
        space = before[len(before.rstrip()) :] if shown else ""
        self.syntax(self.token, f"no viable alternative at input '{seen}{space}{shown}'")
        raise Abort
