"""The watchdog of the event loop."""

import asyncio
import threading

from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.metrics import Histogram
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.observability.watchdog import LoopWatchdog, read_processor_wait_s


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


async def test_a_thread_that_gets_no_processor_is_not_reported() -> None:
    asked, loop_thread = 0, threading.get_native_id()

    def read_wait_s(native_id: int) -> float:
        """As if the thread had done nothing but wait for a processor since it was asked."""
        nonlocal asked
        assert native_id == loop_thread
        asked += 1
        return asked * 1000.0

    dog = LoopWatchdog(
        clock=SystemClock(),
        log=logging.get_logger("dog"),
        lag=Histogram((0.1,)),
        limit_s=0.02,
        read_wait_s=read_wait_s,
    )
    running = asyncio.ensure_future(dog.run())
    while asked < 3:
        await asyncio.sleep(0)
        guilty_code()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert dog.incidents == 0


def test_a_thread_that_computes_waits_for_processors_at_times() -> None:
    before = read_processor_wait_s(threading.get_native_id())
    assert read_processor_wait_s(threading.get_native_id()) >= before >= 0.0
    assert read_processor_wait_s(0) == 0.0


class ToldHistogram(Histogram):
    """Says when something was observed."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        super().__init__((60.0,))
        self.told = asyncio.Event()

    def observe(self, value: float) -> None:
        super().observe(value)
        self.told.set()


async def test_a_loop_that_is_free_answers_and_its_lag_is_measured() -> None:
    lag = ToldHistogram()
    dog = LoopWatchdog(clock=SystemClock(), log=logging.get_logger("dog"), lag=lag, limit_s=0.01)
    running = asyncio.ensure_future(dog.run())
    await lag.told.wait()
    assert dog.check() == ""
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert lag.count >= 1
