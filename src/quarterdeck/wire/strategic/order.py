"""Order of lists that are merged by key.

Items in `$setElementOrder` of the patch (or else in the patch itself) are in that order; items that
only the live list has keep their place relative to their live neighbors.
"""

import heapq
from collections.abc import Sequence
from typing import Any

from quarterdeck.meta.field import format_go_value
from quarterdeck.wire.strategic.errors import (
    StrategicMergeError,
    build_merge_key_type_error,
    build_missing_merge_key_error,
    build_mixed_types_error,
    build_nested_list_error,
)

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
ELEMENT_ORDER = "$setElementOrder"
DELETE_PRIMITIVES = "$deleteFromPrimitiveList"


def has_maps(*lists: Sequence[Any]) -> bool:
    """Whether the items are objects; lists of mixed kinds or of lists are refused."""
    kinds = {type(item) for items in lists for item in items}
    if list in kinds:
        raise build_nested_list_error()
    if len(kinds) > 1:
        raise build_mixed_types_error(*lists)
    return dict in kinds


def get_key(item: Any, merge_key: str) -> Any:
    """Return the value that identifies an item: its merge key, or itself if it is a scalar."""
    if not merge_key:
        return _require_scalar(item, item)
    if not isinstance(item, dict):
        raise StrategicMergeError("expected a map[string]interface {}, but received another value")
    if merge_key not in item:
        raise build_missing_merge_key_error(item, merge_key)
    return _require_scalar(item[merge_key], item)


def _require_scalar(key: Any, item: Any) -> Any:
    if isinstance(key, list | dict):
        raise build_merge_key_type_error(key, item)
    return key


def find_positions(items: Sequence[Any], merge_key: str) -> dict[Any, int]:
    """Return the first index of every key."""
    found: dict[Any, int] = {}
    for index, item in enumerate(items):
        found.setdefault(get_key(item, merge_key), index)
    return found


def arrange(
    merged: Sequence[Any], *, wanted: Sequence[Any], live: Sequence[Any], merge_key: str
) -> list[Any]:
    """Order merged items: those in `wanted` by its order, the others by that of `live`."""
    wanted_at = find_positions(wanted, merge_key)
    live_at = find_positions(live, merge_key)
    named: list[Any] = []
    others: list[Any] = []
    for item in merged:
        (named if get_key(item, merge_key) in wanted_at else others).append(item)
    named.sort(key=lambda item: wanted_at[get_key(item, merge_key)])
    others.sort(key=lambda item: live_at.get(get_key(item, merge_key), -1))
    return _interleave(others, named, live_at, merge_key)


def _interleave(
    others: list[Any], named: list[Any], live_at: dict[Any, int], merge_key: str
) -> list[Any]:
    result: list[Any] = []
    left = right = 0
    while left < len(others) and right < len(named):
        ours = live_at.get(get_key(others[left], merge_key), -1)
        theirs = live_at.get(get_key(named[right], merge_key), -1)
        if 0 <= ours < theirs:
            result.append(others[left])
            left += 1
        else:
            result.append(named[right])
            right += 1
    return result + others[left:] + named[right:]


def deduplicate(items: Sequence[Any]) -> list[Any]:
    """Drop duplicate scalars; the last item takes the place of a dropped one, as in Kubernetes.

    The indices of each scalar are in a heap, because comparing all pairs takes minutes for a long
    list.
    """
    result = list(items)
    places: dict[Any, list[int]] = {}
    for place, item in enumerate(result):
        places.setdefault(item, []).append(place)
    index = 0
    while index < len(result) - 1:
        item = result[index]
        same = places[item]
        while same:
            place = heapq.heappop(same)
            if not index < place < len(result) or result[place] != item:
                continue  # it was moved from there, or dropped
            last = result.pop()
            if place < len(result):
                result[place] = last
                heapq.heappush(places[last], place)
        index += 1
    return result


def simulate_deletions(live: list[Any], changes: list[Any], key: str) -> list[Any]:
    """Return the live list in the order that Kubernetes uses after a patch deleted items.

    New items take the places of deleted ones at the end of the list, and then count as live: so a
    renamed container comes after those that only the server has.
    """
    gone = {item[key] for item in changes if is_deletion(item) and key in item}
    if not gone:
        return live
    kept = [item for item in live if item.get(key) not in gone]
    known = {item.get(key) for item in kept}
    new = [item for item in changes if DIRECTIVE not in item and item.get(key) not in known]
    return (kept + new)[: len(live)]


def arrange_keeping_deletions(
    merged: Sequence[Any], wanted: Sequence[Any], live: Sequence[Any], key: str
) -> list[Any]:
    """Order merged items; those with `$patch: delete` (in a combined patch) come last."""
    kept = [item for item in merged if not is_deletion(item)]
    deletions = [item for item in merged if is_deletion(item)]
    return arrange(kept, wanted=wanted, live=live, merge_key=key) + deletions


def is_deletion(item: Any) -> bool:
    """Whether an item of a patch is a deletion."""
    return isinstance(item, dict) and item.get(DIRECTIVE) == "delete"


def check_order(changes: Sequence[Any], wanted: Sequence[Any], key: str) -> None:
    """Check that the changed items are in `$setElementOrder`, in the same order.

    A `$patch: replace` must come before the last of them, as in Kubernetes.
    """
    if not wanted or not changes:
        return
    pending = [item for item in changes if not is_deletion(item)]
    index = place = 0
    while index < len(pending) and place < len(wanted):
        item = pending[index]
        if isinstance(item, dict) and DIRECTIVE in item:
            index += 1
            continue
        index += get_key(item, key) == get_key(wanted[place], key)
        place += 1
    if index < len(pending):
        raise StrategicMergeError(
            f"The order in patch list:\n{format_go_value(list(changes))}\n doesn't match"
            f" {ELEMENT_ORDER} list:\n{format_go_value(list(wanted))}\n"
        )
