"""Signals: the first stops the process, also during the start; a second Ctrl-C stops it at once.

So does the failure of a part that runs in the background.
"""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from quarterdeck.app.errors import Interrupted

if TYPE_CHECKING:
    from quarterdeck.kit.tasks import Supervisor

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignal:
    """Whether this process was asked to stop."""

    def __init__(self) -> None:
        self._requested = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._cancels = False
        self._is_forced = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.request_stop, number)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.remove_signal_handler(number)
        if isinstance(error, asyncio.CancelledError) and self._is_forced:
            assert self._task is not None
            self._task.uncancel()
            raise Interrupted("stopped without waiting for work in progress") from None

    def request_stop(self, number: int = signal.SIGTERM) -> None:
        """Ask to stop, as a signal does."""
        if self._task is not None and self._cancels:
            self._task.cancel()
        elif self._task is not None and self._requested.is_set() and number == signal.SIGINT:
            self._is_forced = True
            self._task.cancel()
        self._requested.set()

    async def wait(self, *parts: "Supervisor") -> None:
        """Wait for the first signal, or raise the failure of a part, which nobody could see else.

        A process without one of its parts does harm: a hub would enforce old policies for ever.
        """
        waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._requested.wait())]
        waiting += [asyncio.ensure_future(each.wait_failed()) for each in parts]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """A block that a signal cancels.

        Raises:
            Interrupted: if one did.
        """
        self._cancels = True
        try:
            yield
        except asyncio.CancelledError:
            if not self._requested.is_set() or self._task is None:
                raise
            self._task.uncancel()
            raise Interrupted("stopped by a signal before it was ready") from None
        finally:
            self._cancels = False
