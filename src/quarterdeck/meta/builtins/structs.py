"""JSON through a Go struct and back, as the real server's decoder does it.

A body of a built-in kind loses what the struct has no field for, nulls and empty values that are
omitted, and gains the zero values that are not. Types are compiled once into closures; a first
pass only notices that something is unknown, and paths are computed when they are asked for.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from quarterdeck.meta.builtins import special, table
from quarterdeck.meta.builtins.special import Mismatch, name_json_kind

type_ = type
Decoder = Callable[[Any], Any]
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "int": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "uint16": (0, 2**16 - 1),
    "int16": (-(2**15), 2**15 - 1),
}


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
    """The type of a field; amounts that are not rounded have that of plain maps."""
    if struct in _UNROUNDED and expression == f"#{_RESOURCE_LIST}":
        return table.get_type(_RESOURCE_LIST).alias
    return expression


@functools.cache
def build_decoder(expression: str) -> Decoder:
    """The function that takes a JSON value through a Go type; it raises `Mismatch`.

    A struct finds its members when it is first used, so types may hold themselves.
    """
    if expression.startswith("*"):
        return build_decoder(expression[1:])
    if expression.startswith("[]"):
        return _build_slice(expression)
    if expression.startswith("{}"):
        return _build_map(expression)
    if expression.startswith("#"):
        return _build_named(expression[1:])
    return _build_scalar(expression, expression)


def _build_named(name: str) -> Decoder:
    if name in table.SPECIAL:
        return _SPECIALS.get(name.rpartition(".")[2], special.decode_any)
    found = table.get_type(name)
    if not found.alias:
        return _build_struct(name)
    if name == _RESOURCE_LIST:
        return _build_resource_list(build_decoder(found.alias))
    if found.alias.startswith(("[]", "{}")):
        return build_decoder(found.alias)
    return _build_scalar(found.alias, table.to_go_name(name))


def _build_resource_list(decode: Decoder) -> Decoder:
    """Amounts of resources are rounded up to thousandths where Kubernetes sets defaults."""

    def read(value: Any) -> Any:
        found = decode(value)
        for name, amount in (found or {}).items():
            if amount[-1] in "nu" or "e-" in amount:
                found[name] = special.round_quantity(amount)
        return found

    return read


def _decode_schema_or_list(value: Any) -> Any:
    """A JSON schema, or a list of them (`items`)."""
    if isinstance(value, list):
        return [build_decoder(_SCHEMA)(part) for part in value]
    return build_decoder(_SCHEMA)(value) if isinstance(value, dict) else None


def _decode_schema_or_bool(value: Any) -> Any:
    """A JSON schema, or true or false (`additionalProperties`)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return build_decoder(_SCHEMA)(value)
    raise Mismatch(text="boolean or JSON schema expected", fatal=True)


def _decode_schema_or_strings(value: Any) -> Any:
    """A JSON schema, or a list of strings (`dependencies`)."""
    if isinstance(value, list):
        return build_decoder("[]string")(value)
    return build_decoder(_SCHEMA)(value) if isinstance(value, dict) else None


_RESOURCE_LIST = "core/v1.ResourceList"
_UNROUNDED = frozenset({"node/v1.Overhead"})
"""Structs whose amounts get no defaults."""
_SCHEMA = "#apiextensions/v1.JSONSchemaProps"
_SPECIALS: dict[str, Decoder] = {
    "JSONSchemaPropsOrArray": _decode_schema_or_list,
    "JSONSchemaPropsOrBool": _decode_schema_or_bool,
    "JSONSchemaPropsOrStringArray": _decode_schema_or_strings,
    "Time": special.decode_time,
    "MicroTime": special.decode_micro_time,
    "Quantity": special.decode_quantity,
    "IntOrString": special.decode_int_or_string,
}


def _build_scalar(expression: str, shown: str) -> Decoder:
    match expression:
        case "string":
            return _build_string(shown)
        case "bool":
            return _build_bool(shown)
        case "bytes":
            return special.decode_bytes
        case "float64":
            return _build_float(shown)
        case _ if expression in _RANGES:
            return _build_integer(expression, shown)
        case _:
            return special.decode_any


def _build_string(shown: str) -> Decoder:
    def decode(value: Any) -> Any:
        if type_(value) is str:
            return value
        raise Mismatch(name_json_kind(value), shown)

    return decode


def _build_bool(shown: str) -> Decoder:
    def decode(value: Any) -> Any:
        if value is True or value is False:
            return value
        raise Mismatch(name_json_kind(value), shown)

    return decode


def _build_float(shown: str) -> Decoder:
    def decode(value: Any) -> Any:
        if type_(value) in (int, float):
            return value
        raise Mismatch(name_json_kind(value), shown)

    return decode


def _build_integer(expression: str, shown: str) -> Decoder:
    low, high = _RANGES[expression]

    def decode(value: Any) -> Any:
        if type_(value) is int:
            if low <= value <= high:
                return value
            raise Mismatch(f"number {value}", shown)
        if type_(value) is float:
            raise Mismatch(f"number {value:g}", shown)
        raise Mismatch(name_json_kind(value), shown)

    return decode


def _build_slice(expression: str) -> Decoder:
    item = build_decoder(expression[2:])
    zero = _build_item_zero(expression[2:])
    shown = format_go_type(expression)

    def decode(value: Any) -> Any:
        if type_(value) is not list:
            raise Mismatch(name_json_kind(value), shown)
        return [zero() if part is None else item(part) for part in value]

    return decode


def _build_map(expression: str) -> Decoder:
    item = build_decoder(expression[2:])
    zero = _build_item_zero(expression[2:])
    shown = format_go_type(expression)

    def decode(value: Any) -> Any:
        if type_(value) is not dict:
            raise Mismatch(name_json_kind(value), shown)
        return {key: zero() if part is None else item(part) for key, part in value.items()}

    return decode


def _build_struct(name: str) -> Decoder:
    shown = table.to_go_name(name)
    plan: list[tuple[str, Decoder, bool, bool, Callable[[], Any]]] = []

    def decode(value: Any) -> Any:
        if type_(value) is not dict:
            raise Mismatch(name_json_kind(value), shown)
        if not plan:
            plan.extend(_plan_members(name))
        result: dict[str, Any] = {}
        for key, decode_member, always, keeps_zero, zero in plan:
            part = value.get(key)
            if part is None:
                if always:
                    result[key] = zero()
                continue
            decoded = decode_member(part)
            if always or decoded or (keeps_zero and decoded is not None):
                result[key] = decoded
        return result

    return decode


def _plan_members(name: str) -> Iterator[tuple[str, Decoder, bool, bool, Callable[[], Any]]]:
    """What decoding a struct does with each member: always written, written even when zero."""
    for member in list_members(name):
        always = _is_always_written(member)
        yield member.name, build_decoder(member.type), always, member.pointer, member.zero


@functools.cache
def _is_struct(expression: str) -> bool:
    """Whether Go never omits it: a struct that is not behind a pointer."""
    if not expression.startswith("#"):
        return False
    name = expression[1:]
    return name in table.SPECIAL or not table.get_type(name).alias


def _build_zero_factory(expression: str) -> Callable[[], Any]:
    """A function that makes the zero value of a type as Go writes it."""
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
    if base in _RANGES or base == "float64":
        value = 0
    return lambda: value


def _build_item_zero(expression: str) -> Callable[[], Any]:
    """A function that makes the zero value in a list or map: no bytes are read back as empty."""
    return (lambda: "") if expression == "bytes" else _build_zero_factory(expression)


def build_zero_struct(name: str) -> dict[str, Any]:
    """A new struct as Go writes it: only what is never omitted."""
    return {member: build_zero() for member, build_zero in _list_zero_members(name)}


@functools.cache
def _list_zero_members(name: str) -> tuple[tuple[str, Callable[[], Any]], ...]:
    """The members of an empty struct, and what makes their values."""
    return tuple(
        (member.name, member.zero) for member in list_members(name) if _is_always_written(member)
    )


def _is_always_written(member: Member) -> bool:
    """Whether Go writes a member also when it is zero."""
    if member.omit_zero:
        return False
    return not member.omit_empty or _is_struct(member.type)


def format_go_type(expression: str) -> str:
    """A type expression as Go prints it."""
    if expression.startswith("*"):
        return "*" + format_go_type(expression[1:])
    if expression.startswith("[]"):
        return "[]" + format_go_type(expression[2:])
    if expression.startswith("{}"):
        return "map[string]" + format_go_type(expression[2:])
    if expression.startswith("#"):
        return table.to_go_name(expression[1:])
    return "[]uint8" if expression == "bytes" else expression
