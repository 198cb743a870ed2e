"""A time limit on a given clock, so that it also expires in virtual time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from quarterdeck.kit.clock import Clock, SystemClock

T = TypeVar("T")


async def run_within(clock: Clock, seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Await the work, and cancel it when the time is up.

    Raises:
        TimeoutError: if it did not end in time.
    """
    if isinstance(clock, SystemClock):
        async with asyncio.timeout(seconds):
            return await work
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        for each in (task, timer):
            each.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)
