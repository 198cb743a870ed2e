"""The errors of strict and typed decoding, with the text of Go and in the order of the document.

Decoding itself only detects that a document is invalid; these functions find the exact message.
They run only for invalid requests and need not be fast.
"""

import functools
from typing import Any

from quarterdeck.meta.builtins import table
from quarterdeck.meta.builtins.members import list_members
from quarterdeck.meta.builtins.special import Mismatch, name_json_kind
from quarterdeck.meta.builtins.structs import build_decoder
from quarterdeck.meta.release import has_feature


def find_first_error(value: Any, expression: str) -> str | None:
    """Return Go's error for a document: the first fatal one, else the first of the others."""
    found: list[str] = []
    try:
        _walk(value, expression, found, struct="", path=())
    except _Fatal as error:
        return str(error)
    return found[0] if found else None


class _Fatal(Exception):
    pass


def _walk(
    value: Any, expression: str, found: list[str], *, struct: str, path: tuple[str, ...]
) -> None:
    named = expression.lstrip("*")
    expression = _resolve(named)
    if value is None:
        return
    if expression.startswith("[]") and isinstance(value, list):
        for part in value:
            _walk(part, expression[2:], found, struct=struct, path=path)
    elif expression.startswith("{}") and isinstance(value, dict):
        for part in value.values():
            _walk(part, expression[2:], found, struct=struct, path=path)
    elif _is_struct(expression) and isinstance(value, dict):
        _walk_members(value, expression[1:], found, path)
    else:
        _check(value, named, found, field=".".join((struct, *path)) if struct else "")


def _walk_members(
    value: dict[str, Any], name: str, found: list[str], path: tuple[str, ...]
) -> None:
    types = _get_member_types(name)
    struct = name.rpartition(".")[2]
    for key, part in value.items():
        if key in types:
            _walk(part, types[key], found, struct=struct, path=(*path, *_name(name, key)))


def _name(struct: str, key: str) -> tuple[str, ...]:
    """Return Go's name of a member: since 1.33 with the embedded structs that contain it."""
    return (
        (*_find_embedding(struct, key), key)
        if has_feature("MembersAreNamedWithEmbedding")
        else (key,)
    )


@functools.cache
def _find_embedding(struct: str, key: str) -> tuple[str, ...]:
    for field in table.get_type(struct).fields:
        if field.name == key:
            return ()
    for field in table.get_type(struct).fields:
        inner = field.type.lstrip("*#")
        if not field.name and key in _get_member_types(inner):
            return (inner.rpartition(".")[2], *_find_embedding(inner, key))
    return ()


def _check(value: Any, expression: str, found: list[str], *, field: str) -> None:
    try:
        if _is_struct(expression) or _resolve(expression).startswith(("[]", "{}")):
            raise Mismatch(name_json_kind(value), table.format_go_type(expression))
        build_decoder(expression)(value)
    except Mismatch as error:
        if error.fatal:
            raise _Fatal(error.format_message(field)) from None
        found.append(error.format_message(field))


def _resolve(expression: str) -> str:
    """Resolve type names of slices and maps; named scalars keep their name."""
    while expression.startswith("#") and expression[1:] not in table.SPECIAL:
        alias = table.get_type(expression[1:]).alias
        if not alias.startswith(("[]", "{}")):
            break
        expression = alias
    return expression


def _is_struct(expression: str) -> bool:
    if not expression.startswith("#") or expression[1:] in table.SPECIAL:
        return False
    return not table.get_type(expression[1:]).alias


@functools.cache
def _get_member_types(name: str) -> dict[str, str]:
    return {member.name: member.type for member in list_members(name)}


def find_unknown_fields(value: Any, expression: str, *, path: str = "") -> list[str]:
    """Return the paths of unknown members, in the order of the document: `spec.ports[0].foo`."""
    found: list[str] = []
    _collect(value, expression, path, found)
    return found


def _collect(value: Any, expression: str, path: str, found: list[str]) -> None:
    if not isinstance(value, dict | list) or not _has_members(expression):
        return
    expression = _resolve(expression.lstrip("*"))
    if expression.startswith("[]"):
        if isinstance(value, list):
            for index, part in enumerate(value):
                _collect(part, expression[2:], f"{path}[{index}]", found)
    elif isinstance(value, dict):
        types = None if expression.startswith("{}") else _get_member_types(expression[1:])
        for key, part in value.items():
            inner = expression[2:] if types is None else types.get(key)
            if inner is None:
                found.append(_join(path, key))
            elif isinstance(part, dict | list):
                _collect(part, inner, _join(path, key), found)


@functools.cache
def _has_members(expression: str) -> bool:
    """Whether the type contains a struct, so that members can be unknown."""
    expression = _resolve(expression.lstrip("*"))
    if expression.startswith(("[]", "{}")):
        return _has_members(expression[2:])
    return _is_struct(expression)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
