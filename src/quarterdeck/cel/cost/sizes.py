"""How large the values of an expression may be: what its cost is reckoned from.

Sizes come from the schema and, where it says nothing, from the largest request there can be.
"""

from quarterdeck.cel.cost.units import ONE, UNKNOWN, Range
from quarterdeck.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal_, MapExpr
from quarterdeck.cel.types import SCALARS, Type, is_optional

_GROWTH = 32
"""How much longer than its arguments we assume the result of an unknown function to be."""
_LOOKS = frozenset({"_[_]", "_[?_]", "_?._"})
"""Calls that find data rather than make it."""


class Sizes:
    """Sizes and declarations found so far, by node.

    `root` is the declared type of the data; Kubernetes reads from it the size of whatever has no
    declaration of its own. `cap` bounds every size, for a caller who knows how large the data is.
    """

    __slots__ = ("_cap", "_declared", "_made", "root", "scopes")

    def __init__(self, root: Type | None, cap: int | None) -> None:
        self.root = root
        self.scopes: list[dict[str, Type | None]] = []
        """What the variables of macros lead to, innermost last."""
        self._cap = cap
        self._made: dict[int, Range] = {}
        self._declared: dict[int, Type | None] = {}

    def of(self, node: Expr) -> Range:
        """How large a value may be."""
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
        """The size of what is written down or was computed, without a look at declarations."""
        if (made := self._made.get(id(node))) is not None:
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
        """Type and size of a list's elements; without a type it is no list."""
        if not node.type.params:
            return None, UNKNOWN
        declared = self._declared.get(id(node))
        element = declared.params[0] if declared is not None and declared.params else None
        size = self._read_declared(element) if element is not None and element.min_size else UNKNOWN
        return node.type.params[0], self._apply_cap(size)

    def record(self, node: Expr, size: Range) -> None:
        """Note the size of a result."""
        self._made[id(node)] = size

    def find_declaration(self, node: Expr) -> Type | None:
        """The declaration a node leads to, as far as one was followed."""
        return self._declared.get(id(node))

    def declare(self, node: Expr, declared: Type | None) -> None:
        """Note the declaration that a node leads to: sizes are read from it."""
        self._declared[id(node)] = declared

    def resolve(self, node: Ident) -> Type | None:
        """The declaration a name leads to."""
        for names in reversed(self.scopes):
            if node.name in names:
                return names[node.name]
        return node.type if node.type_value is None else self.root

    def _read_declared(self, declared: Type) -> Range:
        """What a declaration says; Kubernetes counts keys and objects as nothing."""
        if self._cap is not None and not declared.max_elements and not _is_scalar(declared):
            return UNKNOWN
        return Range(0, declared.max_elements)

    def _apply_cap(self, size: Range, growth: int = 1) -> Range:
        """No larger than the data, or than what a function may make of it."""
        if self._cap is None:
            return size
        most = self._cap * growth
        return Range(min(size.min, most), min(size.max, most))


def _is_scalar(type_: Type) -> bool:
    if is_optional(type_):
        return _is_scalar(type_.params[0])
    return type_.kind in SCALARS
