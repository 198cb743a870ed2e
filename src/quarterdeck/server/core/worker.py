"""Runs long computations of requests in threads.

A body of three megabytes takes seconds to read, merge and validate. On the event loop all requests
would wait for it; a thread shares the interpreter with the loop, which runs again every few
milliseconds. A computation may read only what does not change meanwhile: objects that were decoded
for it, schemas, and settings. The store, the registry and admission stay on the loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Entry

Result = TypeVar("Result")

_THREADS = 2
"""Two, so that a large request does not wait for a very large one. Each further thread makes the
event loop wait longer for its turn."""
DECODING_SPEED = 8
"""Decoding JSON is faster than merging or validating an object by this factor."""


class Worker:
    """Runs the computations of large requests."""

    def __init__(self, inline_bytes: int) -> None:
        self._inline_bytes = inline_bytes
        self._executor: Executor | None = None
        self.computations = 0
        """How many computations ran in a thread."""

    def is_quick(self, size: int) -> bool:
        """Whether a computation that reads `size` bytes may run on the event loop."""
        return size <= self._inline_bytes

    async def run(self, size: int, compute: Callable[[], Result]) -> Result:
        """Call `compute`, which reads `size` bytes: at once if they are few, else in a thread.

        Raises:
            Exception: what the computation raises.
        """
        if size <= self._inline_bytes:
            return compute()
        return await self.run_in_thread(compute)

    async def run_in_thread(self, compute: Callable[[], Result]) -> Result:
        """Call `compute`, which may take long, in a thread.

        Raises:
            Exception: what the computation raises.
        """
        self.computations += 1
        return await asyncio.get_running_loop().run_in_executor(self._start(), compute)

    async def decode(self, resource: Resource, entry: Entry) -> Object:
        """Decode a stored object in the version of a resource, a large one in a thread."""
        size = len(entry.value)
        cost = size // DECODING_SPEED if resource.strategy.stored_as_served else size
        return await self.run(cost, lambda: decode_stored(resource, entry.value))

    def close(self) -> None:
        """Cancel computations that have not started; running ones continue to their end."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None

    def _start(self) -> Executor:
        if self._executor is None:
            from concurrent.futures.thread import ThreadPoolExecutor  # most servers need none

            self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="large-requests")
        return self._executor
