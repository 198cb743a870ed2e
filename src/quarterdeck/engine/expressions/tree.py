"""The tree of an expression. Every node has its position in the text."""

from typing import TypeAlias

import msgspec


class Node(msgspec.Struct, frozen=True, gc=False):
    """Base of all nodes: the position in the text."""

    position: int


class Literal(Node, frozen=True):
    """A number, a text, true, false or null."""

    value: float | str | bool | None


class Name(Node, frozen=True):
    """A field or computed field."""

    name: str


class Unary(Node, frozen=True):
    """`!x` or `-x`."""

    operator: str
    operand: "Expression"


class Binary(Node, frozen=True):
    """Arithmetic or a comparison."""

    operator: str
    left: "Expression"
    right: "Expression"


class Chain(Node, frozen=True):
    """`a && b && c`, `a || b`, `a ?? b`: flat, so that long lists are not deep."""

    operator: str
    operands: tuple["Expression", ...]


class Condition(Node, frozen=True):
    """`test ? then : otherwise`."""

    test: "Expression"
    then: "Expression"
    otherwise: "Expression"


class Call(Node, frozen=True):
    """A function with its arguments."""

    function: str
    arguments: tuple["Expression", ...]


Expression: TypeAlias = Literal | Name | Unary | Binary | Chain | Condition | Call


def list_children(node: Expression) -> tuple[Expression, ...]:
    """The direct children of a node."""
    match node:
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Chain(operands=operands):
            return operands
        case Condition(test=test, then=then, otherwise=otherwise):
            return (test, then, otherwise)
        case Call(arguments=arguments):
            return arguments
        case _:
            return ()


def list_age_arguments(node: Expression) -> tuple[str, ...]:
    """List the names that are direct arguments of `age`, each once."""
    found: dict[str, None] = {}
    stack: list[Expression] = [node]
    while stack:
        at = stack.pop()
        match at:
            case Call(function="age", arguments=(Name(name=name),)):
                found[name] = None
        stack.extend(list_children(at))
    return tuple(sorted(found))


def find_names(node: Expression) -> dict[str, int]:
    """Find every name, with the position where it is first used."""
    found: dict[str, int] = {}
    stack: list[Expression] = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, Name):
            found[at.name] = min(at.position, found.get(at.name, at.position))
        stack.extend(list_children(at))
    return found
