"""The syntax tree.

Nodes carry the offset of the token that error messages point at, and what the checker found out.
Macros stay macros here (`Comprehension`, `OptionalMap`): every later stage wants to know what was
meant rather than a fold.
"""

from typing import Literal

from quarterdeck.cel.types import DYN, Type

ComprehensionKind = Literal[
    "all", "exists", "exists_one", "map", "filter", "transform_list", "transform_map",
    "transform_map_entry",
]  # fmt: skip


class Expr:
    """Any node."""

    __slots__ = ("pos", "type")

    def __init__(self, pos: int) -> None:
        self.pos = pos
        self.type: Type = DYN


class Literal_(Expr):
    """A constant; `kind` tells int from uint and so on."""

    __slots__ = ("value",)

    def __init__(self, pos: int, value: object, type_: Type) -> None:
        super().__init__(pos)
        self.value = value
        self.type = type_


class Ident(Expr):
    """A name: a variable, or a type when `type_value` is set."""

    __slots__ = ("absolute", "name", "type_value")

    def __init__(self, pos: int, name: str, *, absolute: bool = False) -> None:
        super().__init__(pos)
        self.name = name
        self.absolute = absolute
        self.type_value: Type | None = None


class Select(Expr):
    """`operand.field`, `operand.?field`, or `has(operand.field)`.

    `member` is the stored name when the operand is a struct. A select that turned out to be part
    of a qualified name has `ident` set and no other meaning.
    """

    __slots__ = ("field", "ident", "member", "operand", "optional", "test")

    def __init__(self, pos: int, operand: Expr, field: str) -> None:
        super().__init__(pos)
        self.operand = operand
        self.field = field
        self.member = field
        self.test = False
        self.optional = False
        self.ident: Ident | None = None


class Call(Expr):
    """A function or operator; `target` is set for `target.function(args)`."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(self, pos: int, function: str, args: list[Expr], target: Expr | None = None):
        super().__init__(pos)
        self.function = function
        self.args = args
        self.target = target
        self.overloads: tuple[str, ...] = ()

    @property
    def operands(self) -> list[Expr]:
        """Target, if any, and arguments."""
        return [self.target, *self.args] if self.target is not None else self.args


class ListExpr(Expr):
    """`[a, ?b]`."""

    __slots__ = ("elements", "optional")

    def __init__(self, pos: int, elements: list[Expr], optional: frozenset[int]) -> None:
        super().__init__(pos)
        self.elements = elements
        self.optional = optional


class Entry:
    """`key: value` of a map or message."""

    __slots__ = ("key", "optional", "pos", "value")

    def __init__(self, pos: int, key: Expr, value: Expr, *, optional: bool) -> None:
        self.pos = pos
        self.key = key
        self.value = value
        self.optional = optional


class MapExpr(Expr):
    """`{k: v, ?k: v}`."""

    __slots__ = ("entries",)

    def __init__(self, pos: int, entries: list[Entry]) -> None:
        super().__init__(pos)
        self.entries = entries


class MessageExpr(Expr):
    """`Name{field: value}`; parsed, and refused by the checker unless the type is known."""

    __slots__ = ("entries", "name")

    def __init__(self, pos: int, name: str, entries: list[Entry]) -> None:
        super().__init__(pos)
        self.name = name
        self.entries = entries


class Comprehension(Expr):
    """A macro that walks a list or map."""

    __slots__ = ("condition", "kind", "range", "step", "var", "var2")

    def __init__(
        self,
        pos: int,
        kind: ComprehensionKind,
        range_: Expr,
        *,
        var: str,
        var2: str,
        condition: Expr | None,
        step: Expr | None,
    ) -> None:
        super().__init__(pos)
        self.kind = kind
        self.range = range_
        self.var = var
        self.var2 = var2
        self.condition = condition
        self.step = step


class OptionalMap(Expr):
    """`target.optMap(var, body)`; `flat` for `optFlatMap`."""

    __slots__ = ("body", "flat", "target", "var")

    def __init__(self, pos: int, target: Expr, var: str, body: Expr, *, flat: bool) -> None:
        super().__init__(pos)
        self.target = target
        self.var = var
        self.body = body
        self.flat = flat


def children(node: Expr) -> list[Expr]:
    """The nodes directly below."""
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
