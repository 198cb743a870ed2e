"""Applies changes of typed objects to their documents, and keeps fields that the types lack.

The functions are pure, on plain JSON data. `apply_overlay` is a three-way merge: where `before` and
`after` are equal the original is kept, where they differ it gets the value of `after`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_IDENTITIES = ("uid", "name", "type", "key")


def apply_overlay(
    original: Mapping[str, Any], *, before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    """Apply the difference between `before` and `after` to `original`.

    `before` is `original` after typed decoding, so a member that only `original` has is unknown to
    the type, and is kept.
    """
    merged = dict(original)
    for name in before.keys() - after.keys():
        merged.pop(name, None)
    for name, value in after.items():
        if name in before and before[name] == value:
            continue
        merged[name] = _overlay_value(original.get(name), before.get(name), value)
    return merged


def _overlay_value(original: Any, before: Any, after: Any) -> Any:
    match original, before, after:
        case dict(), dict(), dict():
            return apply_overlay(original, before=before, after=after)
        case list(), list(), list():
            return _overlay_list(original, before, after)
        case _:
            return after


def _overlay_list(
    original: Sequence[Any], before: Sequence[Any], after: Sequence[Any]
) -> list[Any]:
    if len(original) != len(before):
        return list(after)
    identity = _find_identity([*before, *after])
    if identity is None:
        return [
            _overlay_value(original[at], before[at], value) if at < len(before) else value
            for at, value in enumerate(after)
        ]
    at_identity = {entry[identity]: at for at, entry in enumerate(before)}
    return [
        _overlay_value(original[at], before[at], value)
        if (at := at_identity.get(value[identity])) is not None
        else value
        for value in after
    ]


def _find_identity(entries: Sequence[Any]) -> str | None:
    """The member that identifies the entries of a list, if there is one."""
    if not all(isinstance(entry, dict) for entry in entries):
        return None
    return next(
        (
            name
            for name in _IDENTITIES
            if all(isinstance(entry.get(name), str) for entry in entries)
        ),
        None,
    )
