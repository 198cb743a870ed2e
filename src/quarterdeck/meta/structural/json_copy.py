"""Copies of JSON values: like `copy.deepcopy`, but faster."""

from typing import Any


def copy_value(value: Any) -> Any:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {key: copy_value(member) for key, member in value.items()}
    if isinstance(value, list):
        return [copy_value(member) for member in value]
    return value
