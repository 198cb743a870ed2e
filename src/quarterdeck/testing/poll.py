"""Polls a condition in tests, with a time limit and a useful failure."""

import asyncio
from collections.abc import Callable

from quarterdeck.kit.clock import Clock, SystemClock


async def eventually(
    condition: Callable[[], object],
    *,
    within_s: float = 240.0,
    every_s: float = 0.01,
    clock: Clock | None = None,
) -> None:
    """Return as soon as the condition holds.

    An exception of the condition counts as "not yet". Raises AssertionError when time is up,
    with the last exception as its cause.
    """
    clock = clock if clock is not None else SystemClock()
    deadline = clock.monotonic() + within_s
    while True:
        problem: Exception | None = None
        try:
            answer = condition()
            if await answer if asyncio.iscoroutine(answer) else answer:
                return
        except Exception as error:
            problem = error
        if clock.monotonic() >= deadline:
            name = getattr(condition, "__name__", "the condition")
            raise AssertionError(f"{name} did not hold within {within_s} s") from problem
        await clock.sleep(every_s)
