"""Clocks that are wrong, and tokens of servers whose clocks differ."""

import json
import random
from datetime import UTC, datetime, timedelta

import pytest

from quarterdeck.client import retry
from quarterdeck.kit import jwk, jws, oidc
from quarterdeck.kit.certificate import generate_key
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.runtime.informer.failure import classify_failure, parse_failure
from quarterdeck.server.authentication.service_accounts.signing_key import SigningKey
from quarterdeck.server.authentication.service_accounts.tokens import ServiceAccountTokens
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import StoreKey
from quarterdeck.storage.memory import open_memory
from quarterdeck.wire.status import TooManyRequests, Unauthorized

ACCOUNT = StoreKey("serviceaccounts", "team", "robot")
START = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = 600
LEEWAY = 60


async def is_accepted(difference_s: float) -> bool:
    """Whether a server accepts a token of another, whose clock was behind by so much."""
    store, key = open_memory(derive=decode_object_meta), SigningKey()
    try:
        value = json.dumps({"metadata": {"name": ACCOUNT.name, "uid": "a-uid"}}).encode()
        await store.put(ACCOUNT, lambda _: value)
        issuer, other = (
            ServiceAccountTokens(store, key, clock=VirtualClock(now), rng=random.Random(1))
            for now in (START, START + timedelta(seconds=difference_s))
        )
        token = issuer.issue(
            ACCOUNT, uid="a-uid", audiences=issuer.audiences, seconds=SECONDS, bound=None
        )
        return other.authenticate_token(token) is not None
    except Unauthorized:
        return False
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("difference_s", "expected"),
    [
        (0, True),
        (-LEEWAY, True),
        (-LEEWAY - 1, False),
        (SECONDS + LEEWAY, True),
        (SECONDS + LEEWAY + 1, False),
    ],
)
async def test_tokens_have_a_leeway_of_a_minute(difference_s: float, *, expected: bool) -> None:
    assert await is_accepted(difference_s) is expected


@pytest.mark.parametrize("seed", range(20))
async def test_no_clock_makes_a_token_live_longer_than_its_leeway(seed: int) -> None:
    difference_s = random.Random(seed).uniform(-10 * SECONDS, 10 * SECONDS)
    expected = -LEEWAY <= difference_s <= SECONDS + LEEWAY
    assert await is_accepted(difference_s) is expected


@pytest.mark.parametrize(
    ("difference_s", "expected"),
    [(0, True), (-300, True), (-301, False), (SECONDS - 1, True), (SECONDS, False)],
)
def test_id_tokens_may_begin_five_minutes_ahead_and_end_on_time(
    difference_s: float, *, expected: bool
) -> None:
    key = generate_key()
    now = START.timestamp()
    claims = {"iss": "https://issuer", "aud": "us", "nbf": now, "exp": now + SECONDS}
    token = jws.parse_token(jws.sign(claims, key, key_id="k"))
    keys = [jwk.VerificationKey("k", key.public_key(), ("ES256",))]
    wanted = oidc.Expectation(issuer="https://issuer", audiences=("us",), algorithms=("ES256",))
    try:
        oidc.check_id_token(token, keys, wanted, now=now + difference_s)
    except oidc.OidcError:
        assert not expected
    else:
        assert expected


@pytest.mark.parametrize("seconds", [10**9, 301, 300, 5, 0, -5])
def test_pause_that_an_api_server_asks_for_is_bounded(seconds: int) -> None:
    error = TooManyRequests("later", retry_after_s=seconds)
    expected = min(max(seconds, 0), 300)
    assert classify_failure(error).retry_after_s == expected
    status = {"code": 429, "details": {"retryAfterSeconds": seconds}}
    assert parse_failure(json.dumps(status).encode()).retry_after_s == expected
    assert retry.compute_retry_delay(
        retry.Outcome(code=429, retry_after_s=float(abs(seconds))), tries=1, is_read=True
    ) in (min(abs(seconds), 30), 1.0)
