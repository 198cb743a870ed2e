"""Who waits for a compaction, and what ends the waiting."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from quarterdeck.storage.compaction import Compactor
from quarterdeck.storage.errors import Closed, StorageError
from quarterdeck.storage.log import Log

Done = Callable[[int, StorageError | None], None]


class SteppedLog:
    """A log whose steps of a compaction end when a test says so."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, Done]] = []

    def compact(self, reached: int, target: int, done: Done) -> None:
        self.steps.append((reached, target, done))

    def finish(self, reached: int, error: StorageError | None = None) -> None:
        self.steps.pop(0)[2](reached, error)


async def start(*targets: int) -> tuple[Compactor, SteppedLog, "list[asyncio.Task[None]]"]:
    """A compactor, and one task that waits for each target."""
    log = SteppedLog()
    compactor = Compactor(cast("Log", log), compacted=0, retain=None, forget=lambda _: None)
    tasks = [asyncio.create_task(compactor.compact(each)) for each in targets]
    await asyncio.sleep(0)
    return compactor, log, tasks


async def test_each_waits_for_its_own_revision_only() -> None:
    _, log, [early, late] = await start(5, 9)
    log.finish(5)
    await early
    assert not late.done()
    assert [(reached, target) for reached, target, _ in log.steps] == [(5, 9)]
    log.finish(9)
    await late


async def test_somebody_who_gave_up_does_not_hold_up_the_others() -> None:
    _, log, [first, second] = await start(5, 5)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    log.finish(5)
    async with asyncio.timeout(240):
        await second


@pytest.mark.parametrize("failing", ["a step", "the end"])
async def test_a_failure_reaches_whoever_still_waits(failing: str) -> None:
    compactor, log, tasks = await start(5, 9)
    if failing == "a step":
        log.finish(5, StorageError("disk"))
        expected: list[Any] = [type(None), StorageError]
    else:
        compactor.close()
        expected = [Closed, Closed]
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in found] == expected
    assert len(log.steps) == (0 if failing == "a step" else 1), "no further step is taken"
