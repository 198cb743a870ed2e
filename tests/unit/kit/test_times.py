from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import duration, rfc3339
from quarterdeck.kit.duration import DurationError
from quarterdeck.kit.rfc3339 import TimeError

moments = st.datetimes(
    min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC)
)


@given(moments)
def test_micro_times_survive_the_round_trip(moment: datetime) -> None:
    assert rfc3339.parse(rfc3339.format_micro(moment)) == moment


@given(moments)
def test_times_are_written_in_whole_seconds(moment: datetime) -> None:
    assert rfc3339.parse(rfc3339.format_time(moment)) == moment.replace(microsecond=0)


@given(moments, st.integers(-23 * 60, 23 * 60))
def test_offsets_name_the_same_moment(moment: datetime, minutes: int) -> None:
    local = moment.astimezone(timezone(timedelta(minutes=minutes)))
    assert rfc3339.parse(local.isoformat()) == moment


@pytest.mark.parametrize(
    "text",
    ["", "2026-01-01", "2026-01-01 00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T25:00:00Z",
     "2026-01-01T00:00:00", "２026-01-01T00:00:00Z"],
)  # fmt: skip
def test_text_that_is_not_a_time_is_refused_and_shown(text: str) -> None:
    with pytest.raises(TimeError):
        rfc3339.parse(text)


def test_digits_beyond_microseconds_are_cut() -> None:
    assert rfc3339.parse("2026-01-02T03:04:05.123456789Z").microsecond == 123456


@given(st.integers(duration.MINIMUM + 1, duration.MAXIMUM))
def test_durations_survive_the_round_trip(nanoseconds: int) -> None:
    assert duration.parse(duration.format_duration(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0s"),
        ("1h2m3.5s", "1h2m3.5s"),
        ("90s", "1m30s"),
        ("-1.5h", "-1h30m0s"),
        ("300ms", "300ms"),
        ("1us", "1µs"),
        ("1500ns", "1.5µs"),
        (".5s", "500ms"),
        ("1.s", "1s"),
        ("+5m", "5m0s"),
    ],
)
def test_durations_are_written_as_go_writes_them(text: str, canonical: str) -> None:
    assert duration.format_duration(duration.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("3", 'time: missing unit in duration "3"'),
        ("1x", 'time: unknown unit "x" in duration "1x"'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("3000000h", 'time: invalid duration "3000000h"'),
    ],
)
def test_broken_durations_are_refused_with_gos_words(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        duration.parse(text)
    assert str(caught.value) == message


def test_durations_of_many_digits_are_read_or_refused() -> None:
    assert duration.parse("0" * 5000 + "1s") == duration.SECOND
    assert duration.parse("0." + "5" * 5000 + "s") == int("5" * 9)
    with pytest.raises(DurationError):
        duration.parse("9" * 5000 + "s")


def test_seconds_of_a_duration_beyond_all_years_are_those_of_the_longest() -> None:
    longest_s = duration.MAXIMUM / duration.SECOND
    assert duration.parse_seconds("90s") == 90.0
    assert duration.parse_seconds("99999999999h") == longest_s
    assert duration.parse_seconds(f"{'9' * 40}h1h") == longest_s
    with pytest.raises(DurationError):
        duration.parse_seconds("9 hours")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (30, timedelta(seconds=30)),
        (-1, timedelta(seconds=-1)),
        (9_223_372_036, timedelta(seconds=9_223_372_036)),
        (9_223_372_037, timedelta(seconds=-9_223_372_036, microseconds=-709_552)),
        (2**63 - 1, timedelta(seconds=-1)),
    ],
)
def test_seconds_become_the_duration_that_go_computes(seconds: int, expected: timedelta) -> None:
    assert duration.from_seconds(seconds) == expected
