"""Waiting for whichever comes first, a moment or an event, without leaving a task behind."""

import asyncio

from quarterdeck.kit.clock import Clock


async def sleep_unless_set(clock: Clock, seconds: float, event: asyncio.Event) -> bool:
    """Sleep, but return early when the event is set; True if it is."""
    if seconds <= 0 or event.is_set():
        await asyncio.sleep(0)
        return event.is_set()
    async with asyncio.TaskGroup() as group:
        both = {
            group.create_task(clock.sleep(seconds), name="sleep"),
            group.create_task(event.wait(), name="event"),
        }
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in both:
            task.cancel()
    return event.is_set()
