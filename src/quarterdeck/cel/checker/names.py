"""Qualified names, which are parsed as field selections: `net.IP`, `strings.quote`."""

from quarterdeck.cel.syntax.ast import Expr, Ident, Select
from quarterdeck.cel.types import NAMED_TYPES, Type

_LAST = frozenset(name.rpartition(".")[2] for name in NAMED_TYPES if "." in name)
"""The last parts of qualified type names, to rule out most selections by one look-up."""


def find_named_type(node: Select) -> Type | None:
    """The type whose qualified name a selection is; None if it is not one."""
    if node.field not in _LAST or node.test:
        return None
    return NAMED_TYPES.get(build_qualified_name(node))


def build_qualified_name(node: Expr) -> str:
    """`a.b.c` if the node consists of selections on a name, else an empty string."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return ""
    return ".".join([node.name, *reversed(parts)])
