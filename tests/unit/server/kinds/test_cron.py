"""Schedules of CronJobs: which are valid, and why others are not."""

import pytest

from quarterdeck.server.kinds.cron import validate_schedule


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
