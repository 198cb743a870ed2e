"""Logging in through an OpenID provider, with an API server that decides what the user may see."""

import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from openid_provider import CLIENT, SECRET, OpenIdProvider, serve_provider
from tests.integration.services.hub.conftest import open_world

from quarterdeck.app import definitions, hub_manifests
from quarterdeck.app.cluster import Cluster
from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.component_manifests import build_components
from quarterdeck.app.dashboard import build_dashboard
from quarterdeck.app.hub import build_hub
from quarterdeck.app.hub_identity import build_identity
from quarterdeck.app.installation import DEFAULT_INSTALLATION
from quarterdeck.app.manifests import build_namespace
from quarterdeck.client.client import Client
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import User

ACCOUNT = f"system:serviceaccount:{DEFAULT_INSTALLATION.namespace}:{hub_manifests.NAME}"
RBAC = "rbac.authorization.k8s.io"
TEAM: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "team"},
    },
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": "reader", "namespace": "team"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
    },
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": "team"},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "devs"}],
    },
    {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "masters-of-the-provider"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": "system:provider"}],
    },
]
MAPS = "/k8s/api/v1/namespaces/team/configmaps"


Headers = Sequence[tuple[str, str]]


class Browser:
    """Keeps cookies of the hub and follows no redirect by itself."""

    def __init__(self, client: http.Client, url: str) -> None:
        self._client = client
        self.url = url
        self.cookies: dict[str, str] = {}

    async def get(
        self, url: str, *, method: str = "GET", headers: Headers = ()
    ) -> tuple[int, str, Any]:
        """Status, where it redirects to, and the body."""
        answer = await self.send(url, method=method, headers=headers)
        body = await answer.read()
        for header in answer.headers.get_all("set-cookie"):
            name, _, value = header.partition(";")[0].partition("=")
            self.cookies[name] = value
        is_json = "json" in (answer.headers.get("content-type") or "")
        return (
            answer.status,
            answer.headers.get("location") or "",
            json.loads(body) if is_json else body,
        )

    async def send(
        self, url: str, *, method: str = "GET", headers: Headers = ()
    ) -> http.ClientResponse:
        """Send a request; the hub gets its cookies."""
        if not url.startswith("/"):
            return await self._client.request(method, url)
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = [("Cookie", cookies), *headers]
        return await self._client.request(method, self.url + url, headers=sent)

    async def log_in(self, path: str = "/") -> str:
        """Go to the provider and back; returns where that ends."""
        _, there, _ = await self.get(f"/login/oidc?next={path}")
        _, back, _ = await self.get(there)
        assert back.startswith(self.url), back
        status, where, _ = await self.get(back.removeprefix(self.url))
        assert status == 303
        return where


World = tuple[OpenIdProvider, Browser]


@contextlib.asynccontextmanager
async def open_hub(folder: Path, **settings: Any) -> AsyncIterator[World]:
    """A hub whose account has the rights of `config/components/hub*`, and a browser."""
    clock = SystemClock()
    tokens = BearerTokens({"hub": User(name=ACCOUNT, groups=("system:serviceaccounts",))})
    async with contextlib.AsyncExitStack() as stack:
        provider, ca_file = await stack.enter_async_context(serve_provider(folder))
        cluster = await stack.enter_async_context(Cluster(authenticators=(tokens, PlainPort())))
        components = build_components(DEFAULT_INSTALLATION)
        documents = [components["hub"][name] for name in ("role", "role_binding")]
        if settings.pop("may_impersonate", True):
            documents += [*components["hub-impersonation"].values()]
        await definitions.apply(
            cluster.client.raw, [build_namespace(DEFAULT_INSTALLATION), *documents, *TEAM]
        )
        config = ClusterConfig(server=cluster.url, token=Secret("hub"))
        api = await stack.enter_async_context(Client(config))
        given = Settings(
            hub_oidc_issuer=provider.url,
            hub_oidc_client_id=CLIENT,
            hub_oidc_client_secret=Secret(settings.pop("secret", SECRET)),
            hub_oidc_ca_file=str(ca_file),
            **settings,
        )
        store = await stack.enter_async_context(open_world())
        identity = build_identity(given, api=api.raw, clock=clock)
        hub = build_hub(given, store.state, store.history, identity=identity, clock=clock)
        dashboard = build_dashboard(hub.handle, config, identity=identity, clock=clock)
        stack.push_async_callback(dashboard.aclose)
        web = await stack.enter_async_context(http.Server(dashboard.handle))
        listener = await web.listen("127.0.0.1", 0)
        tls = ssl.create_default_context(cafile=ca_file)
        client = await stack.enter_async_context(http.Client(tls=tls))
        yield provider, Browser(client, listener.url)


async def test_the_user_of_the_provider_sees_what_their_groups_may_see(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (_, browser):
        status, _, body = await browser.get("/session")
        assert (status, body["issuer"].startswith("127.0.0.1:")) == (401, True)
        assert await browser.log_in("/clusters?tab=registries") == "/clusters?tab=registries"
        status, _, body = await browser.get("/session")
        assert (status, body["username"], body["groups"]) == (200, "ann@example.com", ["devs"])
        assert body["canLogOut"] is True
        status, _, found = await browser.get(MAPS)
        assert "settings" in [each["metadata"]["name"] for each in found["items"]]
        for path in ("/k8s/api/v1/secrets", "/k8s/api/v1/namespaces", "/k8s/api/v1/configmaps"):
            status, _, body = await browser.get(path)
            assert status == 403
            assert 'User "ann@example.com" cannot list' in body["message"]
        assert (await browser.get("/api/v1/clusters"))[::2] == (200, [])


async def test_logging_out_ends_the_session(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (_, browser):
        await browser.log_in()
        csrf = (await browser.get("/session"))[2]["csrf"]
        kept = dict(browser.cookies)
        status, _, _ = await browser.get("/session", method="DELETE")
        assert status == 403, "without the token of the page nobody is logged out"
        header = ("X-CSRF-Token", csrf)
        assert (await browser.get("/session", method="DELETE", headers=[header]))[0] == 200
        browser.cookies = kept
        assert (await browser.get("/session"))[0] == 401


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"nonce": "another"}, id="a token of another login"),
        pytest.param({"aud": "another"}, id="a token for another client"),
        pytest.param({"aud": [CLIENT, "another"]}, id="shared without a party"),
        pytest.param({"azp": "another"}, id="issued to another client"),
        pytest.param({"exp": 1}, id="expired"),
        pytest.param({"iss": "https://evil.example.com"}, id="another issuer"),
        pytest.param({"email_verified": False}, id="an address that is not verified"),
        pytest.param({"email": "system:admin"}, id="a name of Kubernetes"),
    ],
)
async def test_a_wrong_id_token_opens_no_session(tmp_path: Path, claims: dict[str, Any]) -> None:
    async with open_hub(tmp_path) as (provider, browser):
        provider.claims = claims
        assert await browser.log_in() == "/?login=failed"
        assert (await browser.get("/session"))[0] == 401
        provider.claims = {}
        assert await browser.log_in() == "/"


async def test_groups_of_kubernetes_are_not_taken_from_a_provider(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (provider, browser):
        provider.user["groups"] = ["system:masters", "system:provider", "system:nodes"]
        await browser.log_in()
        assert (await browser.get("/k8s/api/v1/secrets"))[0] == 403


async def test_an_answer_counts_only_in_the_browser_that_asked(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (provider, browser):
        _, there, _ = await browser.get("/login/oidc")
        _, back, _ = await browser.get(there)
        own, browser.cookies = browser.cookies, {}  # a victim who was sent the attacker's answer
        status, where, _ = await browser.get(back.removeprefix(browser.url))
        assert (status, where) == (303, "/?login=expired")
        assert provider.exchanges == 0
        browser.cookies = own
        state = parse_qs(urlsplit(there).query)["state"][0]
        wrong = back.removeprefix(browser.url).replace(state, "x" * len(state))
        assert (await browser.get(wrong))[1] == "/?login=expired"
        assert provider.exchanges == 0


async def test_a_code_is_used_once_and_only_with_its_verifier(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (_, browser):
        _, there, _ = await browser.get("/login/oidc")
        own = dict(browser.cookies)
        _, back, _ = await browser.get(there)
        back = back.removeprefix(browser.url)
        assert (await browser.get(back))[1] == "/"
        browser.cookies = dict(own)
        assert (await browser.get(back))[1] == "/?login=failed"
        _, there, _ = await browser.get("/login/oidc")
        stolen = parse_qs(urlsplit((await browser.get(there))[1]).query)["code"][0]
        _, there, _ = await browser.get("/login/oidc")
        state = parse_qs(urlsplit(there).query)["state"][0]
        where = (await browser.get(f"/login/callback?code={stolen}&state={state}"))[1]
        assert where == "/?login=failed"


@pytest.mark.parametrize(
    "path", ["//evil.example.com", "https://evil.example.com", "/%5Cevil.example.com", "/a%0d%0ab"]
)
async def test_a_login_never_ends_on_another_site(tmp_path: Path, path: str) -> None:
    async with open_hub(tmp_path) as (_, browser):
        assert await browser.log_in(path) == "/"


async def test_a_refusal_of_the_provider_is_told(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as (provider, browser):
        provider.refusal = "access_denied"
        assert await browser.log_in() == "/?login=denied"


@pytest.mark.parametrize(
    ("secret", "methods"),
    [
        pytest.param("", ["none"], id="public client"),
        pytest.param(SECRET, ["client_secret_post"], id="secret in the body"),
    ],
)
async def test_clients_authenticate_by_a_method_of_the_provider(
    tmp_path: Path, secret: str, methods: list[str]
) -> None:
    async with open_hub(tmp_path, secret=secret) as (provider, browser):
        provider.secret, provider.methods = secret, methods
        assert await browser.log_in() == "/"


async def test_a_wrong_secret_and_a_provider_that_is_away_are_told(tmp_path: Path) -> None:
    async with open_hub(tmp_path, secret="wrong") as (provider, browser):
        assert await browser.log_in() == "/?login=failed"
        provider.url += "/moved"  # its document is not that of the issuer any more
        assert (await browser.get("/login/oidc"))[1] == "/?login=unavailable"


async def test_behind_a_proxy_the_browser_comes_back_to_the_public_address(tmp_path: Path) -> None:
    public = "https://hub.example.com"
    async with open_hub(tmp_path, hub_url=public) as (provider, browser):
        provider.redirect_uris = {f"{public}/login/callback"}
        _, there, _ = await browser.get("/login/oidc")
        _, back, _ = await browser.get(there)
        answer = await browser.send(back.removeprefix(public))
        await answer.read()
        cookies = answer.headers.get_all("set-cookie")
        assert [each for each in cookies if "SameSite=Strict" in each and "Secure" in each]


async def test_users_of_a_trusted_proxy_see_what_their_groups_may_see(tmp_path: Path) -> None:
    async with open_hub(tmp_path, oauth_trusted_proxies="127.0.0.1") as (_, browser):
        dev = [("X-Forwarded-User", "bob"), ("X-Forwarded-Groups", "devs")]
        assert (await browser.get(MAPS, headers=dev))[0] == 200
        assert (await browser.get("/k8s/api/v1/secrets", headers=dev))[0] == 403
        other = [("X-Forwarded-User", "bob"), ("X-Forwarded-Groups", "system:masters")]
        assert (await browser.get(MAPS, headers=other))[0] == 403
        system = [("X-Forwarded-User", "system:admin")]
        status, _, body = await browser.get(MAPS, headers=system)
        assert (status, "cannot impersonate" in body["message"]) == (403, True)


async def test_without_the_right_to_impersonate_nothing_is_shown(tmp_path: Path) -> None:
    async with open_hub(tmp_path, may_impersonate=False) as (_, browser):
        await browser.log_in()
        status, _, body = await browser.get(MAPS)
        assert (status, "impersonate" in body["message"]) == (403, True)
