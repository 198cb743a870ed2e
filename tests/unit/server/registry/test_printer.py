"""Ages and lists as kubectl prints them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
