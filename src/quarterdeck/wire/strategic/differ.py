"""Creates strategic merge patches from the difference of two objects."""

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.wire.strategic.merger import find_member, find_strategy
from quarterdeck.wire.strategic.order import (
    DELETE_PRIMITIVES,
    DIRECTIVE,
    ELEMENT_ORDER,
    RETAIN_KEYS,
    deduplicate,
    get_key,
    has_maps,
)


class Part(enum.Enum):
    """Which part of a difference a patch contains."""

    ALL = enum.auto()
    CHANGES = enum.auto()
    DELETIONS = enum.auto()

    @property
    def changes(self) -> bool:
        """Whether changed and added values belong to the patch."""
        return self is not Part.DELETIONS

    @property
    def deletions(self) -> bool:
        """Whether removals belong to the patch."""
        return self is not Part.CHANGES


def diff_maps(
    original: Mapping[str, Any],
    modified: Mapping[str, Any],
    node: Node | None,
    *,
    want: Part,
    retain: bool = False,
) -> dict[str, Any]:
    """Create the patch between two objects; with `retain` it has `$retainKeys`."""
    patch: dict[str, Any] = {}
    for name, value in modified.items():
        if name not in original:
            if want.changes:
                patch[name] = value
        else:
            _diff_member(
                patch, name, original[name], value, schema=find_member(node, name), want=want
            )
    if want.deletions:
        patch |= {name: None for name in original if name not in modified}
    if retain:
        _add_retained(patch, original, modified)
    return patch


def _add_retained(
    patch: dict[str, Any], original: Mapping[str, Any], modified: Mapping[str, Any]
) -> None:
    kept = sorted(name for name, value in modified.items() if value is not None)
    has_more = any(value is not None and name not in modified for name, value in original.items())
    if kept and (patch or has_more):
        patch[RETAIN_KEYS] = kept


def _diff_member(
    patch: dict[str, Any], name: str, before: Any, after: Any, *, schema: Node | None, want: Part
) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        if find_strategy(schema) == "replace":
            if want.changes:
                patch[name] = after
            return
        retain = schema is not None and "retainKeys" in schema.patch_strategy
        if inner := diff_maps(before, after, schema, want=want, retain=retain):
            patch[name] = inner
    elif isinstance(before, list) and isinstance(after, list) and find_strategy(schema) == "merge":
        _diff_lists(patch, name, before, after, schema=schema, want=want)
    elif want.changes and (type(before) is not type(after) or before != after):
        patch[name] = after


def _diff_lists(
    patch: dict[str, Any],
    name: str,
    before: list[Any],
    after: list[Any],
    *,
    schema: Node | None,
    want: Part,
) -> None:
    if not before:
        if after and want.changes:
            patch[name] = after
        return
    if has_maps(before, after):
        assert schema is not None
        changes, order = _diff_items(before, after, schema, want)
        removed: list[Any] = []
    else:
        changes, removed, order = _diff_scalars(before, after, want)
    if changes:
        patch[name] = changes
    if removed:
        patch[f"{DELETE_PRIMITIVES}/{name}"] = removed
    if order:
        patch[f"{ELEMENT_ORDER}/{name}"] = order


def _diff_scalars(
    before: list[Any], after: list[Any], want: Part
) -> tuple[list[Any], list[Any], list[Any]]:
    added = _find_surplus(after, before) if want.changes else []
    removed: list[Any] = []
    if want.deletions:
        removed = deduplicate(sorted(_find_surplus(before, after), key=str))
    # Kubernetes compares with the old list already sorted: it names the order of an unsorted list
    # without need, and misses a change to sorted order. We follow the first and mend the second.
    changed = before != after or sorted(before, key=str) != after
    ordered = removed or (want.changes and changed)
    return added, removed, after if ordered else []


def _find_surplus(items: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Return the items of one list that the other does not have, or has less often; in order."""
    counts: dict[str, int] = {}
    for item in other:
        counts[str(item)] = counts.get(str(item), 0) + 1
    found = []
    for item in items:
        if counts.get(str(item), 0):
            counts[str(item)] -= 1
        else:
            found.append(item)
    return found


def _diff_items(
    before: list[Any], after: list[Any], schema: Node, want: Part
) -> tuple[list[Any], list[Any]]:
    key = schema.patch_merge_key
    unmatched: dict[str, list[Any]] = {}
    for item in before:
        unmatched.setdefault(str(get_key(item, key)), []).append(item)
    changes: list[Any] = []
    for item in after:
        partners = unmatched.get(str(get_key(item, key)))
        if partners:
            if inner := _diff_item(partners.pop(0), item, schema, want):
                changes.append({**inner, key: item[key]})
        elif want.changes:
            changes.append(item)
    if want.deletions:
        changes += [
            {key: item[key], DIRECTIVE: "delete"}
            for name in sorted(unmatched)
            for item in unmatched[name]
        ]
    reordered = [get_key(item, key) for item in before] != [get_key(item, key) for item in after]
    ordered = bool(changes) or (want.changes and reordered)
    return changes, [{key: item[key]} for item in after] if ordered else []


def _diff_item(before: Any, after: Any, schema: Node, want: Part) -> dict[str, Any]:
    retain = "retainKeys" in schema.patch_strategy
    return diff_maps(before, after, schema.items, want=want, retain=retain)
