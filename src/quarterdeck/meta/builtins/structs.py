"""Decodes JSON by a Go struct and encodes it again, as Kubernetes does.

Unknown members, nulls and empty values that Go omits are dropped; zero values that it does not omit
are added. Types are compiled once into closures, which do not compute the paths of unknown members:
`diagnosis` does.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from quarterdeck.meta.builtins import special, table
from quarterdeck.meta.builtins.members import (
    INTEGER_RANGES,
    RESOURCE_LIST,
    build_item_zero,
    is_always_written,
    list_members,
)
from quarterdeck.meta.builtins.special import Mismatch, name_json_kind

type_ = type
Decoder = Callable[[Any], Any]


@functools.cache
def build_decoder(expression: str) -> Decoder:
    """Build the function that decodes a JSON value by a Go type; it raises `Mismatch`.

    The members of a struct are looked up on first use, so types may be recursive.
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
    if name == RESOURCE_LIST:
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
        case _ if expression in INTEGER_RANGES:
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
    low, high = INTEGER_RANGES[expression]

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
    zero = build_item_zero(expression[2:])
    shown = table.format_go_type(expression)

    def decode(value: Any) -> Any:
        if type_(value) is not list:
            raise Mismatch(name_json_kind(value), shown)
        return [zero() if part is None else item(part) for part in value]

    return decode


def _build_map(expression: str) -> Decoder:
    item = build_decoder(expression[2:])
    zero = build_item_zero(expression[2:])
    shown = table.format_go_type(expression)

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
    """Yield how to decode each member: name, decoder, always written, zero kept, zero value."""
    for member in list_members(name):
        always = is_always_written(member)
        yield member.name, build_decoder(member.type), always, member.pointer, member.zero
