"""The tree of an Alloy configuration.

Positions do not take part in comparison: two trees are equal when the configurations mean the
same, however they are formatted.
"""

import msgspec

from quarterdeck.telemetry.alloy.tokens import Position

_NOWHERE = Position(0, 0)


class Where:
    """A position that equals every other, so that trees compare by meaning."""

    __slots__ = ("position",)

    def __init__(self, position: Position = _NOWHERE) -> None:
        self.position = position

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Where)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return str(self.position)


_ANYWHERE = Where()


class Literal(msgspec.Struct, frozen=True, eq=False):
    """A number, string, bool or null; the value, not its spelling."""

    value: str | float | bool | None
    where: Where = _ANYWHERE

    def __eq__(self, other: object) -> bool:
        """Whether it has the same value; `true` is not 1, as it is in Python."""
        if not isinstance(other, Literal):
            return False
        is_bool = isinstance(self.value, bool)
        return is_bool is isinstance(other.value, bool) and self.value == other.value

    def __hash__(self) -> int:
        """Hash the value."""
        return hash(self.value)


class Name(msgspec.Struct, frozen=True):
    """An identifier."""

    name: str
    where: Where = _ANYWHERE


class Array(msgspec.Struct, frozen=True):
    """`[a, b]`."""

    items: "tuple[Expression, ...]"
    where: Where = _ANYWHERE


class Object(msgspec.Struct, frozen=True):
    """`{a = 1, "b c" = 2}`."""

    fields: "tuple[tuple[str, Expression], ...]"
    where: Where = _ANYWHERE


class Access(msgspec.Struct, frozen=True):
    """`a.b`."""

    target: "Expression"
    name: str
    where: Where = _ANYWHERE


class Index(msgspec.Struct, frozen=True):
    """`a[b]`."""

    target: "Expression"
    index: "Expression"
    where: Where = _ANYWHERE


class Call(msgspec.Struct, frozen=True):
    """`f(a, b)`."""

    function: "Expression"
    arguments: "tuple[Expression, ...]"
    where: Where = _ANYWHERE


class Unary(msgspec.Struct, frozen=True):
    """`-a`, `!a`."""

    operator: str
    operand: "Expression"
    where: Where = _ANYWHERE


class Binary(msgspec.Struct, frozen=True):
    """`a + b`."""

    operator: str
    left: "Expression"
    right: "Expression"
    where: Where = _ANYWHERE


class Attribute(msgspec.Struct, frozen=True):
    """`name = expression`."""

    name: str
    value: "Expression"
    where: Where = _ANYWHERE


class Block(msgspec.Struct, frozen=True):
    """`name.parts "label" { … }`."""

    name: str
    label: str
    body: "tuple[Statement, ...]"
    where: Where = _ANYWHERE

    def blocks(self) -> "list[Block]":
        """The blocks directly inside."""
        return [each for each in self.body if isinstance(each, Block)]


Expression = Literal | Name | Array | Object | Access | Index | Call | Unary | Binary
Statement = Attribute | Block
