"""Property names as CEL identifiers, and back."""

import re

_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_SIMPLE = re.compile(r"[A-Za-z_](?:_?[A-Za-z0-9])*_?\Z")
_SUPPORTED = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*\Z")
_PARTS = re.compile(r"__|[./-]")
_WORDS = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """The CEL identifier of a property; None if rules cannot access the property."""
    if name in _RESERVED:
        return f"__{name}__"
    if _SIMPLE.match(name):
        return name
    if not _SUPPORTED.match(name):
        return None
    return _PARTS.sub(lambda found: _WORDS[found[0]], name)


def is_word(name: str) -> bool:
    """Whether a reserved name is allowed after a dot: all but `true`, `false`, `null` and `in`."""
    return name in _RESERVED and name not in ("true", "false", "null", "in")
