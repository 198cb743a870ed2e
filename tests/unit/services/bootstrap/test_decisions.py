"""Tokens, challenges and limits of the bootstrap service, on virtual time."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.attest.join_token import JoinToken, generate_token
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.services.bootstrap.challenges import (
    MAX_OF_CLAIM,
    MAX_OPEN,
    Challenge,
    Challenges,
    TooManyChallenges,
)
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.limiter import AttestationLimiter, Limits
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused
from quarterdeck.services.bootstrap.token_record import (
    TokenRecord,
    check_token,
    consume_token,
    record_token,
    revoke_token,
)

NOW = datetime(2026, 11, 15, tzinfo=UTC)
HOUR = timedelta(hours=1)
CLAIM = Claim(namespace="default", name="web-1", uid="uid-1")
HERE = "10.0.0.7"


def make(**bound: str) -> tuple[JoinToken, TokenRecord]:
    token = generate_token()
    return token, record_token(token, CLAIM, now=NOW, lifetime=HOUR, **bound)


def use(
    record: TokenRecord | None,
    token: JoinToken,
    *,
    key: str = "key",
    after: timedelta = timedelta(),
    address: str = HERE,
) -> bool:
    return check_token(record, token, key_hash=key, address=address, now=NOW + after)


def spend(record: TokenRecord, key: str = "key") -> TokenRecord:
    return consume_token(record, key_hash=key, address=HERE, answer=b"certificate", now=NOW)


def test_record_does_not_hold_the_secret() -> None:
    token, record = make()
    assert token.secret.reveal() not in repr(record)


def test_token_is_used_once_and_repeated_by_the_same_key_only() -> None:
    token, record = make()
    assert use(record, token) is True
    spent = spend(record)
    assert use(spent, token, after=timedelta(seconds=119)) is False
    with pytest.raises(Refused) as reused:
        use(spent, token, key="another")
    assert reused.value.reason is RefusalReason.REUSED
    assert HERE in reused.value.detail
    with pytest.raises(Refused) as late:
        use(spent, token, after=timedelta(seconds=120))
    assert late.value.reason is RefusalReason.EXPIRED


def test_other_uses_are_refused() -> None:
    token, record = make(bound_ip=HERE)
    cases: list[tuple[RefusalReason, Callable[[], bool]]] = [
        (RefusalReason.UNKNOWN_TOKEN, lambda: use(None, token)),
        (RefusalReason.WRONG_SECRET, lambda: use(record, make()[0])),
        (RefusalReason.EXPIRED, lambda: use(record, token, after=HOUR)),
        (RefusalReason.WRONG_PLACE, lambda: use(record, token, address="10.0.0.8")),
        (RefusalReason.REVOKED, lambda: use(revoke_token(record), token)),
        (RefusalReason.WRONG_SECRET, lambda: use(spend(record), make()[0])),
    ]
    for why, attempt in cases:
        with pytest.raises(Refused) as caught:
            attempt()
        assert caught.value.reason is why
        assert token.secret.reveal() not in caught.value.detail


def test_revoking_a_used_token_changes_nothing() -> None:
    _, record = make()
    assert revoke_token(spend(record)) == spend(record)


@pytest.mark.parametrize("seconds", [0, 59, 86_401])
def test_lifetimes_out_of_range_are_refused(seconds: int) -> None:
    with pytest.raises(ValueError, match="ttlSeconds"):
        record_token(generate_token(), CLAIM, now=NOW, lifetime=timedelta(seconds=seconds))


def challenge(uid: str) -> Challenge:
    return Challenge(
        claim_uid=uid,
        secret=b"s",
        nonce=b"n",
        request=b"csr",
        endorsement_hash="ek",
        attestation_key=b"ak",
    )


async def test_challenge_is_answered_once_and_soon() -> None:
    clock = VirtualClock()
    challenges: Challenges[Challenge] = Challenges(clock=clock)
    identity = challenges.open(challenge("a"), HERE)
    assert challenges.take(identity).claim_uid == "a"
    with pytest.raises(Refused):
        challenges.take(identity)
    late = challenges.open(challenge("a"), HERE)
    await clock.advance(60)
    with pytest.raises(Refused) as caught:
        challenges.take(late)
    assert caught.value.reason is RefusalReason.EXPIRED
    assert len(challenges) == 0


def test_new_challenge_of_a_peer_voids_its_old_one_alone() -> None:
    challenges: Challenges[Challenge] = Challenges(clock=VirtualClock())
    honest = challenges.open(challenge("a"), HERE)
    old, new = (challenges.open(challenge("a"), "stranger") for _ in range(2))
    with pytest.raises(Refused):
        challenges.take(old)
    assert challenges.take(new).claim_uid == "a"
    assert challenges.take(honest).claim_uid == "a"
    assert len(challenges) == 0


def test_the_oldest_challenge_of_a_claim_is_dropped_at_the_limit() -> None:
    challenges: Challenges[Challenge] = Challenges(clock=VirtualClock())
    other = challenges.open(challenge("b"), HERE)
    opened = [challenges.open(challenge("a"), f"peer {at}") for at in range(MAX_OF_CLAIM + 1)]
    assert len(challenges) == MAX_OF_CLAIM + 1
    with pytest.raises(Refused):
        challenges.take(opened[0])
    assert {challenges.take(each).claim_uid for each in opened[1:]} == {"a"}
    assert challenges.take(other).claim_uid == "b"


async def test_open_challenges_are_bounded() -> None:
    clock = VirtualClock()
    challenges: Challenges[Challenge] = Challenges(clock=clock)
    for number in range(MAX_OPEN):
        challenges.open(challenge(str(number)), HERE)
    with pytest.raises(TooManyChallenges):
        challenges.open(challenge("one more"), HERE)
    await clock.advance(60)
    challenges.open(challenge("one more"), HERE)
    assert len(challenges) == 1


async def test_address_gets_a_burst_and_then_one_a_second() -> None:
    clock = VirtualClock()
    limiter = AttestationLimiter(clock=clock)
    for _ in range(5):
        limiter.check_address(HERE)
    with pytest.raises(Refused):
        limiter.check_address(HERE)
    limiter.check_address("10.0.0.8")
    for number in range(5):
        limiter.check_address(f"2001:db8:0:1::{number}")
    with pytest.raises(Refused):
        limiter.check_address("2001:db8:0:1:ffff::1")  # the next address of the same network
    limiter.check_address("2001:db8:0:2::1")
    await clock.advance(1)
    limiter.check_address(HERE)


async def test_peer_is_locked_out_of_a_claim_after_failures_and_no_other_peer() -> None:
    clock = VirtualClock()
    limiter = AttestationLimiter(clock=clock)
    assert [limiter.count_failure("a", HERE) for _ in range(6)] == [False] * 5 + [True]
    with pytest.raises(Refused) as caught:
        limiter.check_failures("a", HERE)
    assert caught.value.reason is RefusalReason.LIMITED
    limiter.check_failures("a", "10.0.0.8")
    limiter.check_failures("b", HERE)
    await clock.advance(900)
    limiter.check_failures("a", HERE)
    assert limiter.count_failure("a", HERE) is False


async def test_neighbors_in_a_network_fail_together() -> None:
    limiter = AttestationLimiter(clock=VirtualClock())
    for number in range(5):
        limiter.count_failure("a", f"2001:db8:0:1::{number}")
    with pytest.raises(Refused):
        limiter.check_failures("a", "2001:db8:0:1:ffff::1")
    limiter.check_failures("a", "2001:db8:0:2::1")


async def test_recorded_refusals_of_each_claim_are_limited() -> None:
    clock = VirtualClock()
    limiter = AttestationLimiter(clock=clock)
    assert [limiter.take_record("a") for _ in range(6)] == [True] * 5 + [False]
    assert limiter.take_record("b")
    await clock.advance(120)
    assert [limiter.take_record("a") for _ in range(2)] == [True, False]


@given(st.lists(st.floats(0, 5), max_size=60))
def test_no_address_gets_more_than_its_rate(pauses: list[float]) -> None:
    assert asyncio.run(count_passed(pauses)) <= 5 + sum(pauses) + 1


async def count_passed(pauses: list[float]) -> int:
    clock = VirtualClock()
    limits = Limits(per_address_s=1, address_burst=5, all_s=1e9, all_burst=10**9)
    limiter = AttestationLimiter(clock=clock, limits=limits)
    passed = 0
    for pause in pauses:
        await clock.advance(pause)
        try:
            limiter.check_address(HERE)
        except Refused:
            continue
        passed += 1
    return passed
