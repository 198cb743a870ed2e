"""The JSON members of Go structs, and the zero values that Go writes for them."""

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from quarterdeck.meta.builtins import table

INTEGER_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
}
RESOURCE_LIST = "core/v1.ResourceList"
_UNROUNDED = frozenset({"node/v1.Overhead"})
"""Structs whose resource quantities Kubernetes does not round."""


class Member(msgspec.Struct, frozen=True):
    """A field as JSON sees it, with inlined structs already flattened."""

    name: str
    type: str
    omit_empty: bool
    omit_zero: bool
    zero: Callable[[], Any]
    pointer: bool


@functools.cache
def list_members(name: str) -> tuple[Member, ...]:
    """The JSON members of a struct type, in the order Go writes them."""
    found: list[Member] = []
    for field in table.get_type(name).fields:
        if not field.name:
            found += list_members(field.type.lstrip("*#"))
            continue
        found.append(
            Member(
                name=field.name,
                type=_get_type(name, field.type),
                omit_empty=field.omit_empty,
                omit_zero=field.omit_zero,
                zero=_build_zero_factory(field.type),
                pointer=field.type.startswith("*"),
            )
        )
    return tuple(found)


def _get_type(struct: str, expression: str) -> str:
    """Return the type of a field; a resource list that is not rounded is a plain map."""
    if struct in _UNROUNDED and expression == f"#{RESOURCE_LIST}":
        return table.get_type(RESOURCE_LIST).alias
    return expression


def build_zero_struct(name: str) -> dict[str, Any]:
    """Build an empty struct as Go encodes it: with the members that are never omitted."""
    return {member: build_zero() for member, build_zero in _list_zero_members(name)}


@functools.cache
def _list_zero_members(name: str) -> tuple[tuple[str, Callable[[], Any]], ...]:
    """List the members of an empty struct, with the functions that make their values."""
    return tuple(
        (member.name, member.zero) for member in list_members(name) if is_always_written(member)
    )


def is_always_written(member: Member) -> bool:
    """Whether Go writes a member also when it is zero."""
    if member.omit_zero:
        return False
    return not member.omit_empty or _is_struct(member.type)


def build_item_zero(expression: str) -> Callable[[], Any]:
    """Build a function that makes the zero value of a list item or map value; bytes are empty."""
    return (lambda: "") if expression == "bytes" else _build_zero_factory(expression)


def _build_zero_factory(expression: str) -> Callable[[], Any]:
    """Build a function that makes the zero value of a type as Go encodes it."""
    if expression.startswith("#") and _is_struct(expression):
        name = expression[1:]
        if name not in table.SPECIAL:
            return lambda: build_zero_struct(name)
        constant = {"Quantity": "0", "IntOrString": 0, "Duration": "0s"}.get(
            name.rpartition(".")[2]
        )
        return lambda: constant
    base = expression
    if base.startswith("#"):
        base = table.get_type(base[1:]).alias
    value: Any = {"string": "", "bool": False, "bytes": None}.get(base)
    if base in INTEGER_RANGES or base == "float64":
        value = 0
    return lambda: value


@functools.cache
def _is_struct(expression: str) -> bool:
    """Whether a type is a struct and not a pointer to one: `omitempty` has no effect on it."""
    if not expression.startswith("#"):
        return False
    name = expression[1:]
    return name in table.SPECIAL or not table.get_type(name).alias
