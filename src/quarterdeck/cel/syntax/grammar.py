"""What the grammar allows where, as cel-go's parser generator words it."""

from collections.abc import Mapping

RESERVED = frozenset([
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
    "let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while",
])  # fmt: skip
"""Words that may not be names of variables."""

STRENGTHS: Mapping[str, int] = {
    "||": 1, "&&": 2,
    "<": 3, "<=": 3, ">=": 3, ">": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip
"""Binary operators, and how tightly they bind."""
FUNCTIONS: Mapping[str, str] = {sign: f"_{sign}_" for sign in STRENGTHS} | {"in": "@in"}
"""The function each binary operator stands for."""
LOGICAL = 2
"""Operators no stronger than this decide by one side alone."""

_WORDS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
STARTS = f"{{'[', '{{', '(', '.', '-', '!', {_WORDS}}}"
"""What an expression may start with."""
MAP_STARTS = f"{{'[', '{{', '}}', '(', '.', ',', '-', '!', '?', {_WORDS}}}"
"""What may follow the brace of a map."""
LIST_STARTS = f"{{'[', ']', '{{', '(', '.', ',', '-', '!', '?', {_WORDS}}}"
"""What may follow the bracket of a list."""
CALL_STARTS = f"{{'[', '{{', '(', ')', '.', '-', '!', {_WORDS}}}"
"""What may follow the parenthesis of a call."""
FIRST = frozenset([
    "[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT",
    "STRING", "BYTES", "IDENTIFIER",
])  # fmt: skip
"""Kinds of token an expression may start with."""
