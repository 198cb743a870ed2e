"""Changes objects by their type: merges a configuration into an object, removes fields.

Arguments are never changed; results share unchanged parts with them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from quarterdeck.wire.apply.fieldset import LEAF, SELF, Trie, is_member
from quarterdeck.wire.apply.path_element import format_element
from quarterdeck.wire.apply.schema_type import ItemError, Type

_MISSING: Any = msgspec.UNSET


def merge(live: Mapping[str, Any], config: Mapping[str, Any], kind: Type) -> dict[str, Any]:
    """Merge a configuration into an object; nothing is removed.

    Raises:
        ItemError: if a list item has no identity, or occurs twice in the configuration.
    """
    result = dict(live)
    for name, part in config.items():
        child = kind.find_member_type(name)
        if child is not None:
            result[name] = _merge_part(live.get(name, _MISSING), part, child)
    return result


def _merge_part(live: Any, config: Any, kind: Type) -> Any:
    if live is _MISSING:
        return config
    if kind.has_map and not kind.map_atomic and isinstance(live, dict) and live:
        if isinstance(config, dict):
            return merge(live, config, kind)
        if config is None:
            return live
    if kind.has_list and not kind.list_atomic and isinstance(live, list) and live:
        if isinstance(config, list):
            return _merge_lists(live, config, kind)
        if config is None:
            return live
    return config


def _merge_lists(live: list[Any], config: list[Any], kind: Type) -> list[Any]:
    """Merge items by identity; shared items follow the configuration's order.

    Items that only the object has stay after the same neighbor. An item that occurs twice in the
    object is replaced by that of the configuration, not merged with it.
    """
    ours = [kind.build_path_element(item) for item in live]
    theirs = _index_items(config, kind)
    before: dict[str, Any] = {}
    for element, item in zip(ours, live, strict=True):
        before[element] = None if element in before else item
    shared = [element for element in theirs if element in before]
    result: list[Any] = []
    done: set[str] = set()
    waiting = list(theirs)
    left = right = turn = 0

    def take(element: str) -> None:
        nonlocal turn
        done.add(element)
        result.append(_merge_item(before.get(element, _MISSING), theirs[element], kind.item))
        if turn < len(shared) and shared[turn] == element:
            turn += 1

    while left < len(ours) or right < len(waiting):
        if left < len(ours) and right < len(waiting):
            element = ours[left]
            if element == waiting[right]:
                take(element)
                left, right = left + 1, right + 1
                continue
            if element in theirs and turn < len(shared) and shared[turn] != element:
                left += 1
                continue
        if left < len(ours):
            element = ours[left]
            if element not in theirs:
                result.append(live[left])
                left += 1
                continue
            if element in done:
                left += 1
        if right < len(waiting):
            take(waiting[right])
            right += 1
    return result


def _merge_item(live: Any, config: Any, kind: Type) -> Any:
    return config if live is None else _merge_part(live, config, kind)


def _index_items(config: list[Any], kind: Type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in config:
        element = kind.build_path_element(item)
        if element in found:
            raise ItemError(f"duplicate entries for key {format_element(element)}")
        found[element] = item
    return found


def remove(value: Mapping[str, Any], fields: Trie, kind: Type) -> dict[str, Any]:
    """Remove the fields of a set from an object; what becomes empty is null, not absent."""
    return _remove_from_map(value, fields, kind) if fields else dict(value)


def _remove_from_map(value: Mapping[str, Any], fields: Trie, kind: Type) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, part in value.items():
        node = fields.get(f"f:{name}")
        if node is None:
            result[name] = part
        elif not is_member(node):
            result[name] = _remove_from(part, node, kind.find_member_type(name))
    return result


def _remove_from(value: Any, fields: Trie, kind: Type | None) -> Any:
    """Return a value without some fields; null if nothing is left."""
    if kind is None:
        return value
    if isinstance(value, dict) and kind.has_map:
        return (
            None if kind.map_atomic or not value else _remove_from_map(value, fields, kind) or None
        )
    if isinstance(value, list) and kind.has_list:
        return None if kind.list_atomic or not value else _remove_from_list(value, fields, kind)
    return value


def _remove_from_list(value: list[Any], fields: Trie, kind: Type) -> list[Any] | None:
    result: list[Any] = []
    for item in value:
        node = fields.get(kind.build_path_element(item))
        if node is None:
            result.append(item)
        elif not is_member(node):
            result.append(_remove_from(item, node, kind.item))
    return result or None


def with_named_fields(fields: Trie, kind: Type | None) -> Trie:
    """Add to a set every declared field on the path to one of its members."""
    result: Trie = {}
    for element, node in fields.items():
        if element == SELF or not node:
            result[element] = LEAF
            continue
        is_field = element.startswith("f:")
        declared = kind.find_declared_type(element[2:]) if is_field and kind is not None else None
        child = declared or _find_child_type(kind, element)
        inner = with_named_fields(node, child)
        if declared is not None and SELF not in inner:
            inner = {SELF: LEAF, **inner}
        result[element] = inner
    return result


def _find_child_type(kind: Type | None, element: str) -> Type | None:
    if kind is None:
        return None
    if element.startswith("f:"):
        return kind.element if kind.has_map else None
    return kind.item if element.startswith("k:") and kind.has_list else None
