"""Certificates that are made: when the next one is announced, and when it is served."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.runtime.endpoints.rotation import (
    LIFE,
    OVERLAP,
    RENEW_AFTER,
    Rotation,
    decode_rotation,
    encode_rotation,
    plan_rotation,
)

START = datetime(2026, 11, 15, tzinfo=UTC)
HOSTS = ("webhooks.shop.svc", "127.0.0.1", "::1")


def plan(stored: Rotation | None, after: timedelta = timedelta()) -> Rotation | None:
    return plan_rotation(stored, now=START + after, hosts=HOSTS)


@pytest.fixture(scope="module")
def first() -> Rotation:
    made = plan(None)
    assert made is not None
    return made


@pytest.fixture(scope="module")
def announced(first: Rotation) -> Rotation:
    made = plan(first, RENEW_AFTER)
    assert made is not None
    return made


def test_a_young_certificate_stays(first: Rotation) -> None:
    assert first.authority == first.current.certificate
    assert plan(first, RENEW_AFTER - timedelta(seconds=1)) is None


def test_the_next_one_is_announced_before_it_is_served(
    first: Rotation, announced: Rotation
) -> None:
    assert announced.current == first.current and announced.next is not None
    assert announced.authority == first.current.certificate + announced.next.certificate
    assert plan(announced, RENEW_AFTER + OVERLAP - timedelta(seconds=1)) is None


def test_it_is_served_after_an_hour_and_the_old_one_stays_trusted(announced: Rotation) -> None:
    served = plan(announced, RENEW_AFTER + OVERLAP)
    assert served is not None and served.next is None
    assert served.current == announced.next
    assert served.authority == announced.authority


def test_an_expired_certificate_or_one_for_other_hosts_is_replaced_at_once(first: Rotation) -> None:
    late = plan(first, LIFE)
    assert late is not None and late.current != first.current
    moved = plan_rotation(first, now=START, hosts=(*HOSTS, "other.shop.svc"))
    assert moved is not None and moved.current != first.current


@given(st.lists(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=60)), max_size=12))
def test_whatever_is_served_was_trusted_an_hour_before(pauses: list[timedelta]) -> None:
    """Replicas that look often enough to notice an announcement never surprise a client."""
    stored, now = plan_rotation(None, now=START, hosts=HOSTS), START
    assert stored is not None
    trusted = stored.authority
    for pause in pauses:
        now += min(pause, LIFE - RENEW_AFTER - OVERLAP)
        planned = plan_rotation(stored, now=now, hosts=HOSTS)
        if planned is not None:
            assert planned.current.certificate in trusted
            stored, trusted = planned, planned.authority
        assert stored.current.certificate in stored.authority


def test_a_secret_carries_everything(announced: Rotation) -> None:
    assert decode_rotation(encode_rotation(announced)) == announced
    assert "PRIVATE" not in repr(announced)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tls.key": None}, "tls.key is missing"),
        ({"tls.crt": "?"}, "tls.crt is not base64"),
        ({"tls.crt": base64.b64encode(b"x").decode()}, "tls.crt and tls.key are not a certificate"),
    ],
)
def test_a_secret_of_something_else_is_refused(
    announced: Rotation, change: dict[str, str | None], message: str
) -> None:
    data = {**encode_rotation(announced), **change}
    with pytest.raises(ValueError, match=message):
        decode_rotation({key: value for key, value in data.items() if value is not None})


def test_a_key_of_another_certificate_is_refused(announced: Rotation) -> None:
    data = encode_rotation(announced)
    with pytest.raises(ValueError, match=r"tls\.key does not match tls\.crt"):
        decode_rotation({**data, "tls.key": data["next.key"]})
