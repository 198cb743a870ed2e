"""Formats structures as newer releases print them in messages: JSON with Go's member names.

Kubernetes validates objects in internal types, which have no JSON names, and prints all members.
"""

from typing import Any

from quarterdeck.meta import go_literal
from quarterdeck.meta.builtins.table import SPECIAL, get_type
from quarterdeck.meta.field import Verbatim

_NAMES = {
    "apiGroup": "APIGroup",
    "apiVersion": "APIVersion",
    "cel": "CEL",
    "cidrs": "CIDRs",
    "ips": "IPs",
    "uid": "UID",
}
_ZEROS = {"string": "", "bool": False, "int32": 0, "int64": 0, "uint32": 0, "float64": 0}
_WITH_JSON_NAMES = frozenset({"meta/v1.GroupResource", "meta/v1.LabelSelector"})
"""Types with JSON names, which omit absent members."""
_ABSENT = object()


def format_go_struct(name: str, value: Any, member: str = "") -> Verbatim:
    """Format a value of a named type of the table of kinds, or one member of it."""
    expanded = _expand(f"#{name}", value)
    if member:
        expanded = expanded[_to_go_name(name, member)]
    return Verbatim(go_literal.encode(expanded))


def _to_go_name(kind: str, name: str) -> str:
    if kind == "resource/v1.DeviceAttribute":
        is_list = name.endswith("s")
        return f"{name.removesuffix('s').title()}Value{'s' if is_list else ''}"
    return _NAMES.get(name, name[0].upper() + name[1:])


def _expand(expression: str, value: Any) -> Any:
    """Add all absent members of its type to a value."""
    if expression.startswith("*"):
        return None if value is _ABSENT or value is None else _expand(expression[1:], value)
    if expression.startswith(("[]", "{}")):
        return _expand_items(expression, value)
    if not expression.startswith("#"):
        return _ZEROS.get(expression) if value is _ABSENT or value is None else value
    name = expression[1:]
    if name in _WITH_JSON_NAMES:
        return None if value is _ABSENT else value
    if name in SPECIAL:
        return _expand_special(name, value)
    described = get_type(name)
    if described.alias:
        return _expand(described.alias, value)
    return _expand_members(name, {} if value is _ABSENT or value is None else value)


def _expand_items(expression: str, value: Any) -> Any:
    if value is _ABSENT or value is None:
        return None
    if isinstance(value, dict):
        return {key: _expand(expression[2:], value[key]) for key in sorted(value)}
    return [_expand(expression[2:], each) for each in value]


def _expand_members(name: str, value: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for field in get_type(name).fields:
        if field.type == "#meta/v1.ObjectMeta":
            result |= value.get(field.name) or {}  # has JSON names, and leaves out what is absent
        elif field.name:
            shown = _to_go_name(name, field.name)
            result[shown] = _expand(field.type, value.get(field.name, _ABSENT))
        else:
            result |= _expand_members(field.type.lstrip("*#"), value)
    return result


def _expand_special(name: str, value: Any) -> Any:
    if value is not _ABSENT:
        return value
    return "0" if name == "resource.Quantity" else None
