"""Tasks with an owner: named, awaited, and with failures that reach the owner."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Supervisor:
    """A group of background tasks that end with their owner.

    Unlike `asyncio.TaskGroup`, leaving the block cancels what still runs: background work has no
    natural end. The first failure cancels the others and is raised to the owner, from `wait_failed`
    while the block runs or on leaving it.
    """

    def __init__(self, name: str = "supervisor") -> None:
        self._name = name
        self._tasks: set[asyncio.Task[Any]] = set()
        self._failure: BaseException | None = None
        self._failed = asyncio.Event()
        self._closing = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.cancel_all()
        if self._failure is not None and error is None:
            raise self._failure

    def spawn(self, work: Coroutine[Any, Any, Result], *, name: str) -> asyncio.Task[Result]:
        """Start a task of this group; its name appears in logs and leak reports."""
        if self._closing:
            work.close()
            raise RuntimeError(f"{self._name} is closing; {name} was not started")
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    async def wait_failed(self) -> None:
        """Wait for the first failure and raise it."""
        await self._failed.wait()
        if self._failure is not None:
            raise self._failure

    async def join(self) -> None:
        """Wait until every task has ended by itself."""
        while self._tasks and self._failure is None:
            await asyncio.wait(set(self._tasks), return_when=asyncio.FIRST_COMPLETED)
        if self._failure is not None:
            raise self._failure

    async def cancel_all(self) -> None:
        """Cancel every task and wait until they are gone."""
        self._closing = True
        while self._tasks:
            pending = set(self._tasks)
            for task in pending:
                task.cancel()
            await asyncio.wait(pending)
            await asyncio.sleep(0)

    def statistics(self) -> dict[str, int]:
        """How many tasks run."""
        return {"tasks": len(self._tasks)}

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None and self._failure is None:
            self._failure = error
            self._failed.set()
            for other in self._tasks:
                other.cancel()


def convert_cancellation(error: asyncio.CancelledError) -> RuntimeError:
    """The error of work that awaited a task or future which somebody else cancelled.

    Raises:
        asyncio.CancelledError: if the current task itself is cancelled.
    """
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise error
    return RuntimeError("a task or future that was awaited has been cancelled")


async def fan_out(
    items: Iterable[Item],
    worker: Callable[[Item], Awaitable[Result]],
    *,
    limit: int,
) -> list[Result]:
    """Run `worker` over all items, at most `limit` at a time; results in the order of the items.

    Items are taken only as workers become free, so an endless iterable costs no memory. The first
    failure cancels the rest.
    """
    if limit < 1:
        raise ValueError(f"the limit of fan_out must be at least 1, got {limit}")
    source = enumerate(items)
    results: dict[int, Result] = {}

    async def take() -> None:
        for index, item in source:
            results[index] = await worker(item)

    async with asyncio.TaskGroup() as group:
        for number in range(limit):
            group.create_task(take(), name=f"fan-out-{number}")
    return [results[index] for index in sorted(results)]
