"""An informer ends when it is cancelled, whatever happens at the same moment."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.kit.clock import SystemClock
from quarterdeck.runtime.informer.informer import Informer


class BreakingApi:
    """Opens watches that break when they are told to."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.broken = asyncio.Event()

    async def get(self, *_arguments: Any, **_options: Any) -> bytes:
        raise ConnectionFailed("no object here")

    async def list(self, *_arguments: Any, **_options: Any) -> Any:
        raise ConnectionFailed("no list here")

    @asynccontextmanager
    async def watch(self, *_arguments: Any, **_options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        yield self._break()

    async def _break(self) -> AsyncIterator[bytes]:
        self.opened.set()
        await self.broken.wait()
        raise ConnectionFailed("broken")
        yield b""


@pytest.mark.parametrize("turns", range(6))
async def test_cancellation_while_the_stream_breaks_is_not_lost(turns: int) -> None:
    api = BreakingApi()
    informer = Informer(api, ConfigMap, clock=SystemClock(), rng=random.Random(1))
    running = asyncio.ensure_future(informer.run())
    await api.opened.wait()
    api.broken.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=240)
    if not done:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.wait({running})
        pytest.fail("the informer goes on after it was cancelled")
    assert running.cancelled()
