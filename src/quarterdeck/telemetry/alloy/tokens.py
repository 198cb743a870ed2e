"""The tokens of Alloy's syntax, under the names its error messages use."""

import enum
from typing import NamedTuple


class Kind(enum.StrEnum):
    """The kind of a token; the value is its name in messages."""

    EOF = "EOF"
    TERMINATOR = "TERMINATOR"
    IDENT = "IDENT"
    NULL = "NULL"
    BOOL = "BOOL"
    NUMBER = "NUMBER"
    FLOAT = "FLOAT"
    STRING = "STRING"
    OR = "||"
    AND = "&&"
    NOT = "!"
    ASSIGN = "="
    EQ = "=="
    NEQ = "!="
    LT = "<"
    LTE = "<="
    GT = ">"
    GTE = ">="
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"
    POW = "^"
    LCURLY = "{"
    RCURLY = "}"
    LPAREN = "("
    RPAREN = ")"
    LBRACK = "["
    RBRACK = "]"
    COMMA = ","
    DOT = "."


class Position(NamedTuple):
    """Line and column, both counted from 1; columns count characters."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class Token(NamedTuple):
    """One token: its text as written, and where it starts."""

    kind: Kind
    text: str
    position: Position


class AlloyError(ValueError):
    """Raised when a text is not an Alloy configuration; has the cause and the position."""

    def __init__(self, problem: str, position: Position) -> None:
        super().__init__(f"line {position.line}, column {position.column}: {problem}")
        self.problem = problem
        self.position = position
