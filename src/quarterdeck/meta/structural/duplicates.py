"""Finds duplicate items: in lists of type set by value, in lists of type map by their keys.

Kubernetes checks this after everything else, and only in the parts of a schema that have such
lists; a schema without any compiles to None.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from quarterdeck.meta.field import FieldError, duplicate, invalid
from quarterdeck.meta.schema import Node

Finder = Callable[[Any, str], list[FieldError]]


def compile_finder(node: Node) -> Finder | None:
    """Compile the finder of duplicate items below a node; None if there can be none."""
    if node.type == "array" or node.items is not None:
        return _compile_list_finder(node)
    nested = {
        key: finder
        for key, child in sorted(node.properties.items())
        if (finder := compile_finder(child)) is not None
    }
    rest = compile_finder(node.additional) if isinstance(node.additional, Node) else None
    if not nested and rest is None:
        return None

    def find(value: Any, path: str) -> list[FieldError]:
        if type(value) is not dict:
            return []
        errors: list[FieldError] = []
        if rest is not None:
            for key in sorted(value):
                errors += rest(value[key], f"{path}[{key}]")
        for key, finder in nested.items():
            if (member := value.get(key)) is not None:
                errors += finder(member, f"{path}.{key}" if path else key)
        return errors

    return find


def _compile_list_finder(node: Node) -> Finder | None:
    below = compile_finder(node.items) if node.items is not None else None
    own = _choose_finder(node)
    if below is None:
        return own

    def find(value: Any, path: str) -> list[FieldError]:
        if type(value) is not list:
            return []
        errors = own(value, path) if own is not None else []
        for index, member in enumerate(value):
            errors += below(member, f"{path}[{index}]")
        return errors

    return find


def _choose_finder(node: Node) -> Finder | None:
    match node.list_type:
        case "set":
            return _find_in_set
        case "map":
            keys = node.list_map_keys
            return lambda value, path: _find_in_map(value, path, keys)
        case _:
            return None


def _find_in_set(value: Any, path: str) -> list[FieldError]:
    if type(value) is not list or _are_distinct(value):
        return []
    return [duplicate(f"{path}[{index}]", value[index]) for index in _find_repeats(value)]


def _find_in_map(value: Any, path: str, keys: tuple[str, ...]) -> list[FieldError]:
    if type(value) is not list or _have_distinct_keys(value, keys):
        return []
    for index, member in enumerate(value):
        if member is not None and type(member) is not dict:
            text = "must be an object for an array of list-type map"
            return [invalid(f"{path}[{index}]", member, text)]
    if len(value) < 2:
        return []
    identities = [
        {key: member[key] for key in keys if key in member} if member else {} for member in value
    ]
    return [duplicate(f"{path}[{index}]", identities[index]) for index in _find_repeats(identities)]


def _are_distinct(values: list[Any]) -> bool:
    """Quick test: true only if all values are distinct; otherwise `_find_repeats` decides."""
    try:
        return len(set(values)) == len(values)
    except TypeError:  # objects and lists are compared as JSON
        return len(values) < 2


def _have_distinct_keys(values: list[Any], keys: tuple[str, ...]) -> bool:
    try:
        return len({tuple([value[key] for key in keys]) for value in values}) == len(values)
    except (TypeError, KeyError):
        return False


def _find_repeats(values: list[Any]) -> list[int]:
    """Return the index of each second occurrence; later ones are not reported."""
    seen: dict[bytes | tuple[type, Any], int] = {}
    found: list[int] = []
    for index, value in enumerate(values):
        identity = (
            msgspec.json.encode(value, order="sorted")
            if isinstance(value, dict | list)
            else (type(value), value)
        )
        times = seen.get(identity, 0) + 1
        seen[identity] = times
        if times == 2:
            found.append(index)
    return found
