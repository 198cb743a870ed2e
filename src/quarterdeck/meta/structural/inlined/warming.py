"""Replaces a function by a faster one after it has been called a few times.

A server has hundreds of schemas and uses a few of them often. The others must not pay for source
that is compiled at the wrong time, at the start.
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
    """The slow function; its last call sets the attribute `name` to what `build` returns."""
    left = CALLS_BEFORE_BUILD

    def run(value: Any) -> T:
        nonlocal left
        left -= 1
        if left <= 0:  # below, if threads counted at once
            attributes[name] = build()
        return slow(value)

    return run
