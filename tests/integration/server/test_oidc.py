"""ID tokens of an issuer that serves its keys over HTTPS, as an API server sees them."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import base64url, http, jwk, jws
from quarterdeck.kit.certificate import CertificateRequest, generate_key, issue_certificate
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.oidc import Expectation, Issuer, KeysNotFetched
from quarterdeck.kit.pem import load_identity
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import User
from quarterdeck.server.options import OidcOptions, ServerOptions
from quarterdeck.testing.poll import eventually

NOW = datetime.now(UTC)
ADMIN = User(name="admin", groups=("system:masters",))


class Provider:
    """An OpenID provider with keys of its own."""

    def __init__(self) -> None:
        self.keys = {"one": generate_key()}
        self.url = ""
        self.fetched = 0
        self.issuer = ""
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def sign(self, key: str = "one", **claims: Any) -> str:
        now = NOW.timestamp()
        default = {
            "iss": self.url,
            "aud": "quarterdeck",
            "sub": "1234",
            "exp": now + 600,
            "groups": ["devs"],
        }
        return jws.sign({**default, **claims}, self.keys[key], key_id=key)

    async def handle(self, request: http.Request) -> http.Response:
        if request.path == "/.well-known/openid-configuration":
            document = {"issuer": self.issuer or self.url, "jwks_uri": f"{self.url}/keys"}
            return http.Response(200, [], json.dumps(document).encode())
        self.fetched += 1
        await self.may_answer.wait()
        keys = []
        for name, key in self.keys.items():
            public = key.public_key()
            keys.append(
                jwk.build_jwk(jwk.VerificationKey(name, public, jwk.list_algorithms(public)))
            )
        return http.Response(200, [], json.dumps({"keys": keys}).encode())


@contextlib.asynccontextmanager
async def world(tmp_path: Path, **options: Any) -> AsyncIterator[tuple[Provider, Cluster]]:
    authority = issue_certificate(
        CertificateRequest("provider", timedelta(days=1), ("127.0.0.1",)), now=NOW
    )
    ca_file = tmp_path / "ca.crt"
    ca_file.write_bytes(authority.encode_certificate())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(tls, authority.encode_certificate(), authority.encode_key())
    provider = Provider()
    async with http.Server(provider.handle) as server:
        listener = await server.listen("127.0.0.1", 0, tls=tls)
        provider.url = f"https://127.0.0.1:{listener.port}"
        oidc = OidcOptions(
            issuer_url=provider.url,
            client_id="quarterdeck",
            ca_file=ca_file,
            algorithms=("ES256",),
            groups_claim="groups",
            groups_prefix="corp:",
            **options,
        )
        async with Cluster(
            options=ServerOptions(oidc=oidc),
            authenticators=(BearerTokens({"admin": ADMIN}),),
            clock=VirtualClock(NOW),
        ) as cluster:
            yield provider, cluster


async def who(cluster: Cluster, token: str) -> dict[str, Any] | int:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with http.Client() as client:
        response = await client.request(
            "POST",
            f"{cluster.url}/apis/authentication.k8s.io/v1/selfsubjectreviews",
            headers=[
                ("Content-Type", "application/json"),
                ("Authorization", f"Bearer {token}"),
            ],
            body=json.dumps(review).encode(),
        )
        body = json.loads(await response.read())
    return body["status"]["userInfo"] if response.status == 201 else response.status


async def test_claims_become_name_and_groups_with_prefixes(tmp_path: Path) -> None:
    async with world(tmp_path) as (provider, cluster):
        assert await who(cluster, provider.sign()) == {
            "username": f"{provider.url}#1234",
            "groups": ["corp:devs", "system:authenticated"],
        }
        assert provider.fetched == 1
        await who(cluster, provider.sign())
        assert provider.fetched == 1


async def test_addresses_have_no_prefix_and_must_be_verified(tmp_path: Path) -> None:
    async with world(tmp_path, username_claim="email") as (provider, cluster):
        good = await who(cluster, provider.sign(email="a@example.com", email_verified=True))
        assert isinstance(good, dict) and good["username"] == "a@example.com"
        bad = provider.sign(email="b@example.com", email_verified=False)
        assert await who(cluster, bad) == 401
        assert await who(cluster, provider.sign()) == 401  # has no such claim


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"nbf": NOW.timestamp() + 3600},
        {"aud": "others"},
        {"aud": []},
        {"iss": "https://elsewhere.example.com"},
        {"groups": [1]},
        {"team": "b"},
    ],
    ids=lambda claims: next(iter(claims)),
)
async def test_tokens_with_wrong_claims_are_refused(tmp_path: Path, claims: dict[str, Any]) -> None:
    async with world(tmp_path, required_claims={"team": "a"}) as (provider, cluster):
        assert isinstance(await who(cluster, provider.sign(team="a")), dict)
        assert await who(cluster, provider.sign(**{"team": "a"} | claims)) == 401


async def test_forged_tokens_are_refused(tmp_path: Path) -> None:
    async with world(tmp_path) as (provider, cluster):
        token = provider.sign()
        assert isinstance(await who(cluster, token), dict)
        forger = Provider()
        forger.url = provider.url
        assert await who(cluster, forger.sign()) == 401
        head, claims, signature = token.split(".")
        none = base64url.encode(b'{"alg":"none"}')
        assert await who(cluster, f"{none}.{claims}.") == 401
        other = base64url.encode(b'{"iss":"%s","sub":"root"}' % provider.url.encode())
        assert await who(cluster, f"{head}.{other}.{signature}") == 401


async def test_rotated_keys_are_fetched_but_not_for_every_guess(tmp_path: Path) -> None:
    async with world(tmp_path) as (provider, cluster):
        clock = cluster.api.core.clock
        assert isinstance(clock, VirtualClock)
        await who(cluster, provider.sign())
        provider.keys = {"two": generate_key()}
        for _ in range(5):
            assert await who(cluster, provider.sign("two")) == 401
        assert provider.fetched == 1
        await clock.advance(11)
        assert isinstance(await who(cluster, provider.sign("two")), dict)
        assert provider.fetched == 2


@pytest.mark.parametrize("name", ["one", ""], ids=["same name", "no name"])
async def test_a_key_is_fetched_that_takes_the_name_of_the_one_before(
    tmp_path: Path, name: str
) -> None:
    async with world(tmp_path) as (provider, cluster):
        clock = cluster.api.core.clock
        assert isinstance(clock, VirtualClock)
        provider.keys = {name: generate_key()}
        assert isinstance(await who(cluster, provider.sign(name)), dict)
        provider.keys = {name: generate_key()}
        for _ in range(5):
            assert await who(cluster, provider.sign(name)) == 401
        assert provider.fetched == 1
        await clock.advance(11)
        assert isinstance(await who(cluster, provider.sign(name)), dict)
        assert provider.fetched == 2


async def test_tokens_wait_for_keys_that_are_being_fetched(tmp_path: Path) -> None:
    async with world(tmp_path) as (provider, _):
        expected = Expectation(
            issuer=provider.url, audiences=("quarterdeck",), algorithms=("ES256",)
        )
        tls = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        issuer = Issuer(expected, clock=VirtualClock(NOW), tls=tls)
        token = jws.parse_token(provider.sign())
        provider.may_answer.clear()
        first = asyncio.create_task(issuer.fetch_keys())
        await eventually(lambda: provider.fetched == 1)
        with pytest.raises(KeysNotFetched):
            issuer.check(token)
        second = asyncio.create_task(issuer.fetch_keys())
        provider.may_answer.set()
        await asyncio.gather(first, second)
        assert issuer.check(token)["sub"] == "1234"
        assert provider.fetched == 1


async def test_documents_of_another_issuer_are_refused(tmp_path: Path) -> None:
    async with world(tmp_path) as (provider, cluster):
        provider.issuer = "https://elsewhere.example.com"
        assert await who(cluster, provider.sign()) == 401


async def test_review_fetches_the_keys_it_needs(tmp_path: Path) -> None:
    async with world(tmp_path) as (provider, cluster), http.Client() as client:
        forger = Provider()
        forger.url = provider.url
        headers = [("Content-Type", "application/json"), ("Authorization", "Bearer admin")]
        for token, expected in ((provider.sign(), True), (forger.sign(), None)):
            review = {"spec": {"token": token, "audiences": ["quarterdeck"]}}
            response = await client.request(
                "POST",
                f"{cluster.url}/apis/authentication.k8s.io/v1/tokenreviews",
                headers=headers,
                body=json.dumps(review).encode(),
            )
            status = json.loads(await response.read())["status"]
            assert status.get("authenticated") is expected, status
        assert provider.fetched == 1
