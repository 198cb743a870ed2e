"""Attempts of a user with few rights to get more: each is refused, and says why where it may."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.service_accounts.signing_key import SigningKey
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
USERS = {
    "root": User(name="root", groups=(MASTERS_GROUP,)),
    "mallory": User(name="mallory", groups=("devs", AUTHENTICATED_GROUP)),
}
RULES = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
    {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
        "verbs": ["create", "get", "list", "patch", "update"],  # neither bind nor escalate
    },
    {"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]},
]
"""What mallory holds: she may write roles and bindings, which is what makes her dangerous."""


class World:
    """A server and requests to it."""

    def __init__(self, cluster: Cluster, client: http.Client) -> None:
        self.cluster, self._client = cluster, client

    async def send(
        self, user: str, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        headers = {"Content_Type": "application/json", **headers}
        given = [("Authorization", f"Bearer {user}")]
        given += [(name.replace("_", "-"), value) for name, value in headers.items()]
        response = await self._client.request(
            method,
            self.cluster.url + path,
            headers=given,
            body=None if body is None else json.dumps(body).encode(),
        )
        return response.status, json.loads(await response.read())

    async def token(self, **spec: Any) -> str:
        await self.send("root", "POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        path = f"{ACCOUNTS}/robot/token"
        status, body = await self.send("root", "POST", path, {"spec": spec})
        assert status == 201, body
        return str(body["status"]["token"])


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with (
        Cluster(authenticators=(BearerTokens(USERS),), clock=VirtualClock()) as cluster,
        http.Client() as client,
    ):
        found = World(cluster, client)
        role = {"metadata": {"name": "mallory"}, "rules": RULES}
        await found.send("root", "POST", f"{RBAC}/clusterroles", role)
        binding = {
            "metadata": {"name": "mallory"},
            "roleRef": {"kind": "ClusterRole", "name": "mallory"},
            "subjects": [{"kind": "User", "name": "mallory"}],
        }
        await found.send("root", "POST", f"{RBAC}/clusterrolebindings", binding)
        yield found


SECRETS = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
ESCALATIONS = {
    "a role with more rights": ("clusterroles", {"metadata": {"name": "x"}, "rules": SECRETS}),
    "a role that is aggregated into admin": (
        "clusterroles",
        {
            "metadata": {
                "name": "x",
                "labels": {"rbac.authorization.k8s.io/aggregate-to-admin": "true"},
            },
            "rules": SECRETS,
        },
    ),
    "a role that collects the rights of others": (
        "clusterroles",
        {
            "metadata": {"name": "x"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {}}]},
            "rules": [],
        },
    ),
    "a binding to an administrator's role": (
        "clusterrolebindings",
        {
            "metadata": {"name": "x"},
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": "mallory"}],
        },
    ),
}


@pytest.mark.parametrize(("resource", "body"), ESCALATIONS.values(), ids=ESCALATIONS)
async def test_nobody_grants_what_they_do_not_hold(resource: str, body: dict[str, Any]) -> None:
    async with world() as attacked:
        status, answer = await attacked.send("mallory", "POST", f"{RBAC}/{resource}", body)
        assert status == 403
        told = ("not currently held", "must have cluster-admin privileges")
        assert any(text in answer["message"] for text in told)
        assert (await attacked.send("root", "GET", f"{RBAC}/{resource}/x"))[0] == 404


async def test_changing_a_role_one_has_is_no_way_around() -> None:
    async with world() as attacked:
        path = f"{RBAC}/clusterroles/mallory"
        _, role = await attacked.send("mallory", "GET", path)
        role["rules"] += SECRETS
        assert (await attacked.send("mallory", "PUT", path, role))[0] == 403
        patch = [{"op": "add", "path": "/rules/-", "value": SECRETS[0]}]
        media = "application/json-patch+json"
        assert (await attacked.send("mallory", "PATCH", path, patch, Content_Type=media))[0] == 403


async def test_only_an_administrator_ends_the_aggregation_of_a_role() -> None:
    async with world() as attacked:
        selector = {"clusterRoleSelectors": [{"matchLabels": {"aggregate": "yes"}}]}
        role = {"metadata": {"name": "sum"}, "aggregationRule": selector, "rules": []}
        assert (await attacked.send("root", "POST", f"{RBAC}/clusterroles", role))[0] == 201
        merge = {"Content_Type": "application/merge-patch+json"}
        for patch in ({"aggregationRule": None}, {"metadata": {"labels": {"a": "b"}}}):
            status, answer = await attacked.send(
                "mallory", "PATCH", f"{RBAC}/clusterroles/sum", patch, **merge
            )
            assert status == 403
            assert "must have cluster-admin privileges" in answer["message"]
        _, kept = await attacked.send("root", "GET", f"{RBAC}/clusterroles/sum")
        assert kept["aggregationRule"] == selector


async def grant_own_objects(attacked: World) -> None:
    """Let mallory do everything with the objects named `own`, and with no others."""
    rule = {"apiGroups": ["*"], "resources": ["*"], "resourceNames": ["own"], "verbs": ["*"]}
    role = {"metadata": {"name": "own"}, "rules": [rule]}
    assert (await attacked.send("root", "POST", f"{RBAC}/clusterroles", role))[0] == 201
    binding = {
        "metadata": {"name": "own"},
        "roleRef": {"kind": "ClusterRole", "name": "own"},
        "subjects": [{"kind": "User", "name": "mallory"}],
    }
    assert (await attacked.send("root", "POST", f"{RBAC}/clusterrolebindings", binding))[0] == 201


@pytest.mark.parametrize(
    ("method", "below"),
    [("POST", ""), ("DELETE", ""), ("PUT", ""), ("PATCH", ""), ("POST", "/token")],
)
async def test_the_old_path_of_watches_serves_nothing_but_watches(method: str, below: str) -> None:
    async with world() as attacked:
        await grant_own_objects(attacked)
        body = {"metadata": {"name": "other"}}
        path = f"/api/v1/watch/namespaces/default/serviceaccounts/own{below}"
        status, answer = await attacked.send("mallory", method, path, body)
        assert (status, answer["reason"]) == (405, "MethodNotAllowed")
        assert (await attacked.send("root", "GET", f"{ACCOUNTS}/other"))[0] == 404
        path = path.replace("/own", "/other")
        status, answer = await attacked.send("mallory", method, path, body)
        assert status == 403
        assert 'cannot watch resource "serviceaccounts' in answer["message"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Impersonate_User": "root"},
        {"Impersonate_User": "bob", "Impersonate_Group": "system:masters"},
        {"Impersonate_User": "system:serviceaccount:kube-system:x"},
        {"Impersonate_User": "bob", "Impersonate_Uid": "0"},
        {"Impersonate_User": "bob", "Impersonate_Extra_scopes": "all"},
    ],
    ids=["another user", "masters", "account", "uid", "extra"],
)
async def test_impersonation_needs_the_right_to_each_part(headers: dict[str, str]) -> None:
    async with world() as attacked:
        path = "/api/v1/namespaces/default/configmaps"
        assert (await attacked.send("mallory", "GET", path, **headers))[0] == 403


async def test_headers_of_a_proxy_mean_nothing_without_its_certificate() -> None:
    async with world() as attacked:
        headers = {"X_Remote_User": "root", "X_Remote_Group": "system:masters"}
        assert (await attacked.send("mallory", "GET", "/api/v1/secrets", **headers))[0] == 403


async def test_tokens_of_accounts_are_not_for_everybody() -> None:
    async with world() as attacked:
        await attacked.token()
        path = f"{ACCOUNTS}/robot/token"
        assert (await attacked.send("mallory", "POST", path, {"spec": {}}))[0] == 403


async def test_expired_forged_and_foreign_tokens_are_401() -> None:
    async with world() as attacked:
        clock = attacked.cluster.api.core.clock
        assert isinstance(clock, VirtualClock)
        good = await attacked.token(expirationSeconds=600)
        assert (await attacked.send(good, "GET", "/api"))[0] == 200
        other = await attacked.token(audiences=["vault"])
        claims = attacked.cluster.api.core.accounts.key.verify(good)
        forged = SigningKey().sign(claims)
        head, body, signature = good.split(".")
        changed = f"{head}.{body[:-2]}xx.{signature}"
        for token in (other, forged, changed, f"{head}.{body}.", "x", good + "x"):
            assert (await attacked.send(token, "GET", "/version"))[0] == 401
        await clock.advance(661)
        assert (await attacked.send(good, "GET", "/version"))[0] == 401


async def test_refused_credentials_are_logged_without_the_credentials(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with world() as attacked:
        clock = attacked.cluster.api.core.clock
        assert isinstance(clock, VirtualClock)
        good = await attacked.token(expirationSeconds=600)
        other = await attacked.token(audiences=["vault"])
        guesses = ["hunter2", "abcdef.0123456789abcdef", other]
        for token in guesses:
            await attacked.send(token, "GET", "/version")
            await clock.advance(2)
        await clock.advance(661)
        await attacked.send(good, "GET", "/version")
        lines = [each for each in caplog.records if each.message == "refused credentials"]
        reasons = [each.__dict__["reason"] for each in lines]
        assert reasons[0] == "no authenticator accepts the bearer token"
        assert reasons[1] == "bootstrap token abcdef: Secret not found"
        assert reasons[2].startswith('token audiences ["vault"] is invalid')
        assert reasons[3] == "the token of service account default/robot has expired"
        assert {each.__dict__["peer"] for each in lines} == {"127.0.0.1"}
        told = "".join(f"{each.__dict__}" for each in lines)
        assert not any(secret in told for secret in ("hunter2", "0123456789abcdef", good, other))


async def test_a_flood_of_guesses_is_counted_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async with world() as attacked:
        clock = attacked.cluster.api.core.clock
        assert isinstance(clock, VirtualClock)
        for number in range(20):
            assert (await attacked.send(f"guess-{number}", "GET", "/version"))[0] == 401
        await clock.advance(2)
        await attacked.send("last", "GET", "/version")
        lines = [each for each in caplog.records if each.message == "refused credentials"]
        assert [each.__dict__["count"] for each in lines] == [1, 20]
