"""Tokens: reviewed by a real API server, or signed by an OpenID Connect issuer."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.integration.services.hub.conftest import World

from quarterdeck.app.cluster import Cluster
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import json
from quarterdeck.kit.clock import SystemClock
from quarterdeck.services.hub.errors import Unauthenticated, Unavailable
from quarterdeck.services.hub.identity import Authenticator, parse_networks
from quarterdeck.services.hub.oidc import Claims, build_principal
from quarterdeck.services.hub.token_review import KEPT_S, TokenReviewer
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import ServiceUnavailable

Make = Callable[[], AbstractAsyncContextManager[World]]


class Reviews:
    """An API server that knows one token."""

    def __init__(self) -> None:
        self.asked = 0
        self.is_away = False

    async def create(self, path: ResourcePath, body: bytes, options: CreateOptions) -> bytes:
        self.asked += 1
        if self.is_away:
            raise ServiceUnavailable("away")
        if b"good" in body:
            return (
                b'{"status":{"authenticated":true,"user":{"username":"carol",'
                b'"groups":["dev"],"extra":{"email":["carol@example.com"]}}}}'
            )
        return b'{"status":{"authenticated":false}}'


async def test_reviews_are_remembered_for_a_minute(world: Make) -> None:
    async with world() as w:
        reviews = Reviews()
        reviewer = TokenReviewer(reviews, clock=w.clock)  # type: ignore[arg-type]
        w.hub = w.server(authenticator=Authenticator(verifiers=[reviewer]))
        headers = {"Authorization": "Bearer good"}
        for _ in range(3):
            reply = await w.ask("api:/auth/me", headers=headers)
            assert reply.body == {
                "username": "carol",
                "email": "carol@example.com",
                "groups": ["dev"],
            }
        assert reviews.asked == 1
        await w.clock.advance(KEPT_S + 1)
        await w.ask("api:/auth/me", headers=headers)
        assert reviews.asked == 2
        assert (await w.ask("api:/auth/me", headers={"Authorization": "Bearer x"})).status == 401
        reviewer.forget()
        reviews.is_away = True
        reply = await w.ask("api:/auth/me", headers=headers)
        assert reply.status == 503
        assert "good" not in str(reply.body)


async def test_the_embedded_server_reviews_tokens_of_service_accounts() -> None:
    async with Cluster() as cluster:
        client = cluster.client
        account = ResourcePath("", "v1", "serviceaccounts", "default", "default")
        body = b'{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}'
        token = await _request_token(client.raw, account, body)
        reviewer = TokenReviewer(client.raw, clock=SystemClock())
        found = await reviewer.verify(token)
        assert found is not None
        assert found.username == "system:serviceaccount:default:default"
        assert found.is_service_account
        assert await reviewer.verify("nonsense") is None


async def _request_token(api: Any, account: ResourcePath, body: bytes) -> str:
    path = account._replace(subresource="token")
    answer = await api.create(path, body, CreateOptions())
    return str(json.decode(answer)["status"]["token"])


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (
            {"email": "a@example.com", "groups": ["dev", "system:masters", 7]},
            Principal(username="a@example.com", email="a@example.com", groups=("dev",)),
        ),
        (
            {"email": "a@example.com", "groups": "dev"},
            Principal(username="a@example.com", email="a@example.com", groups=("dev",)),
        ),
    ],
)
def test_claims_become_a_principal(claims: Mapping[str, Any], expected: Principal) -> None:
    assert build_principal(claims, Claims()) == expected


def test_an_address_that_is_not_verified_names_nobody() -> None:
    claims = {"sub": "a", "email": "root@example.com", "email_verified": False}
    with pytest.raises(Unauthenticated, match="not verified"):
        build_principal(claims, Claims())
    assert build_principal(claims, Claims(username="sub")).email == ""
    with pytest.raises(Unauthenticated, match="no claim"):
        build_principal({}, Claims())


def test_text_that_is_not_a_network_is_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        parse_networks("10.0.0.0/8, nonsense")


def test_failures_have_the_status_they_say() -> None:
    assert (Unauthenticated("x").status, Unavailable("x").status) == (401, 503)
