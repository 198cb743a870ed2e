"""The sizes that values of an expression may have; its estimated cost is computed from them.

Sizes come from the schema; where it has no limit, the size of the largest request is the limit.
"""

from quarterdeck.cel.cost.units import ONE, UNKNOWN, Range
from quarterdeck.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal_, MapExpr
from quarterdeck.cel.types import SCALARS, Type, is_optional

_GROWTH = 32
"""Limit of the result of a call without a known size, as a multiple of the cap."""
_LOOKS = frozenset({"_[_]", "_[?_]", "_?._"})
"""Calls that return a part of the data, so that their result is not larger than the data."""


class Sizes:
    """Sizes and declarations found so far, by node.

    `root` is the declared type of the data; Kubernetes uses its size for values without a declared
    type. `cap` limits every size; it is set if the size of the data is known.
    """

    __slots__ = ("_cap", "_declared", "_recorded", "root", "scopes")

    def __init__(self, root: Type | None, cap: int | None) -> None:
        self.root = root
        self.scopes: list[dict[str, Type | None]] = []
        """The declared types of the variables of macros, innermost macro last."""
        self._cap = cap
        self._recorded: dict[int, Range] = {}
        self._declared: dict[int, Type | None] = {}

    def estimate(self, node: Expr) -> Range:
        """The minimum and maximum size of a value."""
        if (size := self.find_exact(node)) is not None:
            return size
        declared = self._declared.get(id(node))
        if declared is not None and declared.min_size:
            return self._apply_cap(self._read_declared(declared))
        if _is_scalar(node.type):
            return ONE
        is_made = isinstance(node, Call) and node.function not in _LOOKS
        return self._apply_cap(UNKNOWN, growth=_GROWTH if is_made else 1)

    def find_exact(self, node: Expr) -> Range | None:
        """The size of a literal, or the recorded size of a result; None for any other node."""
        if (made := self._recorded.get(id(node))) is not None:
            return made
        match node:
            case Literal_():
                amount = len(node.value) if isinstance(node.value, str | bytes) else 1
            case ListExpr():
                amount = len(node.elements)
            case MapExpr():
                amount = len(node.entries)
            case _:
                return None
        return Range(amount, amount)

    def find_element(self, node: Expr) -> tuple[Type | None, Range]:
        """Type and size of the elements of a list; the type is None if the node is not a list."""
        if not node.type.params:
            return None, UNKNOWN
        declared = self._declared.get(id(node))
        element = declared.params[0] if declared is not None and declared.params else None
        size = self._read_declared(element) if element is not None and element.min_size else UNKNOWN
        return node.type.params[0], self._apply_cap(size)

    def record(self, node: Expr, size: Range) -> None:
        """Note the size of a result."""
        self._recorded[id(node)] = size

    def find_declaration(self, node: Expr) -> Type | None:
        """The declared type that was recorded for a node; None if there is none."""
        return self._declared.get(id(node))

    def declare(self, node: Expr, declared: Type | None) -> None:
        """Record the declared type of a node, from which its size is read."""
        self._declared[id(node)] = declared

    def resolve(self, node: Ident) -> Type | None:
        """The declared type of a name."""
        for names in reversed(self.scopes):
            if node.name in names:
                return names[node.name]
        return node.type if node.type_value is None else self.root

    def _read_declared(self, declared: Type) -> Range:
        """The size that a type declares; Kubernetes gives keys and objects the size 0."""
        if self._cap is not None and not declared.max_elements and not _is_scalar(declared):
            return UNKNOWN
        return Range(0, declared.max_elements)

    def _apply_cap(self, size: Range, growth: int = 1) -> Range:
        """Limit a size to `growth` times the size of the data, if that is known."""
        if self._cap is None:
            return size
        most = self._cap * growth
        return Range(min(size.min, most), min(size.max, most))


def _is_scalar(type_: Type) -> bool:
    if is_optional(type_):
        return _is_scalar(type_.params[0])
    return type_.kind in SCALARS
