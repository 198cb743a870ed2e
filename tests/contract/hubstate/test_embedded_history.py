"""What only the embedded history does: it survives, rolls up, and forgets."""

import asyncio
import os
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from quarterdeck.hubstate.embedded.history import (
    SETTLED_HOURS,
    EmbeddedHistory,
    open_history,
)
from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.storage.errors import DiskFull
from quarterdeck.storage.history import History
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog
from quarterdeck.storage.state import State
from quarterdeck.storage.store import Store
from quarterdeck.storage.types import StoreEvent

RUNS = 40 if os.environ.get("QUARTERDECK_FULL") else 4


async def _fill(path: Path | None, clock: VirtualClock, hours: int) -> None:
    history = open_history(path, clock=clock, retention_s=100 * 3600)
    for number in range(hours * 12):
        await history.write([Sample("m", (), float(number), clock.now())])
        await clock.advance(300)
    await history.aclose()


async def _query(path: Path, clock: VirtualClock, *, ago: timedelta, step: timedelta) -> Series:
    history = open_history(path, clock=clock, retention_s=100 * 3600)
    found = await history.query_range(
        RangeQuery(name="m", start=clock.now() - ago, end=clock.now(), step=step, reduction="avg")
    )
    await history.aclose()
    return found[0]


async def test_raw_samples_survive_a_restart(tmp_path: Path) -> None:
    clock = VirtualClock()
    await _fill(tmp_path / "h.db", clock, 1)
    step = timedelta(minutes=5)
    found = await _query(tmp_path / "h.db", clock, ago=timedelta(minutes=55), step=step)
    assert [value for _, value in found.points] == [float(n) for n in range(1, 12)]


async def test_old_samples_are_rolled_up_and_their_average_stays_exact(tmp_path: Path) -> None:
    clock = VirtualClock()
    await _fill(tmp_path / "h.db", clock, 60)
    hour = timedelta(hours=1)
    found = await _query(tmp_path / "h.db", clock, ago=timedelta(hours=60), step=hour)
    values = dict(found.points)
    oldest, newest = min(values), max(values)
    assert len(values) >= 59
    # Each hour holds twelve samples in a row: averages grow by twelve an hour.
    assert abs((values[newest] - values[oldest]) / ((newest - oldest) / 3600) - 12) < 0.5


async def test_what_is_older_than_the_retention_is_forgotten(tmp_path: Path) -> None:
    clock = VirtualClock()
    await _fill(tmp_path / "h.db", clock, 2)
    await clock.advance(101 * 3600)
    began = clock.now().timestamp()
    await _fill(tmp_path / "h.db", clock, SETTLED_HOURS + 2)
    found = await _query(
        tmp_path / "h.db", clock, ago=timedelta(hours=200), step=timedelta(hours=1)
    )
    assert min(at for at, _ in found.points) >= began


class SetClock(VirtualClock):
    """A clock whose time of day is set forward and back."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = timedelta()

    def now(self) -> datetime:
        return super().now() + self.shift


async def _average(path: Path, clock: SetClock) -> float:
    """The average of all that was ever written, as one step."""
    history = open_history(path, clock=clock)
    end = clock.now() + timedelta(days=3)
    days = timedelta(days=9)
    found = await history.query_range(
        RangeQuery(name="m", start=end, end=end, step=days, reduction="avg")
    )
    await history.aclose()
    return found[0].points[0][1]


@pytest.mark.parametrize("seed", range(RUNS))
async def test_no_sample_is_lost_or_counted_twice_when_the_clock_is_set(
    tmp_path: Path, seed: int
) -> None:
    rng, clock, written = random.Random(seed), SetClock(), list[float]()
    path = tmp_path / "h.db"
    for _ in range(8):
        history = open_history(path, clock=clock)
        for _ in range(rng.randrange(1, 60)):
            written.append(float(rng.randrange(1000)))
            await history.write([Sample("m", (), written[-1], clock.now())])
            await clock.advance(rng.uniform(1, 400))
        await history.aclose()
        assert await _average(path, clock) == pytest.approx(sum(written) / len(written))
        clock.shift = timedelta(hours=rng.choice((-25, -3, -1, 0, 0, 1, 24)))


async def test_clock_that_was_ahead_for_a_while_leaves_no_gap(tmp_path: Path) -> None:
    clock, path = SetClock(), tmp_path / "h.db"
    await _fill(path, clock, 3)
    clock.shift = timedelta(days=1)
    await _fill(path, clock, 2)
    clock.shift = timedelta()
    await _fill(path, clock, 26)
    found = await _query(path, clock, ago=timedelta(hours=25), step=timedelta(hours=1))
    assert len(found.points) == 26


async def test_clock_that_was_ahead_by_more_than_the_retention_deletes_nothing(
    tmp_path: Path,
) -> None:
    clock, path = SetClock(), tmp_path / "h.db"
    await _fill(path, clock, 30)
    clock.shift = timedelta(days=365)
    await _fill(path, clock, 5)
    clock.shift = timedelta()
    await _fill(path, clock, 30)
    found = await _query(path, clock, ago=timedelta(hours=64), step=timedelta(hours=1))
    assert len(found.points) >= 60


async def test_hub_that_wakes_after_years_answers_at_once(tmp_path: Path) -> None:
    clock, path = SetClock(), tmp_path / "h.db"
    await _fill(path, clock, 3)
    clock.shift = timedelta(days=365 * 200)
    await _fill(path, clock, 2)
    found = await _query(path, clock, ago=timedelta(hours=2), step=timedelta(hours=1))
    assert len(found.points) >= 2


async def test_samples_of_a_collector_that_reconnects_stay_when_they_are_rolled_up(
    tmp_path: Path,
) -> None:
    clock, path = VirtualClock(), tmp_path / "h.db"
    history = open_history(path, clock=clock)
    begin, minute = clock.now(), timedelta(minutes=1)
    await history.write([Sample("m", (), 1.0, begin)])
    await clock.advance(75 * 60)  # this hour is rolled up, then the rest of it arrives
    await history.write([Sample("m", (), 0.0, clock.now())])
    await history.write([Sample("m", (), 1.0, begin + n * minute) for n in range(1, 30)])
    await history.write([Sample("m", (), 1.0, begin + n * minute) for n in range(30, 50)])
    for _ in range(4):
        await clock.advance(3600)
        await history.write([Sample("m", (), 0.0, clock.now())])
    query = RangeQuery(
        name="m", start=begin, end=begin + 50 * minute, step=5 * minute, reduction="avg"
    )
    assert [value for _, value in (await history.query_range(query))[0].points] == [1.0] * 10
    await history.aclose()
    history = open_history(path, clock=clock)
    assert [value for _, value in (await history.query_range(query))[0].points] == [1.0] * 10
    await history.aclose()


class FullDisk(MemoryLog):
    """A log whose disk is full for a while."""

    is_full = False

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        error = DiskFull("no space left") if self.is_full else None
        asyncio.get_running_loop().call_soon(done, error)


async def test_an_hour_that_a_full_disk_could_not_roll_up_is_rolled_up_later() -> None:
    clock, log = VirtualClock(), FullDisk()
    kept = History(floor=1, max_events=16, max_bytes=1 << 20)
    store = Store(log, state=State(), history=kept, revision=1, compacted=1)
    history = EmbeddedHistory(store, clock=clock)
    begin = clock.now()
    await history.write([Sample("m", (), 1.0, begin)])
    await clock.advance(5 * 3600)
    log.is_full = True
    with pytest.raises(HistoryUnavailable, match="no space"):
        await history.write([Sample("m", (), 2.0, clock.now())])
    log.is_full = False
    for _ in range(4):
        await history.write([Sample("m", (), 2.0, clock.now())])
        await clock.advance(3600)
    restarted = EmbeddedHistory(store, clock=clock)
    query = RangeQuery(name="m", start=begin, end=begin, step=timedelta(hours=1))
    for each in (history, restarted):
        assert [series.points for series in await each.query_range(query)] == [
            ((begin.timestamp(), 1.0),)
        ]
    await history.aclose()


async def test_a_range_without_a_step_or_with_a_negative_length_is_refused() -> None:
    clock = VirtualClock()
    history = open_history(None, clock=clock)
    now, hour = clock.now(), timedelta(hours=1)
    for query in (
        RangeQuery(name="m", start=now - hour, end=now, step=timedelta(0)),
        RangeQuery(name="m", start=now, end=now - hour, step=hour),
    ):
        with pytest.raises(ValueError, match="the step of a range must be above 0"):
            await history.query_range(query)
    await history.aclose()


async def test_series_without_samples_in_a_range_are_left_out() -> None:
    clock = VirtualClock()
    history = open_history(None, clock=clock)
    await history.write([Sample("m", (), 1.0, clock.now())])
    start, hour = clock.now() + timedelta(hours=5), timedelta(hours=1)
    query = RangeQuery(name="m", start=start, end=start + hour, step=hour)
    assert await history.query_range(query) == []
    await history.aclose()


async def test_a_history_that_cannot_be_opened_or_is_closed_says_so(tmp_path: Path) -> None:
    clock = VirtualClock()
    (tmp_path / "h.db").write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(HistoryUnavailable, match="cannot open the history"):
        open_history(tmp_path / "h.db", clock=clock)
    history = open_history(tmp_path / "other.db", clock=clock)
    await history.aclose()
    with pytest.raises(HistoryUnavailable, match="cannot write the history"):
        await history.write([Sample("m", (), 1.0, clock.now())])
