"""What only the embedded history does: it survives, rolls up, and forgets."""

from datetime import timedelta
from pathlib import Path

from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series
from quarterdeck.kit.clock import VirtualClock


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
    await _fill(tmp_path / "h.db", clock, 2)
    found = await _query(
        tmp_path / "h.db", clock, ago=timedelta(hours=200), step=timedelta(hours=1)
    )
    assert min(at for at, _ in found.points) > clock.now().timestamp() - 4 * 3600
