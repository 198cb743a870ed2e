"""Worlds whose time is a virtual clock: let it pass until something holds."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from quarterdeck.testing import VirtualClock
from quarterdeck.wire.status import ApiError

_ROUNDS = 4
_IDLE_TURNS = 5


def has_ready_callbacks() -> bool:
    """Whether the event loop has more to run now; asyncio offers no public way to ask."""
    return bool(asyncio.get_running_loop()._ready)  # type: ignore[attr-defined]


class VirtualTime:
    """A clock that a test moves, and turns of the event loop in which everything ready may run."""

    def __init__(self, clock: VirtualClock, *, turns: int, limit_s: float) -> None:
        """`turns` let everything ready run; `limit_s` is how long `until` waits, if not told."""
        self.clock = clock
        self._turns = turns
        self._limit_s = limit_s

    async def until(self, test: Callable[[], Any], *, within_s: float = 0.0) -> Any:
        """Let time pass, as little as possible, until something holds; returns what it is."""
        within_s = within_s or self._limit_s
        deadline = self.clock.monotonic() + within_s
        while True:
            for _ in range(_ROUNDS):
                with contextlib.suppress(ApiError, AssertionError):
                    found = test()
                    if asyncio.iscoroutine(found):
                        found = await found
                    if found:
                        return found
                await self.settle(self._turns // _ROUNDS)
            if self.clock.monotonic() >= deadline:
                raise AssertionError(f"it did not hold within {within_s} virtual seconds")
            await self._step(deadline)

    async def settle(self, turns: int = 0) -> None:
        """Let everything that is ready run, without time passing."""
        idle = 0
        for _ in range(turns or self._turns):
            await asyncio.sleep(0)
            idle = 0 if has_ready_callbacks() else idle + 1
            if idle == _IDLE_TURNS:
                return

    async def advance(self, seconds: float) -> None:
        """Let time pass, with room for everything that becomes due."""
        target = self.clock.monotonic() + seconds
        await self.settle()
        while self.clock.monotonic() < target:
            await self._step(target)

    async def _step(self, limit: float) -> None:
        deadline = self.clock.next_deadline
        at = min(limit, deadline if deadline is not None else limit)
        await self.clock.advance(max(0.0, at - self.clock.monotonic()))
        await self.settle()
