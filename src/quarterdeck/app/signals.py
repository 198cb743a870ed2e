"""Signals: the first asks to stop and during the start undoes it; a second Ctrl-C cuts short."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from types import TracebackType
from typing import Self

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(Exception):
    """Raised when a signal came during the start, or a second Ctrl-C during the end."""


class Stop:
    """Whether somebody asked this process to stop."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._task: asyncio.Task[object] | None = None
        self._cancels = False
        self._is_cut_short = False

    async def __aenter__(self) -> Self:
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self.ask, number)
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
        if isinstance(error, asyncio.CancelledError) and self._is_cut_short:
            assert self._task is not None
            self._task.uncancel()
            raise Interrupted("stopped without waiting for what was under way") from None

    def ask(self, number: int = signal.SIGTERM) -> None:
        """Ask to stop, as a signal does."""
        if self._task is not None and self._cancels:
            self._task.cancel()
        elif self._task is not None and self._asked.is_set() and number == signal.SIGINT:
            self._is_cut_short = True
            self._task.cancel()
        self._asked.set()

    async def wait(self) -> None:
        """Wait until somebody asks."""
        await self._asked.wait()

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
            if not self._asked.is_set() or self._task is None:
                raise
            self._task.uncancel()
            raise Interrupted("stopped before it was ready; start it again when you like") from None
        finally:
            self._cancels = False
