"""TokenRequest, TokenReview and what a token then opens."""

import base64
import json
from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import MASTERS_GROUP, User

_ROOT = User(name="root", groups=(MASTERS_GROUP,))
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def issued(api: Any, **spec: Any) -> str:
    await api("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
    answer = await api("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
    assert answer.status == 201
    return str(answer.body["status"]["token"])


async def test_token_opens_what_its_account_may_do_until_the_account_goes(serving: Any) -> None:
    async with serving() as api:
        bearer = f"Bearer {await issued(api)}"
        me = await api("POST", SELF, {}, authorization=bearer)
        info = me.body["status"]["userInfo"]
        assert info["username"] == "system:serviceaccount:default:robot"
        assert "system:serviceaccounts:default" in info["groups"]
        assert (await api("GET", "/api", authorization=bearer)).status == 200
        assert (await api("GET", "/openid/v1/jwks", authorization=bearer)).status == 200
        refused = await api("GET", PODS, authorization=bearer)
        assert refused.status == 403
        assert 'User "system:serviceaccount:default:robot" cannot list' in refused.message
        await api("DELETE", f"{ACCOUNTS}/robot")
        assert (await api("GET", "/api", authorization=bearer)).status == 401


async def test_token_review_names_the_account_and_its_audiences(serving: Any) -> None:
    async with serving() as api:
        token = await issued(api, audiences=["vault", "other"])
        body = {"spec": {"token": token, "audiences": ["vault", "third"]}}
        status = (await api("POST", REVIEWS, body)).body["status"]
        assert status["authenticated"] is True
        assert status["user"]["username"] == "system:serviceaccount:default:robot"
        assert status["audiences"] == ["vault"]
        status = (await api("POST", REVIEWS, {"spec": {"token": token}})).body["status"]
        assert status["user"] == {}
        assert status["error"].startswith(
            '[invalid bearer token, token audiences ["vault" "other"]'
        )
        empty = await api("POST", REVIEWS, {"spec": {}})
        assert (empty.status, empty.message) == (
            400,
            "token is required for TokenReview in authentication",
        )


async def test_issuer_says_where_its_keys_are(serving: Any) -> None:
    async with serving() as api:
        document = (await api("GET", "/.well-known/openid-configuration")).body
        assert document["issuer"] == "https://kubernetes.default.svc"
        assert document["jwks_uri"].endswith("/openid/v1/jwks")


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        pytest.param(
            {"expirationSeconds": 60},
            422,
            "spec.expirationSeconds: Invalid value: 60: may not specify a duration less than"
            " 10 minutes",
            id="too short",
        ),
        pytest.param(
            {"expirationSeconds": 2**33},
            422,
            "may not specify a duration larger than 2^32 seconds",
            id="too long",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}},
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
            id="bound to a strange kind",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "x"}},
            404,
            'pods "x" not found',
            id="bound to nothing",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "other"}},
            400,
            'cannot bind token for serviceaccount "robot" to pod running with different',
            id="bound to the pod of another",
        ),
        pytest.param(
            {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "own", "uid": "x"}},
            409,
            "the UID in the bound object reference (x) does not match the UID in record",
            id="bound to a pod that was",
        ),
    ],
)
async def test_bad_requests_are_refused(
    serving: Any, spec: dict[str, Any], status: int, message: str
) -> None:
    async with serving() as api:
        await issued(api)
        containers = [{"name": "c", "image": "i"}]
        for name, account in (("other", "default"), ("own", "robot")):
            pod = {"serviceAccountName": account, "containers": containers}
            await api("POST", PODS, {"metadata": {"name": name}, "spec": pod})
        answer = await api("POST", f"{ACCOUNTS}/robot/token", {"spec": spec})
        assert answer.status == status
        assert message in answer.message


async def test_a_token_for_an_unknown_account_is_not_found(serving: Any) -> None:
    async with serving() as api:
        answer = await api("POST", f"{ACCOUNTS}/nobody/token", {})
        assert (answer.status, answer.message) == (404, 'serviceaccounts "nobody" not found')


async def test_secret_with_a_token_is_filled_accepted_and_ends_with_its_account() -> None:
    async with Cluster(authenticators=(BearerTokens({"root": _ROOT}),)) as cluster:
        lifecycle = cluster.api.lifecycle
        assert lifecycle is not None
        accounts = f"{cluster.url}/api/v1/namespaces/default/serviceaccounts"
        secrets = f"{cluster.url}/api/v1/namespaces/default/secrets"
        async with http.Client() as client:
            await _send(client, "POST", accounts, {"metadata": {"name": "robot"}})
            annotations = {"kubernetes.io/service-account.name": "robot"}
            secret = {
                "metadata": {"name": "robot-token", "annotations": annotations},
                "type": "kubernetes.io/service-account-token",
            }
            await _send(client, "POST", secrets, secret)
            await lifecycle.wait_until_idle()
            _, filled = await _send(client, "GET", f"{secrets}/robot-token")
            assert sorted(filled["data"]) == ["ca.crt", "namespace", "token"]
            assert filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"]
            token = base64.b64decode(filled["data"]["token"]).decode()
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            reviews = f"{cluster.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
            status, body = await _send(client, "POST", reviews, review, token=token)
            assert status == 201
            assert body["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
            await _send(client, "DELETE", f"{accounts}/robot")
            await lifecycle.wait_until_idle()
            status, _ = await _send(client, "GET", f"{secrets}/robot-token")
            assert status == 404
            status, _ = await _send(client, "POST", reviews, review, token=token)
            assert status == 401


async def _send(
    client: http.Client, method: str, url: str, body: object = None, *, token: str = "root"
) -> tuple[int, Any]:
    response = await client.request(
        method,
        url,
        headers=[("Content-Type", "application/json"), ("Authorization", f"Bearer {token}")],
        body=None if body is None else json.dumps(body).encode(),
    )
    return response.status, json.loads(await response.read())
