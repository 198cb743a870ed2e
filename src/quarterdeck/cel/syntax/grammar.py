"""Reserved words, operators, and the tokens that begin an expression."""

from collections.abc import Mapping

RESERVED = frozenset([
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in",
    "let", "loop", "package", "namespace", "null", "return", "true", "var", "void", "while",
])  # fmt: skip
"""Words that may not be names of variables."""

PRECEDENCES: Mapping[str, int] = {
    "||": 1, "&&": 2,
    "<": 3, "<=": 3, ">=": 3, ">": 3, "==": 3, "!=": 3, "in": 3,
    "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip
"""The precedence of binary operators."""
FUNCTIONS: Mapping[str, str] = {sign: f"_{sign}_" for sign in PRECEDENCES} | {"in": "@in"}
"""The function of each binary operator."""
LOGICAL = 2
"""The highest precedence of the logical operators, `||` and `&&`."""

FIRST = frozenset([
    "[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT",
    "STRING", "BYTES", "IDENTIFIER",
])  # fmt: skip
"""Kinds of token an expression may start with."""
