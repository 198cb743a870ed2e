"""Signals before and after a process is ready."""

import asyncio
import signal

import pytest

from quarterdeck.app.errors import Interrupted
from quarterdeck.app.signals import StopSignal
from quarterdeck.kit.tasks import Supervisor


async def test_a_signal_while_starting_ends_the_start() -> None:
    async with StopSignal() as stop:
        with pytest.raises(Interrupted, match="before it was ready"), stop.starting():
            stop.request_stop()
            await asyncio.Event().wait()


async def test_a_cancellation_by_somebody_else_stays_one() -> None:
    async def start() -> None:
        async with StopSignal() as stop:
            with stop.starting():
                await asyncio.Event().wait()

    task = asyncio.ensure_future(start())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_first_signal_asks_and_a_second_interrupt_forces() -> None:
    async def work() -> None:
        async with StopSignal() as stop:
            stop.request_stop()
            await stop.wait()
            stop.request_stop(signal.SIGTERM)  # a second SIGTERM changes nothing
            await asyncio.sleep(0)
            stop.request_stop(signal.SIGINT)
            await asyncio.Event().wait()

    with pytest.raises(Interrupted, match="without waiting for work in progress"):
        await asyncio.ensure_future(work())


async def test_the_failure_of_a_part_ends_the_wait() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async with StopSignal() as stop:
        with pytest.raises(ZeroDivisionError):
            async with Supervisor("good") as good, Supervisor("bad") as bad:
                good.spawn(asyncio.Event().wait(), name="good")
                bad.spawn(fail(), name="bad")
                await stop.wait(good, bad)


async def test_a_signal_ends_the_wait_while_all_parts_work() -> None:
    async with StopSignal() as stop, Supervisor("good") as good:
        good.spawn(asyncio.Event().wait(), name="good")
        stop.request_stop()
        await stop.wait(good)
