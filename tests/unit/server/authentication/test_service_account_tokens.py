"""Tokens of service accounts: what is in them, and when they stop being good."""

import base64
import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.app.certificates import make_key
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.server.authentication.bearer_token import (
    BearerTokens,
    add_token_sources,
    authenticate_token,
)
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.service_accounts.claims import Bound, parse_claims
from quarterdeck.server.authentication.service_accounts.signing_key import (
    InvalidKey,
    InvalidToken,
    SigningKey,
)
from quarterdeck.server.authentication.service_accounts.tokens import ServiceAccountTokens
from quarterdeck.server.authentication.user import User
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import Store, StoreKey
from quarterdeck.storage.memory import open_memory
from quarterdeck.wire.status import Unauthorized

ACCOUNT = StoreKey("serviceaccounts", "team", "robot")
POD = StoreKey("pods", "team", "runner")
AUDIENCES = ["https://kubernetes.default.svc"]


async def put(store: Store, key: StoreKey, uid: str, **metadata: object) -> None:
    value = {"metadata": {"name": key.name, "uid": uid, **metadata}}
    await store.put(key, lambda _: json.dumps(value).encode())


class World:
    """A store with one account, and what issues tokens for it."""

    def __init__(self) -> None:
        self.clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.store = open_memory(derive=decode_object_meta)
        self.tokens = ServiceAccountTokens(
            self.store, SigningKey(), clock=self.clock, rng=random.Random(1)
        )

    async def __aenter__(self) -> "World":
        await put(self.store, ACCOUNT, "a-uid")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()

    def issue(self, bound: Bound | None = None, audiences: list[str] | None = None) -> str:
        return self.tokens.issue(
            ACCOUNT, uid="a-uid", audiences=audiences or AUDIENCES, seconds=600, bound=bound
        )


async def test_token_stands_for_its_account_until_it_expires() -> None:
    async with World() as world:
        token = world.issue()
        user = world.tokens.authenticate_token(token)
        assert user is not None
        assert user.name == "system:serviceaccount:team:robot"
        assert user.uid == "a-uid"
        assert user.groups == (
            "system:serviceaccounts",
            "system:serviceaccounts:team",
            "system:authenticated",
        )
        await world.clock.advance(660)
        assert world.tokens.authenticate_token(token) is not None
        await world.clock.advance(1)
        with pytest.raises(Unauthorized):
            world.tokens.authenticate_token(token)


async def test_token_has_the_claims_of_kubernetes() -> None:
    async with World() as world:
        header, claims, _ = world.issue(Bound(kind="pod", name="runner", uid="p-uid")).split(".")
        assert json.loads(_decoded(header)) == {"alg": "ES256", "kid": world.tokens.key.identifier}
        found = json.loads(_decoded(claims))
        assert found.pop("jti")
        start = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
        assert found == {
            "aud": AUDIENCES,
            "exp": start + 600,
            "iat": start,
            "nbf": start,
            "iss": "https://kubernetes.default.svc",
            "sub": "system:serviceaccount:team:robot",
            "kubernetes.io": {
                "namespace": "team",
                "serviceaccount": {"name": "robot", "uid": "a-uid"},
                "pod": {"name": "runner", "uid": "p-uid"},
            },
        }


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.parametrize("uid", [None, "another"], ids=["deleted", "made anew"])
async def test_token_ends_with_its_account(uid: str | None) -> None:
    async with World() as world:
        token = world.issue()
        await world.store.delete(ACCOUNT, lambda _: b"{}")
        if uid:
            await put(world.store, ACCOUNT, uid)
        with pytest.raises(Unauthorized):
            world.tokens.authenticate_token(token)


async def test_bound_token_ends_with_its_pod() -> None:
    async with World() as world:
        await put(world.store, POD, "p-uid")
        token = world.issue(Bound(kind="pod", name="runner", uid="p-uid"))
        user = world.tokens.authenticate_token(token)
        assert user is not None
        assert user.extra["authentication.kubernetes.io/pod-name"] == ("runner",)
        await put(world.store, POD, "p-uid", deletionTimestamp="2026-01-01T00:00:00Z")
        await world.clock.advance(59)
        assert world.tokens.authenticate_token(token) is not None
        await world.clock.advance(2)
        with pytest.raises(Unauthorized):
            world.tokens.authenticate_token(token)
        await world.store.delete(POD, lambda _: b"{}")
        with pytest.raises(Unauthorized):
            world.tokens.authenticate_token(token)


async def test_token_for_others_does_not_open_this_api() -> None:
    async with World() as world:
        token = world.issue(audiences=["vault"])
        with pytest.raises(Unauthorized):
            world.tokens.authenticate_token(token)
        assert world.tokens.authenticate_token(token, ["vault", "more"]) is not None


async def test_forged_tokens_are_not_authenticated() -> None:
    async with World() as world:
        token = world.issue()
        content, _, signature = token.rpartition(".")
        other = SigningKey().sign({"sub": "x"})
        unsigned = (
            base64.urlsafe_b64encode(b'{"alg":"none"}').decode() + "." + token.split(".")[1] + "."
        )
        turned = signature[:-4] + ("AAAA" if signature[-4:] != "AAAA" else "BBBB")
        for bad in ("", "x", "a.b.c", "ü.ü.ü", other, unsigned, f"{content}.{turned}", f"{token}x"):
            assert world.tokens.authenticate_token(bad) is None
            with pytest.raises(InvalidToken):
                world.tokens.key.verify(bad)
        assert world.tokens.authenticate_token(world.tokens.key.sign({"sub": "x"})) is None
        foreign = json.loads(_decoded(token.split(".")[1])) | {"iss": "https://elsewhere"}
        assert parse_claims(foreign) is None


def test_key_file_keeps_tokens_good(tmp_path: Path) -> None:
    path = tmp_path / "key"
    make_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    token = SigningKey(path).sign({"sub": "x"})
    assert SigningKey(path).verify(token) == {"sub": "x"}
    keys = SigningKey(path).build_key_set()["keys"]
    assert [each["kid"] for each in keys] == [SigningKey(path).identifier]


@pytest.mark.parametrize("content", [None, b"no key"], ids=["absent", "damaged"])
def test_unusable_key_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "the.key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidKey, match=r"the\.key"):
        SigningKey(path).sign({})


def test_static_tokens_stay_beside_those_of_accounts() -> None:
    admin = User(name="admin")

    class Nobody:
        def authenticate_token(self, token: str, audiences: object = None) -> User | None:
            return None

    chain = add_token_sources((BearerTokens({"secret": admin}), PlainPort()), [Nobody()])
    assert authenticate_token("secret", chain, AUDIENCES) is admin
    with pytest.raises(Unauthorized):
        authenticate_token("other", chain, AUDIENCES)
    with pytest.raises(Unauthorized):
        authenticate_token("secret", (PlainPort(),), AUDIENCES)
