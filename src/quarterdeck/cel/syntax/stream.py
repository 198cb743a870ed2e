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
        self.issues = [self.issue(pos, f"Syntax error: {message}") for pos, message in skipped]
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """The token at hand, done with."""
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, kind: str) -> Token | None:
        """The token at hand if it is of this kind, done with."""
        return self.take() if self.tokens[self.at].kind == kind else None

    def expect(self, kind: str) -> Token:
        """The same, or a complaint."""
        if (token := self.accept(kind)) is not None:
            return token
        text = self.token.text
        if self.token.kind == "EOF":
            self.syntax(self.token, f"missing '{kind}' at '<EOF>'")
        elif self.tokens[self.at + 1].kind == kind:
            self.syntax(self.token, f"extraneous input '{text}' expecting '{kind}'")
            self.at += 1
            return self.take()
        else:
            self.syntax(self.token, f"mismatched input '{text}' expecting '{kind}'")
        raise Abort

    def finish(self) -> None:
        """Nothing may be left."""
        token = self.token
        if token.kind == "EOF":
            return
        single = self.tokens[self.at + 1].kind == "EOF"
        word = "extraneous" if single else "mismatched"
        self.syntax(token, f"{word} input '{token.text}' expecting <EOF>")

    def issue(self, pos: int, message: str) -> Issue:
        """A complaint about a place."""
        return Issue(*locate(self.source, pos), message)

    def report(self, pos: int, message: str) -> Expr:
        """Note a complaint; the node stands for what could not be read."""
        self.issues.append(self.issue(pos, message))
        return Literal_(pos, None, ERROR)

    def syntax(self, token: Token, message: str) -> None:
        """Note a complaint about the grammar."""
        self.issues.append(self.issue(token.pos, f"Syntax error: {message}"))

    def too_deep(self, pos: int) -> NoReturn:
        """Give up: later stages could not follow."""
        self.report(pos, f"expression recursion limit exceeded: {MAX_DEPTH}")
        raise Abort

    def stray_dot(self, seen: str) -> NoReturn:
        """Give up: a dot is not followed by a name."""
        shown = "" if self.token.kind == "EOF" else self.token.text
        if self.token.kind in ("true", "false", "null", "in"):
            self.syntax(self.token, f"mismatched input '{shown}' expecting IDENTIFIER")
            raise Abort
        self.syntax(self.token, f"no viable alternative at input '{seen}{shown}'")
        raise Abort
