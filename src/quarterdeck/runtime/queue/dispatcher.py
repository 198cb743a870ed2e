"""Lets worker coroutines wait on a `WorkQueue`, and wakes them when delays run out."""

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.queue.workqueue import QueueItem, WorkQueue

K = TypeVar("K", bound=Hashable)


class Dispatcher(Generic[K]):
    """Blocking `get` over a queue; exactly one sleeping worker wakes per key that becomes ready.

    `run` must be running for delays to fire. It owns no task per key: one sleeper serves the
    earliest deadline.
    """

    def __init__(self, queue: WorkQueue[K], clock: Clock) -> None:
        self.queue = queue
        self._clock = clock
        self._sleepers: deque[asyncio.Future[None]] = deque()
        self._earlier = asyncio.Event()
        self._armed_for: float | None = None
        self._idle = asyncio.Event()

    def add(
        self,
        key: K,
        *,
        priority: int = 0,
        after_s: float = 0.0,
        rate_limited: bool = False,
        cause: object = None,
    ) -> bool:
        """Add to the queue, and wake a worker or the delay timer as needed."""
        ready = self.queue.ready
        added = self.queue.add(
            key, priority=priority, after_s=after_s, rate_limited=rate_limited, cause=cause
        )
        if self._sleepers and self.queue.ready > ready:
            self._wake_one()
        if added and (after_s > 0 or rate_limited):
            self._rearm(self.queue.due_at(key))
        return added

    async def get(self) -> QueueItem[K] | None:
        """The next key; None once the queue is closed and has nothing ready.

        `queue.pop` is the same without waiting.
        """
        while True:
            taken = self.queue.pop()
            if taken is not None:
                return taken
            if self.queue.closed:
                return None
            await self._sleep()

    def done(self, key: K) -> None:
        """Finish a key in the queue; ends `wait_drained` when no key is being processed."""
        self.queue.done(key)
        if self._sleepers and self.queue.ready:
            self._wake_one()
        if self.queue.closed and not self.queue.processing:
            self._idle.set()

    def close(self) -> None:
        """Take no more keys and let workers leave when they run dry."""
        self.queue.close()
        self._earlier.set()
        while self._sleepers:
            self._wake_one()
        if not self.queue.processing:
            self._idle.set()

    async def wait_drained(self) -> None:
        """Wait, after `close`, until no key is being processed."""
        await self._idle.wait()

    async def run(self) -> None:
        """Wake a worker whenever a delayed key becomes ready; ends when the queue is closed."""
        while not self.queue.closed:
            self._earlier.clear()
            delay_s = self.queue.next_delay_s()
            if delay_s is None:
                self._armed_for = None
                await self._earlier.wait()
            elif delay_s > 0:
                self._armed_for = self._clock.monotonic() + delay_s
                await _sleep_unless_set(self._clock, delay_s, self._earlier)
            else:
                self._release_due()

    def _release_due(self) -> None:
        """Make due keys ready, and wake one worker for each."""
        before = self.queue.ready
        self.queue.release()
        for _ in range(self.queue.ready - before):
            self._wake_one()

    def _rearm(self, due_at: float | None) -> None:
        if due_at is not None and (self._armed_for is None or due_at < self._armed_for):
            self._earlier.set()

    async def _sleep(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._wake_one()  # pass the wake-up on, or a key stays unprocessed
            elif future in self._sleepers:  # else a key came meanwhile and went to the next
                self._sleepers.remove(future)
            raise

    def _wake_one(self) -> None:
        while self._sleepers:
            future = self._sleepers.popleft()
            if not future.done():
                future.set_result(None)
                return


async def _sleep_unless_set(clock: Clock, seconds: float, event: asyncio.Event) -> bool:
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
