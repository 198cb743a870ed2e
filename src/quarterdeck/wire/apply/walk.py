"""Reads objects by their type: lists their fields, compares them, finds values that do not fit."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from quarterdeck.meta.field import format_go_syntax, format_go_value, get_go_type
from quarterdeck.wire.apply.fieldset import LEAF, Trie, build_node
from quarterdeck.wire.apply.parts import list_all_parts
from quarterdeck.wire.apply.path_element import format_element
from quarterdeck.wire.apply.schema_type import ItemError, Type

MISSING: Any = msgspec.UNSET

Path = tuple[str, ...]


class Comparison(NamedTuple):
    """The fields that the right-hand object removed, modified and added."""

    removed: Trie
    modified: Trie
    added: Trie


def list_fields(value: Mapping[str, Any], kind: Type) -> Trie:
    """List every leaf and list item of an object; declared fields with content are not members."""
    return _list_map_fields(value, kind)


def _list_map_fields(value: Mapping[str, Any], kind: Type) -> Trie:
    trie: Trie = {}
    for name, part in value.items():
        declared = kind.find_declared_type(name)
        child = declared or kind.element
        if child is None:
            continue
        if part is None or (isinstance(part, dict) and not part):
            trie[f"f:{name}"] = LEAF
            continue
        inner = _list_value_fields(part, child)
        if inner is not None or declared is None:
            trie[f"f:{name}"] = build_node(inner or LEAF, member=declared is None)
    return trie


def _list_value_fields(value: Any, kind: Type) -> Trie | None:
    """Build the node of a value: `LEAF` for a leaf, None if nothing in it is a member."""
    if isinstance(value, dict) and kind.has_map:
        return LEAF if kind.map_atomic else (_list_map_fields(value, kind) or None)
    if isinstance(value, list) and kind.has_list:
        return LEAF if kind.list_atomic else (_list_item_fields(value, kind) or None)
    return LEAF


def _list_item_fields(value: list[Any], kind: Type) -> Trie:
    trie: Trie = {}
    seen: set[str] = set()
    for item in value:
        element = kind.build_path_element(item)
        if element in seen:
            trie[element] = LEAF
            continue
        seen.add(element)
        trie[element] = build_node(_list_value_fields(item, kind.item) or LEAF, member=True)
    return trie


def compare(left: Mapping[str, Any], right: Mapping[str, Any], kind: Type) -> Comparison:
    """Compare two objects of one type.

    Raises:
        ItemError: if a list item has no identity.
    """
    result = Comparison({}, {}, {})
    _compare_maps(left, right, kind, result)
    return result


def is_equal(left: Any, right: Any) -> bool:
    """Equality as Kubernetes sees it: numbers by value, but true is not 1."""
    if left is right:
        return True
    if left != right:
        return False
    if isinstance(left, dict | list):
        return msgspec.json.encode(left) == msgspec.json.encode(right) or _has_equal_parts(
            left, right
        )
    return isinstance(left, bool) == isinstance(right, bool)


def _has_equal_parts(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return all(is_equal(part, right[name]) for name, part in left.items())
    return all(is_equal(part, other) for part, other in zip(left, right, strict=True))


def _compare_maps(
    left: Mapping[str, Any], right: Mapping[str, Any], kind: Type, result: Comparison
) -> None:
    for name, part in right.items():
        other = left.get(name, MISSING)
        if other is part or (type(part) is str and other == part):
            continue
        child = kind.find_member_type(name)
        if child is not None:
            _compare_parts(f"f:{name}", other, part, child, result)
    for name, part in left.items():
        if name not in right and (child := kind.find_member_type(name)) is not None:
            result.removed[f"f:{name}"] = list_all_parts(part, child)


def _compare_parts(element: str, left: Any, right: Any, kind: Type, result: Comparison) -> None:
    if left is MISSING:
        result.added[element] = list_all_parts(right, kind)
        return
    if is_equal(left, right):
        return
    left_map, right_map = _to_map(left, kind), _to_map(right, kind)
    if (left_map or right_map) and not kind.map_atomic:
        inner = Comparison({}, {}, {})
        _compare_maps(left_map or {}, right_map or {}, kind, inner)
        _attach(element, inner, result)
        if _has_other_kind(left, right):
            result.modified[element] = build_node(result.modified.get(element, LEAF), member=True)
        return
    left_list, right_list = _to_list(left, kind), _to_list(right, kind)
    if (left_list or right_list) and not kind.list_atomic:
        inner = Comparison({}, {}, {})
        _compare_lists(left_list or [], right_list or [], kind, inner)
        _attach(element, inner, result)
        return
    result.modified[element] = LEAF


def _to_map(value: Any, kind: Type) -> dict[str, Any] | None:
    return value if isinstance(value, dict) and kind.has_map else None


def _to_list(value: Any, kind: Type) -> list[Any] | None:
    return value if isinstance(value, list) and kind.has_list else None


def _has_other_kind(left: Any, right: Any) -> bool:
    """Whether only one of two values is an object; false if one is null."""
    if left is None or right is None:
        return False
    return isinstance(left, dict) != isinstance(right, dict)


def _attach(element: str, inner: Comparison, result: Comparison) -> None:
    for part, whole in zip(inner, result, strict=True):
        if part:
            whole[element] = part


def _compare_lists(left: list[Any], right: list[Any], kind: Type, result: Comparison) -> None:
    before, after = _index(left, kind), _index(right, kind)
    for element in before | after:
        old, new = before.get(element, []), after.get(element, [])
        if len(old) <= 1 and len(new) <= 1:
            _compare_items(element, old, new, kind.item, result)
        elif len(old) >= 2 and len(new) >= 2:
            if not is_equal(old, new):
                result.modified[element] = LEAF
        elif len(old) >= 2:
            if new:
                result.added[element] = list_all_parts(new[0], kind.item)
            result.removed[element] = LEAF
        else:
            if old:
                result.removed[element] = list_all_parts(old[0], kind.item)
            result.added[element] = LEAF


def _index(items: list[Any], kind: Type) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(kind.build_path_element(item), []).append(item)
    return found


def _compare_items(
    element: str, old: list[Any], new: list[Any], kind: Type, result: Comparison
) -> None:
    if not new:
        result.removed[element] = list_all_parts(old[0], kind)
    else:
        _compare_parts(element, old[0] if old else MISSING, new[0], kind, result)


def find_problems(value: Any, kind: Type, *, unique: bool, path: Path = ()) -> list[str]:
    """Find why a value does not fit a type; each error is `path: problem`.

    `path` consists of path elements, which are formatted only for an error: most values fit.
    """
    if isinstance(value, dict) and kind.has_map:
        found: list[str] = []
        for name, part in value.items():
            child = kind.find_member_type(name)
            if child is None:
                return [*found, _with_path((*path, f"f:{name}"), "field not declared in schema")]
            if part is not None and type(part) not in _FITTING.get(child.scalar, ()):
                found += find_problems(part, child, unique=unique, path=(*path, f"f:{name}"))
        return found
    if isinstance(value, list) and kind.has_list:
        return _find_list_problems(value, kind, unique=unique, path=path)
    if value is None or type(value) in _FITTING.get(kind.scalar, ()):
        return []
    return [_with_path(path, _format_expectation(value, kind))]


_FITTING: dict[str, tuple[type, ...]] = {
    "numeric": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "untyped": (str, int, float, bool),
}


def join_problems(problems: list[str]) -> str:
    """Join errors as Kubernetes does: several are listed on separate lines."""
    if len(problems) == 1:
        return problems[0]
    return "\n".join(["errors:", *(f"  {text}" for text in problems)])


def _find_list_problems(value: list[Any], kind: Type, *, unique: bool, path: Path) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for index, item in enumerate(value):
        element = f"i:{index}"
        if not kind.list_atomic:
            try:
                element = kind.build_path_element(item)
            except ItemError as error:
                return [*found, _with_path(path, f"element {index}: {error}")]
            if element in seen and unique:
                duplicate = f"duplicate entries for key {format_element(element)}"
                found.append(_with_path(path, duplicate))
            seen.add(element)
        found += find_problems(item, kind.item, unique=unique, path=(*path, element))
    return found


def _with_path(path: Path, text: str) -> str:
    return f"{''.join(map(format_element, path))}: {text}" if path else text


def _format_expectation(value: Any, kind: Type) -> str:
    if kind.has_map and not kind.scalar:
        return f"expected map, got {_format_pointer(value)}"
    if kind.has_list and not kind.scalar:
        return f"expected list, got {_format_pointer(value)}"
    match kind.scalar:
        case "numeric":
            return f"expected numeric (int or float), got {get_go_type(value)}"
        case "string":
            return (
                f"expected string, got &value.valueUnstructured{{Value:{format_go_syntax(value)}}}"
            )
        case "boolean":
            return f"expected boolean, got {_format_pointer(value)}"
        case _:
            return f"expected any scalar, got {_format_pointer(value)}"


def _format_pointer(value: Any) -> str:
    """Format a value as Go prints a pointer to the struct that contains it."""
    return f"&{{{format_go_value(value)}}}"
