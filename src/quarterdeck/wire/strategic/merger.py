"""Merges a patch into an object, or two halves of a patch into one.

Both use the same walk. In `APPLY` mode directives are applied and removed; in `COMBINE` mode
(three-way creation) they are kept, and so are nulls, which delete members on the server.
"""

import enum
from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.wire.strategic import errors
from quarterdeck.wire.strategic.order import (
    DELETE_PRIMITIVES,
    DIRECTIVE,
    ELEMENT_ORDER,
    RETAIN_KEYS,
    arrange,
    arrange_keeping_deletions,
    check_order,
    deduplicate,
    get_key,
    has_maps,
    simulate_deletions,
)

_DROP = object()


class Mode(enum.Enum):
    """Whether directives and nulls are applied, or kept in a combined patch."""

    APPLY = enum.auto()
    COMBINE = enum.auto()


def find_member(node: Node | None, name: str) -> Node | None:
    """Return the schema of a member; None if there is none."""
    if node is None:
        return None
    if (found := node.properties.get(name)) is not None:
        return found
    return node.additional if isinstance(node.additional, Node) else None


def find_strategy(node: Node | None) -> str:
    """Return the patch strategy without `retainKeys`: `merge`, `replace` or empty."""
    if node is None:
        return ""
    return next((name for name in node.patch_strategy if name != "retainKeys"), "")


def merge_maps(
    original: Mapping[str, Any], patch: Mapping[str, Any], node: Node | None, *, mode: Mode
) -> dict[str, Any]:
    """Merge one object; in `APPLY` mode merged directives are removed from the patch."""
    remaining = patch if mode is Mode.APPLY and isinstance(patch, dict) else dict(patch)
    if DIRECTIVE in patch:
        return _take_patch(remaining)
    result = dict(original)
    _apply_retain_keys(result, remaining, mode)
    for name in [name for name in remaining if name.startswith(ELEMENT_ORDER)]:
        _merge_ordered_list(result, remaining, name, node, mode=mode)
    for name, value in remaining.items():
        if not name.startswith(DELETE_PRIMITIVES):
            _merge_member(result, name, value, find_member(node, name), mode=mode)
        elif mode is Mode.COMBINE:
            result[name] = value
        else:
            _delete_primitives(result, name, value, node)
    return result


def _take_patch(patch: dict[str, Any]) -> dict[str, Any]:
    match patch[DIRECTIVE]:
        case "replace":
            del patch[DIRECTIVE]
            return patch
        case "delete":
            return {}
        case other:
            raise errors.build_directive_error(other, dict(patch))


def _apply_retain_keys(result: dict[str, Any], patch: dict[str, Any], mode: Mode) -> None:
    """Apply `$retainKeys`, which deletes every member that it does not list."""
    if RETAIN_KEYS not in patch:
        return
    keys = patch.pop(RETAIN_KEYS)
    if mode is Mode.COMBINE:
        if result.setdefault(RETAIN_KEYS, keys) != keys:
            raise errors.build_retain_keys_error()
        return
    if not isinstance(keys, list):
        raise errors.build_retain_keys_error()
    for name, value in patch.items():
        is_directive = name.startswith((DELETE_PRIMITIVES, ELEMENT_ORDER))
        if value is not None and not is_directive and name not in keys:
            raise errors.build_retain_keys_error()
    for name in [name for name in result if name not in keys]:
        del result[name]


def _merge_ordered_list(
    result: dict[str, Any], patch: dict[str, Any], name: str, node: Node | None, *, mode: Mode
) -> None:
    """Merge a list and order it by the `$setElementOrder` beside it."""
    wanted = patch.pop(name)
    if mode is Mode.COMBINE and result.setdefault(name, wanted) != wanted:
        raise errors.build_element_order_error()
    field = _strip_prefix(name, ELEMENT_ORDER)
    if not isinstance(wanted, list) or not field:
        raise errors.build_element_order_error()
    live, changes = result.get(field), patch.pop(field, None)
    if not _is_list_or_none(live) or not _is_list_or_none(changes):
        raise errors.build_element_order_error()
    schema = find_member(node, field)
    key = schema.patch_merge_key if schema is not None else ""
    check_order(changes or [], wanted, key)
    if live is None and changes is None:
        return
    if changes is None:
        merged = live or []
    elif live is None:
        merged = drop_directives(changes)
    else:
        merged = _merge_lists(live, changes, schema, mode=mode)
        live = simulate_deletions(live, changes, key)
    result[field] = arrange_keeping_deletions(merged, wanted, live or [], key)


def _is_list_or_none(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _strip_prefix(name: str, prefix: str) -> str:
    head, _, tail = name.partition("/")
    return tail if head == prefix else ""


def _delete_primitives(result: dict[str, Any], name: str, value: Any, node: Node | None) -> None:
    """Remove scalars from a list; lists of objects are merged instead, as in Kubernetes."""
    field = _strip_prefix(name, DELETE_PRIMITIVES)
    if not field:
        raise errors.build_primitive_list_error()
    if value is None:
        result.pop(field, None)
    live = result.get(field)
    if not isinstance(live, list) or not isinstance(value, list) or not (live or value):
        return
    if has_maps(live, value):
        schema = find_member(node, field)
        result[field] = _merge_object_lists(live, value, schema, mode=Mode.APPLY)
    else:
        gone = set(value)
        result[field] = [item for item in live if item not in gone]


def _merge_member(
    result: dict[str, Any], name: str, value: Any, schema: Node | None, *, mode: Mode
) -> None:
    if value is None:
        if mode is Mode.APPLY:
            result.pop(name, None)
        else:
            result[name] = None
        return
    live = result.get(name)
    if isinstance(live, dict) and isinstance(value, dict):
        if find_strategy(schema) == "replace":
            result[name] = value
        else:
            result[name] = merge_maps(live, value, schema, mode=mode)
    elif isinstance(live, list) and isinstance(value, list):
        is_merged = find_strategy(schema) == "merge"
        result[name] = _merge_lists(live, value, schema, mode=mode) if is_merged else value
    else:
        if mode is Mode.APPLY:
            _discard_nulls(value)
        cleaned = _drop_directives(value)
        if cleaned is _DROP:
            result.pop(name, None)
        else:
            result[name] = cleaned


def _merge_lists(
    live: list[Any], patch: list[Any], schema: Node | None, *, mode: Mode
) -> list[Any]:
    if schema is None or find_strategy(schema) != "merge":
        return patch
    if not live and not patch:
        return live
    if not has_maps(live, patch):
        return arrange(deduplicate([*live, *patch]), wanted=patch, live=live, merge_key="")
    return _merge_object_lists(live, patch, schema, mode=mode)


def _merge_object_lists(
    live: list[Any], patch: list[Any], schema: Node | None, *, mode: Mode
) -> list[Any]:
    key = schema.patch_merge_key if schema is not None else ""
    if not key or schema is None:
        raise errors.StrategicMergeError("cannot merge lists without merge key for struct")
    live, patch = _apply_item_directives(live, patch, key)
    merged = _merge_items(live, patch, schema, mode=mode)
    return arrange_keeping_deletions(merged, patch, live, key)


def _apply_item_directives(
    live: list[Any], patch: list[Any], key: str
) -> tuple[list[Any], list[dict[str, Any]]]:
    """Apply `$patch` in items: delete an item of the live list, or replace the list."""
    plain: list[dict[str, Any]] = []
    gone: set[Any] = set()
    replace = False
    for item in patch:
        if DIRECTIVE not in item:
            plain.append(item)
            continue
        match item[DIRECTIVE]:
            case "delete":
                gone.add(get_key(item, key))
            case "replace":
                replace = True
            case "merge":
                raise errors.StrategicMergeError(
                    "merging lists cannot yet be specified in the patch"
                )
            case other:
                raise errors.build_directive_error(other, item)
    if replace:
        return plain, []
    return [item for item in live if item.get(key, _DROP) not in gone] if gone else live, plain


def _merge_items(
    live: list[Any], patch: list[dict[str, Any]], schema: Node, *, mode: Mode
) -> list[Any]:
    key = schema.patch_merge_key
    merged = list(live)
    places: dict[Any, int] = {}
    for index, item in enumerate(merged):
        if isinstance(item, dict) and key in item:
            places.setdefault(item[key], index)
    for item in patch:
        name = get_key(item, key)
        if (index := places.get(name, -1)) >= 0:
            merged[index] = merge_maps(merged[index], item, schema.items, mode=mode)
        else:
            places[name] = len(merged)
            merged.append(item)
    return merged


def _discard_nulls(value: Any) -> None:
    """Remove null members from a value at any depth, in place."""
    if isinstance(value, dict):
        for name in [name for name, part in value.items() if part is None]:
            del value[name]
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _discard_nulls(part)


def drop_directives(items: list[Any]) -> list[Any]:
    """Return a list without the items that are directives."""
    cleaned = (_drop_directives(item) for item in items)
    return [item for item in cleaned if item is not _DROP]


def _drop_directives(value: Any) -> Any:
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return _DROP
        cleaned = {name: _drop_directives(part) for name, part in value.items()}
        return {name: part for name, part in cleaned.items() if part is not _DROP}
    if isinstance(value, list):
        parts = (_drop_directives(part) for part in value)
        return [part for part in parts if part is not _DROP]
    return value
