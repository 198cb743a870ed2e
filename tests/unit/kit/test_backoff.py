"""Delays between tries."""

import pytest

from quarterdeck.kit.backoff import compute_doubled


@pytest.mark.parametrize(
    ("times", "expected"), [(0, 10.0), (1, 20.0), (5, 320.0), (6, 600.0), (5000, 600.0)]
)
def test_a_delay_is_doubled_up_to_its_limit_however_often(times: int, expected: float) -> None:
    assert compute_doubled(10.0, times, 600.0) == expected
