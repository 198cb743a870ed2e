"""Replaces a function by a faster one after it has been called a few times.

A server has hundreds of schemas and uses few of them often. For the others no source is compiled,
and none is compiled when the server starts.
"""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

CALLS_BEFORE_BUILD = 32


def warm_up(
    attributes: dict[str, Any],
    name: str,
    *,
    slow: Callable[[Any], T],
    build: Callable[[], Callable[[Any], T]],
) -> Callable[[Any], T]:
    """Wrap the slow function; after some calls the attribute `name` is set to a faster one."""
    left = CALLS_BEFORE_BUILD

    def run(value: Any) -> T:
        nonlocal left
        left -= 1
        if left <= 0:  # below, if threads counted at once
            attributes[name] = build()
        return slow(value)

    return run
