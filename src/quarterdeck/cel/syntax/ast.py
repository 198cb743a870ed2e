"""The syntax tree.

Nodes have the offset of the token that error messages point at, and the types that the checker
found. Macros are nodes here (`Comprehension`, `OptionalMap`), not folds as in cel-go: every later
stage handles each macro in its own way.
"""

from typing import Literal

import msgspec

from quarterdeck.cel.types import DYN, Type

ComprehensionKind = Literal[
    "all", "exists", "exists_one", "map", "filter", "transform_list", "transform_map",
    "transform_map_entry",
]  # fmt: skip


class _Placed(msgspec.Struct, eq=False):
    """An element of the source with its offset."""

    pos: int


class Expr(_Placed, eq=False, kw_only=True):
    """A node of the tree; the checker sets `type`."""

    type: Type = DYN


class Literal_(Expr, eq=False):
    """A constant; its type distinguishes, for example, int and uint."""

    value: object


class Ident(Expr, eq=False):
    """A name: a variable, or a type when `type_value` is set."""

    name: str
    absolute: bool = False
    type_value: Type | None = None


class Select(Expr, eq=False):
    """`operand.field`, or `has(operand.field)`.

    `member` is the stored name when the operand is a struct. A select that turned out to be part
    of a qualified name has `ident` set and no other meaning.
    """

    operand: Expr
    field: str
    member: str
    test: bool = False
    ident: Ident | None = None


class Call(Expr, eq=False):
    """A function or operator; `target` is set for `target.function(args)`."""

    function: str
    args: list[Expr]
    target: Expr | None = None
    overloads: tuple[str, ...] = ()

    @property
    def operands(self) -> list[Expr]:
        """Target, if any, and arguments."""
        return [self.target, *self.args] if self.target is not None else self.args


class ListExpr(Expr, eq=False):
    """`[a, ?b]`."""

    elements: list[Expr]
    optional: frozenset[int]


class Entry(_Placed, eq=False):
    """`key: value` of a map or message."""

    key: Expr
    value: Expr
    optional: bool


class MapExpr(Expr, eq=False):
    """`{k: v, ?k: v}`."""

    entries: list[Entry]


class MessageExpr(Expr, eq=False):
    """`Name{field: value}`; parsed, and refused by the checker unless the type is known."""

    name: str
    entries: list[Entry]


class Comprehension(Expr, eq=False, kw_only=True):
    """A macro that walks a list or map."""

    kind: ComprehensionKind
    range: Expr
    var: str
    var2: str
    condition: Expr | None
    step: Expr | None


class OptionalMap(Expr, eq=False, kw_only=True):
    """`target.optMap(var, body)`; `flat` for `optFlatMap`."""

    target: Expr
    var: str
    body: Expr
    flat: bool


def children(node: Expr) -> list[Expr]:
    """The child nodes of a node."""
    match node:
        case Select():
            return [node.operand] if node.ident is None else []
        case Call():
            return node.operands
        case ListExpr():
            return node.elements
        case MapExpr() | MessageExpr():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case Comprehension():
            parts = (node.range, node.condition, node.step)
            return [part for part in parts if part is not None]
        case OptionalMap():
            return [node.target, node.body]
    return []


def is_deeper(tree: Expr, limit: int) -> bool:
    """Whether a tree has more than `limit` levels; not recursive, since it may be very deep."""
    todo = [(tree, 1)]
    while todo:
        node, depth = todo.pop()
        if depth > limit:
            return True
        todo += [(part, depth + 1) for part in children(node)]
    return False
