"""Chains of names that are one name: `net.IP`, `strings.quote`."""

from quarterdeck.cel.syntax.ast import Expr, Ident, Select
from quarterdeck.cel.types import NAMED_TYPES, Type

_LAST = frozenset(name.rpartition(".")[2] for name in NAMED_TYPES if "." in name)
"""What the qualified name of a type may end with: most selections need no second look."""


def find_named_type(node: Select) -> Type | None:
    """The type a selection names, if it does."""
    if node.field not in _LAST or node.test:
        return None
    return NAMED_TYPES.get(build_qualified_name(node))


def build_qualified_name(node: Expr) -> str:
    """`a.b.c` when the node is a chain of names, else nothing."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return ""
    return ".".join([node.name, *reversed(parts)])
