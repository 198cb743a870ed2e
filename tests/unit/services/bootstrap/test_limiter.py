"""Rate limits of attestations."""

import pytest

from quarterdeck.services.bootstrap import limiter
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, Limits, find_network
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused
from quarterdeck.testing import VirtualClock


def _refuse(limits: AttestationLimiter, address: str) -> str:
    with pytest.raises(Refused) as caught:
        limits.check_address(address)
    assert caught.value.reason is RefusalReason.LIMITED
    return caught.value.detail


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a socket", "a socket"),
    ],
)
def test_a_peer_is_known_by_what_it_cannot_choose(address: str, network: str) -> None:
    assert find_network(address) == network


async def test_an_address_has_a_burst_that_comes_back() -> None:
    clock = VirtualClock()
    limits = AttestationLimiter(clock=clock, limits=Limits(address_burst=2, per_address_s=1.0))
    limits.check_address("10.0.0.1")
    limits.check_address("10.0.0.1")
    assert _refuse(limits, "10.0.0.1") == "too many attempts from 10.0.0.1"
    limits.check_address("10.0.0.2")
    await clock.advance(1.0)
    limits.check_address("10.0.0.1")


def test_all_addresses_together_have_a_limit() -> None:
    limits = AttestationLimiter(clock=VirtualClock(), limits=Limits(all_burst=2))
    limits.check_address("10.0.0.1")
    limits.check_address("10.0.0.2")
    assert _refuse(limits, "10.0.0.3") == "too many attempts by all machines together"


async def test_failures_lock_one_peer_out_of_one_claim_for_a_while() -> None:
    clock = VirtualClock()
    limits = AttestationLimiter(clock=clock, limits=Limits(failures=2, lock_s=900.0))
    assert not limits.count_failure("one", "10.0.0.1")
    assert not limits.count_failure("one", "10.0.0.1")
    assert limits.count_failure("one", "10.0.0.1")
    with pytest.raises(Refused) as caught:
        limits.check_failures("one", "10.0.0.1")
    assert caught.value.detail == "claim one: too many failed attempts from 10.0.0.1"
    limits.check_failures("one", "10.0.0.2")
    limits.check_failures("two", "10.0.0.1")
    await clock.advance(900.0)
    limits.check_failures("one", "10.0.0.1")


async def test_failures_of_long_ago_do_not_count() -> None:
    clock = VirtualClock()
    limits = AttestationLimiter(clock=clock, limits=Limits(failures=2, failure_window_s=600.0))
    limits.count_failure("one", "10.0.0.1")
    await clock.advance(600.0)
    limits.count_failure("one", "10.0.0.1")
    limits.check_failures("one", "10.0.0.1")


async def test_refusals_are_written_down_now_and_then() -> None:
    clock = VirtualClock()
    limits = AttestationLimiter(clock=clock, limits=Limits(records=1, record_s=120.0))
    assert limits.take_record("one")
    assert not limits.take_record("one")
    await clock.advance(120.0)
    assert limits.take_record("one")


def test_the_peer_not_seen_for_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limiter, "_KEPT", 1)
    limits = AttestationLimiter(clock=VirtualClock(), limits=Limits(address_burst=1))
    limits.check_address("10.0.0.1")
    assert _refuse(limits, "10.0.0.1")
    limits.check_address("10.0.0.2")
    limits.check_address("10.0.0.1")
