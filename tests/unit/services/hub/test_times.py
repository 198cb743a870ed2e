"""Times of queries: unix seconds and RFC 3339."""

from datetime import UTC, datetime

import pytest

from quarterdeck.services.hub.errors import BadRequest
from quarterdeck.services.hub.ranges import RangeParameters, read_range, read_time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("0", datetime(1970, 1, 1, tzinfo=UTC)),
        ("1.5", datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        ("2026-11-16T10:00:00Z", datetime(2026, 11, 16, 10, tzinfo=UTC)),
    ],
)
def test_times_are_seconds_or_rfc_3339(text: str, time: datetime) -> None:
    assert read_time(text, "start") == time


@pytest.mark.parametrize("text", ["yesterday", "99999999999999999", ""])
def test_other_times_name_the_parameter(text: str) -> None:
    with pytest.raises(BadRequest, match="start"):
        read_time(text, "start")


def test_a_range_has_a_longest_length() -> None:
    given = RangeParameters(start="0", end="2026-11-16T10:00:00Z", step="7d")
    with pytest.raises(BadRequest, match="400 days"):
        read_range(given, datetime(2026, 11, 16, tzinfo=UTC))
