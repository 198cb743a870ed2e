"""Cron schedules."""

from datetime import UTC, datetime, timedelta

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
