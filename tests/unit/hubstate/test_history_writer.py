"""Samples on their way to the history."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from quarterdeck.hubstate.errors import HistoryRefused, HistoryUnavailable
from quarterdeck.hubstate.history_writer import PAUSE_S, HistoryWriter
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.tasks import Supervisor

_AT = datetime(2026, 1, 1, tzinfo=UTC)


def samples(count: int, start: int = 0) -> list[Sample]:
    return [Sample("m", (), float(number), _AT) for number in range(start, start + count)]


class Kept:
    """A history that can be away."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.is_away = False

    async def write(self, found: Sequence[Sample]) -> None:
        await asyncio.sleep(0)
        if self.is_away:
            raise HistoryUnavailable("nobody answers")
        self.values += [each.value for each in found]

    async def query_range(self, query: RangeQuery) -> list[Series]:
        return []

    async def aclose(self) -> None:
        await asyncio.sleep(0)


async def test_samples_are_written_in_order_and_once() -> None:
    clock, kept = VirtualClock(), Kept()
    writer = HistoryWriter(kept, clock=clock)
    async with Supervisor("test") as tasks:
        tasks.spawn(writer.run(), name="writer")
        writer.add(samples(3))
        writer.add(samples(2, start=3))
        await clock.advance(1)
        writer.add(samples(1, start=5))
        await clock.advance(1)
    assert kept.values == [0, 1, 2, 3, 4, 5]
    assert (writer.written, writer.waiting, writer.dropped) == (6, 0, 0)


async def test_while_nobody_answers_samples_wait_and_the_oldest_go() -> None:
    clock, kept = VirtualClock(), Kept()
    kept.is_away = True
    writer = HistoryWriter(kept, clock=clock, max_waiting=4)
    async with Supervisor("test") as tasks:
        tasks.spawn(writer.run(), name="writer")
        writer.add(samples(3))
        await clock.advance(1)
        assert (writer.waiting, writer.problem) == (3, "nobody answers")
        writer.add(samples(3, start=3))
        assert (writer.waiting, writer.dropped) == (4, 2)
        kept.is_away = False
        await clock.advance(PAUSE_S + 1)
    assert kept.values == [2, 3, 4, 5]
    assert writer.problem == ""


async def test_what_waits_at_the_end_is_tried_once_more() -> None:
    kept = Kept()
    writer = HistoryWriter(kept, clock=VirtualClock())
    writer.add(samples(2))
    await writer.flush()
    assert kept.values == [0, 1]
    kept.is_away = True
    writer.add(samples(1))
    await writer.flush()
    assert writer.waiting == 1


async def test_samples_that_break_a_driver_are_dropped_and_named() -> None:
    class Broken(Kept):
        async def write(self, found: Sequence[Sample]) -> None:
            raise ValueError("odd sample")

    writer = HistoryWriter(Broken(), clock=VirtualClock())
    writer.add(samples(2))
    await writer.flush()
    assert (writer.waiting, writer.dropped) == (0, 2)
    assert "odd sample" in writer.problem


async def test_samples_that_the_history_refuses_do_not_hold_up_later_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Choosy(Kept):
        async def write(self, found: Sequence[Sample]) -> None:
            if any(each.value < 0 for each in found):
                self.values += [each.value for each in found if each.value >= 0]
                raise HistoryRefused("400 cannot parse", count=1)
            await super().write(found)

    clock, kept = VirtualClock(), Choosy()
    writer = HistoryWriter(kept, clock=clock)
    async with Supervisor("test") as tasks:
        tasks.spawn(writer.run(), name="writer")
        writer.add(samples(2, start=-1))
        await clock.advance(1)
        assert (writer.waiting, writer.written, writer.dropped) == (0, 1, 1)
        assert writer.problem == "400 cannot parse"
        writer.add(samples(1, start=1))
        await clock.advance(1)
    assert kept.values == [0, 1]
    assert "samples are dropped" in caplog.text


async def test_an_outage_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    kept.is_away = True
    writer = HistoryWriter(kept, clock=VirtualClock())
    writer.add(samples(1))
    for _ in range(3):
        await writer.flush()
    assert (writer.failures, caplog.text.count("does not answer")) == (3, 1)
