"""The token stream that the parser reads, and the issues found."""

from typing import NamedTuple, NoReturn

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


class SyntaxIssue(NamedTuple):
    """An error message and the token it is about."""

    token: Token
    message: str


class Unexpected(Exception):
    """Raised when the current token is not allowed here."""


class TooDeep(Exception):
    """Raised when the nesting is too deep for later stages; the issue has been recorded."""


class TokenStream:
    """The tokens of a source, and the issues found so far."""

    def __init__(self, source: str, *, has_escapes: bool) -> None:
        self.source = source
        self.tokens, self.skipped = tokenize(source, has_escapes=has_escapes)
        self.issues: list[Issue] = []
        self.at = 0
        self.token = self.tokens[0]
        """The current token."""
        self.depth = 0

    def take(self, count: int = 1) -> Token:
        """Consume `count` tokens; returns the first of them."""
        token = self.token
        self.at += count
        self.token = self.tokens[self.at]
        return token

    def peek_next(self) -> str:
        """The kind of the token after the current one, which must not be the last."""
        return self.tokens[self.at + 1].kind

    def accept(self, kind: str) -> Token | None:
        """Consume and return the current token if it is of this kind, else None."""
        return self.take() if self.token.kind == kind else None

    def expect(self, kind: str) -> Token:
        """Consume and return the current token, which must be of this kind."""
        if self.token.kind != kind:
            raise Unexpected
        return self.take()

    def finish(self) -> None:
        """Check that all tokens are consumed."""
        if self.token.kind != "EOF":
            raise Unexpected

    def issue(self, pos: int, message: str) -> Issue:
        """Build an issue with the line and column of an offset."""
        return Issue(*locate(self.source, pos), message)

    def report(self, pos: int, message: str) -> Expr:
        """Record an issue; returns a node of the error type, so that parsing continues."""
        self.issues.append(self.issue(pos, message))
        return Literal_(pos, None, type=ERROR)

    def report_too_deep(self, pos: int) -> NoReturn:
        """Record that the nesting is too deep for later stages, and raise `TooDeep`."""
        self.report(pos, f"expression recursion limit exceeded: {MAX_DEPTH}")
        raise TooDeep
