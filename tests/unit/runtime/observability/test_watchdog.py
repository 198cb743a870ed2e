"""The watchdog of the event loop."""

import asyncio
import threading

from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.metrics import Histogram
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.observability.watchdog import LoopWatchdog


async def test_the_watchdog_names_the_code_that_blocks_the_loop() -> None:
    dog = LoopWatchdog(
        clock=SystemClock(), log=logging.get_logger("dog"), lag=Histogram((0.1,)), limit_s=0.05
    )
    running = asyncio.ensure_future(dog.run())
    for _ in range(50):  # a busy machine may stop the loop as well, and be named instead
        await asyncio.sleep(0.12)
        guilty_code()
        await asyncio.sleep(0.12)
        if "guilty_code" in dog.last_stack:
            break
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert dog.incidents >= 1
    assert "guilty_code" in dog.last_stack


def guilty_code() -> None:
    threading.Event().wait(0.4)
