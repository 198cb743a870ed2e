"""Tests for forms of expressions and types that the interpreter or compiler treats specially."""

from quarterdeck.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal_, MapExpr, Select
from quarterdeck.cel.types import Kind, Type


def is_path(node: Expr) -> bool:
    """Whether a value is read from the data: a name, a field or an index."""
    return isinstance(node, Ident | Select) or (isinstance(node, Call) and node.function == "_[_]")


_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"}
)


def is_constant(node: Expr) -> bool:
    """Whether the value of an expression does not depend on the data."""
    match node:
        case Literal_():
            return True
        case ListExpr():
            return not node.optional and all(map(is_constant, node.elements))
        case MapExpr():
            return all(
                not entry.optional and is_constant(entry.key) and is_constant(entry.value)
                for entry in node.entries
            )
        case Call():
            return (
                node.function in _CONVERSIONS
                and len(node.args) == 1
                and node.target is None
                and is_constant(node.args[0])
            )
    return False


def is_small(node: Expr) -> bool:
    """Whether an integer is so small that one operation cannot overflow."""
    if isinstance(node, Literal_):
        return isinstance(node.value, int) and abs(node.value) < 1 << 31
    return isinstance(node, Call) and node.function == "size"


_NUMERIC = frozenset({Kind.INT, Kind.UINT, Kind.DOUBLE})
_ORDERED = _NUMERIC | {Kind.BOOL, Kind.STRING, Kind.BYTES, Kind.DURATION, Kind.TIMESTAMP}


def is_comparable(left: Type, right: Type) -> bool:
    """Whether Python orders values of these types as CEL does."""
    if left.kind is right.kind:
        return left.kind in _ORDERED
    return left.kind in _NUMERIC and right.kind in _NUMERIC


def has_python_equality(type_: Type) -> bool:
    """Whether Python's equality is CEL's for values of this type."""
    match type_.kind:
        case Kind.INT | Kind.STRING | Kind.BOOL | Kind.BYTES | Kind.UINT | Kind.DOUBLE:
            return True
        case Kind.TIMESTAMP | Kind.DURATION | Kind.NULL:
            return True
        case Kind.LIST:
            return not type_.special and not type_.convert and _is_exact(type_.params[0])
        case Kind.MAP:
            return not type_.special and not type_.convert and _is_exact(type_.params[1])
    return False


def _is_exact(type_: Type) -> bool:
    return type_.kind in (Kind.INT, Kind.STRING, Kind.BOOL)
