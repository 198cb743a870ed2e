"""Cron schedules."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.server.lifecycle.workloads.cron_schedule import ScheduleError, parse_schedule

NOW = datetime(2026, 1, 1, 10, 7, 30, tzinfo=UTC)  # a Thursday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * * * *", "2026-01-01T10:08"),
        ("*/5 * * * *", "2026-01-01T10:10"),
        ("7 * * * *", "2026-01-01T11:07"),
        ("0 0 * * *", "2026-01-02T00:00"),
        ("@hourly", "2026-01-01T11:00"),
        ("@weekly", "2026-01-04T00:00"),
        ("@yearly", "2027-01-01T00:00"),
        ("30 9 * * mon-fri", "2026-01-02T09:30"),
        ("0 12 1 * 0", "2026-01-01T12:00"),
        ("0 9 1 * 0", "2026-01-04T09:00"),
        ("0 0 29 feb *", "2028-02-29T00:00"),
        ("5,10-12/2 * * * *", "2026-01-01T10:10"),
        ("@every 90s", "2026-01-01T10:09"),
    ],
)
def test_the_next_time_follows_the_schedule(text: str, expected: str) -> None:
    found = parse_schedule(text).find_next(NOW)
    assert found is not None
    assert found.strftime("%Y-%m-%dT%H:%M") == expected


def test_time_zone_moves_the_schedule() -> None:
    found = parse_schedule("0 6 * * *").find_next(NOW, "America/New_York")
    assert found == datetime(2026, 1, 1, 11, 0, tzinfo=UTC)


def list_times(text: str, start: str, count: int, zone: str) -> list[str]:
    """List the next times in the form of the zone, each found from the one before."""
    moment, found = datetime.fromisoformat(start), []
    for _ in range(count):
        after = parse_schedule(text).find_next(moment, zone)
        assert after is not None
        assert after > moment
        moment = after
        found.append(moment.astimezone(ZoneInfo(zone)).strftime("%d %H:%M %Z"))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/30 * * * *", ["25 02:30 CEST", "25 02:00 CET", "25 02:30 CET", "25 03:00 CET"]),
        ("30 * * * *", ["25 02:30 CEST", "25 02:30 CET", "25 03:30 CET"]),
        ("30 2 * * *", ["25 02:30 CEST", "25 02:30 CET", "26 02:30 CET"]),
        ("0 4 * * *", ["25 04:00 CET", "26 04:00 CET"]),
    ],
)
def test_the_hour_that_a_clock_repeats_has_all_its_times(text: str, expected: list[str]) -> None:
    found = list_times(text, "2026-10-25T00:10:00+00:00", len(expected), "Europe/Berlin")
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*/30 * * * *", ["29 01:30 CET", "29 03:00 CEST", "29 03:30 CEST"]),
        ("30 2 * * *", ["30 02:30 CEST", "31 02:30 CEST"]),
        ("30 3 * * *", ["29 03:30 CEST", "30 03:30 CEST"]),
    ],
)
def test_the_hour_that_a_clock_skips_has_no_times(text: str, expected: list[str]) -> None:
    found = list_times(text, "2026-03-29T00:10:00+00:00", len(expected), "Europe/Berlin")
    assert found == expected


def test_a_day_without_a_midnight_has_its_other_times() -> None:
    # in Sao Paulo the 4th of November 2018 began at 01:00
    found = list_times("0 12 4 * *", "2018-11-02T12:00:00+00:00", 2, "America/Sao_Paulo")
    assert found == ["04 12:00 -02", "04 12:00 -02"]
    found = list_times("0 * * * *", "2018-11-04T02:30:00+00:00", 2, "America/Sao_Paulo")
    assert found == ["04 01:00 -02", "04 02:00 -02"]


def test_day_that_never_comes_has_no_next_time() -> None:
    assert parse_schedule("0 0 31 2 *").find_next(NOW) is None


@pytest.mark.parametrize(
    "text", ["", "* * * *", "61 * * * *", "5-1 * * * *", "x * * * *", "@every soon", "@never"]
)
def test_invalid_schedules_are_refused(text: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(text)


@given(
    minute=st.sampled_from(["*", "0", "*/7", "3,50", "10-20"]),
    hour=st.sampled_from(["*", "5", "*/6"]),
    day=st.sampled_from(["*", "1", "*/10"]),
    month=st.sampled_from(["*", "1,3"]),
    weekday=st.sampled_from(["*", "1-5", "0"]),
    start=st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)),
)
@settings(max_examples=count_examples(100), deadline=None)
def test_next_time_is_the_first_that_fits(
    minute: str, hour: str, day: str, month: str, weekday: str, start: datetime
) -> None:
    schedule = parse_schedule(f"{minute} {hour} {day} {month} {weekday}")
    start = start.replace(tzinfo=UTC)
    found = schedule.find_next(start)
    assert found is not None
    assert found > start
    again = schedule.find_next(found - timedelta(minutes=1))
    assert again == found
    middle = start + (found - start) / 2
    assert schedule.find_next(middle) == found
