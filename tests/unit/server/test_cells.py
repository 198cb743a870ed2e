"""Ages and schedules, as kubectl and the batch controllers read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.kinds.cron import validate_schedule
from quarterdeck.server.registry.printer import format_duration, format_first

MINUTE, HOUR, DAY = 60, 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (10 * MINUTE, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 5 * MINUTE, "3h5m"),
        (8 * HOUR, "8h"),
        (47 * HOUR, "47h"),
        (48 * HOUR, "2d"),
        (50 * HOUR, "2d2h"),
        (8 * DAY, "8d"),
        (729 * DAY, "729d"),
        (730 * DAY, "2y"),
        (800 * DAY, "2y70d"),
        (9 * 365 * DAY, "9y"),
    ],
)
def test_ages_lose_precision_as_they_grow(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.floats(0, 1e9))
def test_every_age_has_at_most_two_units(seconds: float) -> None:
    text = format_duration(seconds)
    assert sum(letter.isalpha() for letter in text) <= 2


def test_long_lists_are_cut() -> None:
    assert format_first(["a", "b", "c", "d"], 3) == "a,b,c + 1 more..."
    assert format_first([], 3) == "<unset>"


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-3,7 1 jan MON-FRI",
        "@hourly",
        "@every 1h30m",
        "0 0 31 12 6",
        "5/15 * * * *",
    ],
)
def test_good_schedules_have_no_problem(schedule: str) -> None:
    assert validate_schedule(schedule) is None


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ("", "empty spec string"),
        ("nope", "expected exactly 5 fields, found 1: [nope]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@never", "unrecognized descriptor: @never"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
    ],
)
def test_bad_schedules_say_why(schedule: str, text: str) -> None:
    assert validate_schedule(schedule) == text


def test_schedules_of_endless_numbers_are_refused() -> None:
    digits = "9" * 5000
    for schedule in (f"*/{digits} * * * *", f"{digits} * * * *", f"1-{digits} * * * *"):
        assert "value out of range" in (validate_schedule(schedule) or "")
    assert validate_schedule("*/0 * * * *") == "step of range should be a positive number: */0"
