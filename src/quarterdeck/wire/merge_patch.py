"""JSON merge patch (RFC 7386): members replace, `null` deletes, everything else recurses."""

from typing import Any


def apply(target: Any, patch: Any) -> Any:
    """The patched document; neither argument is changed, unchanged parts are shared."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = apply(result.get(key), value)
        else:
            result[key] = value
    return result


def create(before: Any, after: Any) -> Any:
    """The smallest patch with `apply(before, patch) == after`.

    A merge patch cannot say `null`, so members of `after` that are None read as absent.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: dict[str, Any] = {key: None for key in before if after.get(key) is None}
    for key, value in after.items():
        old = before.get(key)
        if value is None or value is old:
            continue
        if isinstance(value, dict) and isinstance(old, dict):
            if inner := create(old, value):
                patch[key] = inner
        elif key not in before or not is_equal(old, value):
            patch[key] = value
    return patch


def is_equal(left: Any, right: Any) -> bool:
    """Equality as JSON has it: `1` and `true` differ, `1` and `1.0` do not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return bool(left == right)
