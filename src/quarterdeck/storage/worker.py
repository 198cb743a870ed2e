"""A thread that runs blocking jobs in order, and reports their results to the event loop."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["Worker"]

T = TypeVar("T")
Job = Callable[[], None]


class Worker:
    """A thread with a queue. It sleeps in the kernel when there is nothing to do."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run a job on the thread, then `done(result, error)` on the caller's event loop."""
        loop = asyncio.get_running_loop()

        def run() -> None:
            result: T | None = None
            error: Exception | None = None
            try:
                result = job()
            except Exception as caught:
                error = caught
            try:
                loop.call_soon_threadsafe(done, result, error)
            except RuntimeError:
                pass  # the loop is closed: no caller waits

        self._jobs.put(run)

    async def call(self, job: Callable[[], T]) -> T:
        """Run a job on the thread and wait for its result."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def done(result: T | None, error: Exception | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)  # type: ignore[arg-type]  # None only if T is

        self.submit(job, done)
        return await future

    def stop(self) -> None:
        """End the thread after its queued jobs; this blocks, so they must be short."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
