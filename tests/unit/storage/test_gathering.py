"""When writes that were decided are sent off to the log, and how many together."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from quarterdeck.storage.log import Done, Log
from quarterdeck.storage.sequencer import BATCH_GOAL, Sequencer
from quarterdeck.storage.state import State
from quarterdeck.storage.types import StoreEvent, StoreKey


class HeldLog:
    """A log whose commits end when a test says so."""

    def __init__(self, *, is_costly: bool) -> None:
        self.is_costly = is_costly
        self.batches: list[int] = []
        self._done: list[Done] = []

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        self.batches.append(len(events))
        self._done.append(done)

    def finish(self) -> None:
        self._done.pop(0)(None)


class Writes:
    """Writes to new keys, one after the other."""

    def __init__(self, *, is_costly: bool = True) -> None:
        self.log = HeldLog(is_costly=is_costly)
        self.sequencer = Sequencer(
            State(), cast("Log", self.log), revision=1, facts=None, publish=lambda _: None
        )
        self._count = 0

    def decide(self, count: int) -> None:
        for _ in range(count):
            self._count += 1
            key = StoreKey("pods", "default", f"p{self._count}")
            self.sequencer.put(key, lambda _: b"{}", facts=None, expected=0)


async def turn(count: int = 1) -> None:
    """Let the loop call what is due, as many times over."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_write_alone_is_sent_off_at_the_next_turn() -> None:
    writes = Writes()
    writes.decide(1)
    assert writes.log.batches == []
    await turn()
    assert writes.log.batches == [1]


async def test_a_write_alone_follows_another_without_a_turn_between() -> None:
    writes = Writes()
    writes.decide(1)
    await turn()
    writes.decide(1)
    writes.log.finish()
    assert writes.log.batches == [1, 1]


async def test_a_batch_is_kept_back_while_the_loop_adds_to_it() -> None:
    writes = Writes()
    writes.decide(2)
    for _ in range(8):
        await turn()
        writes.decide(1)
    assert writes.log.batches == []
    await turn(4)
    assert writes.log.batches == [10]


async def test_after_a_batch_even_one_write_waits_for_the_others() -> None:
    writes = Writes()
    writes.decide(3)
    await turn(3)
    assert writes.log.batches == [3]
    writes.decide(1)
    writes.log.finish()
    await turn()
    writes.decide(2)
    await turn(4)
    assert writes.log.batches == [3, 3]


async def test_a_log_that_costs_nothing_gets_all_there_is_at_the_next_turn() -> None:
    writes = Writes(is_costly=False)
    writes.decide(2 * BATCH_GOAL)
    assert writes.log.batches == []
    await turn()
    writes.decide(3)
    writes.log.finish()
    assert writes.log.batches == [2 * BATCH_GOAL, 3]


async def test_enough_writes_are_sent_off_at_once() -> None:
    writes = Writes()
    writes.decide(BATCH_GOAL + 3)
    assert writes.log.batches == [BATCH_GOAL]
    writes.decide(BATCH_GOAL)
    writes.log.finish()
    assert writes.log.batches == [BATCH_GOAL, BATCH_GOAL + 3]


async def test_writes_that_belong_together_are_not_parted() -> None:
    writes = Writes()
    with writes.sequencer.transaction():
        writes.decide(2 * BATCH_GOAL)
        assert writes.log.batches == []
    await turn()
    assert writes.log.batches == [2 * BATCH_GOAL]


@pytest.mark.parametrize("count", [1, 2, BATCH_GOAL - 1, BATCH_GOAL, 3 * BATCH_GOAL])
async def test_every_write_is_sent_off_without_another_one(count: int) -> None:
    writes = Writes()
    writes.decide(count)
    while writes.sequencer.waiting:
        await turn(4)
        writes.log.finish()
    assert sum(writes.log.batches) == count
