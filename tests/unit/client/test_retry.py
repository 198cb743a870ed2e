import pytest

from quarterdeck.client.retry import MAX_TRIES, Outcome, compute_retry_delay, parse_retry_after


@pytest.mark.parametrize(
    ("outcome", "is_read", "expected"),
    [
        pytest.param(Outcome(code=429, retry_after_s=3), False, 3, id="429 was not carried out"),
        pytest.param(Outcome(code=429), False, 1, id="429 without a time"),
        pytest.param(Outcome(code=429, retry_after_s=999), True, 30, id="bounded wait"),
        pytest.param(Outcome(code=503, retry_after_s=2), True, 2, id="a read is repeated"),
        pytest.param(Outcome(code=503, retry_after_s=2), False, None, id="a write is not"),
        pytest.param(Outcome(code=500), True, None, id="not asked to come back"),
        pytest.param(Outcome(code=0, broken=True), True, 0.05, id="a cut read"),
        pytest.param(Outcome(code=0, broken=True), False, None, id="a cut write may have happened"),
        pytest.param(Outcome(code=409), True, None, id="a conflict is the caller's"),
    ],
)
def test_only_what_cannot_do_harm_is_repeated(
    outcome: Outcome, is_read: bool, expected: float | None
) -> None:
    assert compute_retry_delay(outcome, tries=1, is_read=is_read) == expected


def test_tries_are_bounded() -> None:
    outcome = Outcome(code=429, retry_after_s=0)
    assert compute_retry_delay(outcome, tries=MAX_TRIES, is_read=True) is None


def test_retry_after_counts_in_seconds() -> None:
    assert parse_retry_after("7") == 7
    assert parse_retry_after(None) is None
    assert parse_retry_after("²") is None
    assert parse_retry_after("Wed, 21 Oct 2026 07:28:00 GMT") is None
