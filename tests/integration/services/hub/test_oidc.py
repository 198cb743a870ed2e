"""ID tokens of an issuer that serves its keys over HTTPS, as the hub sees them."""

import contextlib
import ssl
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.integration.server.test_oidc import NOW, Provider
from tests.integration.services.hub.conftest import open_world
from tests.integration.services.hub.test_identity import Reviews

from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.errors import SettingError
from quarterdeck.app.hub import build_hub
from quarterdeck.app.hub_identity import build_identity, check_identity_settings
from quarterdeck.kit import http, json
from quarterdeck.kit.certificate import CertificateRequest, generate_key, issue_certificate
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.pem import load_identity
from quarterdeck.services.hub.service import HubServer


@contextlib.asynccontextmanager
async def open_hub(folder: Path) -> AsyncIterator[tuple[Provider, HubServer, VirtualClock]]:
    """A hub that trusts a provider, built from settings as `quarterdeck hub` builds it."""
    request = CertificateRequest("provider", timedelta(days=1), ("127.0.0.1",))
    authority = issue_certificate(request, now=NOW)
    ca_file = folder / "ca.crt"
    ca_file.write_bytes(authority.encode_certificate())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(tls, authority.encode_certificate(), authority.encode_key())
    provider, clock = Provider(), VirtualClock(NOW)
    async with open_world() as w, http.Server(provider.handle) as server:
        listener = await server.listen("127.0.0.1", 0, tls=tls)
        provider.url = f"https://127.0.0.1:{listener.port}"
        settings = Settings(hub_oidc_issuer=provider.url, hub_oidc_ca_file=str(ca_file))
        check_identity_settings(settings)
        identity = build_identity(settings, api=Reviews(), clock=clock)  # type: ignore[arg-type]
        hub = build_hub(settings, w.state, w.history, identity=identity, clock=clock)
        yield provider, hub, clock


async def ask(hub: HubServer, token: str) -> tuple[int, object]:
    headers = [("Authorization", f"Bearer {token}")]
    answer = await hub.handle(http.Request.of("GET", "/api/v1/auth/me", headers=headers))
    assert isinstance(answer, http.Response)
    return answer.status, json.decode(answer.body)


async def test_an_id_token_names_its_user(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (provider, hub, _):
        token = provider.sign(
            email="a@example.com", groups=["devs", "system:masters", "system:nodes"]
        )
        expected = {"username": "a@example.com", "email": "a@example.com", "groups": ["devs"]}
        assert await ask(hub, token) == (200, expected)


async def test_tokens_that_are_not_good_are_refused(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (provider, hub, _):
        good = provider.sign(email="a@example.com")
        head, _, signature = good.rpartition(".")
        forged = f"{head}.{signature[::-1]}"
        other = Provider()
        other.url = provider.url
        for token in (
            forged,
            other.sign(email="root@example.com"),  # signed by a key of somebody else
            provider.sign(email="a@example.com", aud="another"),
            provider.sign(email="a@example.com", exp=NOW.timestamp() - 1),
            provider.sign(email="a@example.com", email_verified=False),
            provider.sign(iss="https://evil.example.com", email="a@example.com"),
            provider.sign(),
            provider.sign(email="system:serviceaccount:default:robot"),
        ):
            status, body = await ask(hub, token)
            assert status == 401, body
        assert (await ask(hub, good))[0] == 200


async def test_only_tokens_that_need_other_keys_wait_for_the_issuer(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (provider, hub, clock):
        good = provider.sign(email="a@example.com")
        expired = provider.sign(email="a@example.com", exp=NOW.timestamp() - 1)
        assert (await ask(hub, good))[0] == 200
        provider.issuer = "https://elsewhere.example.com"  # its keys cannot be fetched now
        provider.keys = {"one": generate_key()}
        await clock.advance(11)
        assert (await ask(hub, provider.sign(email="a@example.com")))[0] == 503
        assert (await ask(hub, expired))[0] == 401
        assert (await ask(hub, good))[0] == 200


async def test_other_tokens_are_reviewed_by_the_api_server(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (_, hub, _):
        status, body = await ask(hub, "good")
        assert status == 200
        assert isinstance(body, dict)
        assert body["username"] == "carol"


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (Settings(hub_oidc_issuer="http://plain.example.com"), "HUB_OIDC_ISSUER"),
        (Settings(hub_oidc_issuer="https://a.example.com", hub_oidc_scopes="email"), "SCOPES"),
        (Settings(hub_url="hub.example.com"), "HUB_URL"),
        (Settings(oauth_trusted_proxies="10.0.0.0/8,nonsense"), "OAUTH_TRUSTED_PROXIES"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: Settings, name: str) -> None:
    with pytest.raises(SettingError, match=name):
        check_identity_settings(settings)
