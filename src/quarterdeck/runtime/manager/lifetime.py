"""When a program ends: by a signal, or because one of its parts failed."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Iterator

from quarterdeck.kit.tasks import Supervisor


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGTERM and SIGINT call `stop`, where the loop may take signals."""
    loop, taken = asyncio.get_running_loop(), []
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stop)
            taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


@contextlib.asynccontextmanager
async def cancel_on_failure(*watched: "Supervisor | asyncio.Future[None]") -> AsyncIterator[None]:
    """Cancel the block when one of the watched tasks fails, and raise its failure."""
    owner = asyncio.current_task()
    assert owner is not None
    failure: list[BaseException] = []

    async def watch(source: "Supervisor | asyncio.Future[None]") -> None:
        try:
            if isinstance(source, Supervisor):
                await source.wait_failed()
            else:
                await asyncio.shield(source)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if not failure:
                failure.append(error)
                owner.cancel()

    async with Supervisor("failures") as tasks:
        for number, source in enumerate(watched):
            tasks.spawn(watch(source), name=f"failure-watch-{number}")
        try:
            yield
        except asyncio.CancelledError:
            if not failure:
                raise
            owner.uncancel()
    if failure:
        raise failure[0]


async def cancel_task(task: "asyncio.Future[None]") -> None:
    """Cancel a task and wait until it has ended; a failure of it is not raised."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
