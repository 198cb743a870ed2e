"""Webhooks and policies see evictions, bindings and token requests, and may refuse them."""

import json
from typing import Any

import pytest
from webhook_questions import asked
from webhook_server import webhook_server

from quarterdeck.kit import http

Object = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
GROUP = "/apis/admissionregistration.k8s.io/v1"
POSTED: dict[str, tuple[str, str, Object]] = {
    "pods/eviction": (f"{PODS}/p/eviction", "Eviction", {"metadata": {"name": "p"}}),
    "pods/binding": (
        f"{PODS}/p/binding",
        "Binding",
        {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}},
    ),
    "serviceaccounts/token": (f"{ACCOUNTS}/robot/token", "TokenRequest", {}),
}


def build_rule(resource: str) -> Object:
    return {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [resource],
    }


async def prepare(api: Any) -> None:
    containers = [{"name": "c", "image": "i"}]
    made = await api("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    assert made.status == 201, made.body
    assert (await api("POST", ACCOUNTS, {"metadata": {"name": "robot"}})).status == 201


@pytest.mark.parametrize("resource", POSTED)
async def test_webhook_sees_what_is_posted_and_refuses_it(serving: Any, resource: str) -> None:
    path, kind, body = POSTED[resource]
    seen: list[Object] = []

    async def deny(request: http.Request) -> http.Response:
        review = json.loads(await request.read(1 << 20))["request"]
        seen.append(review)
        response = {"uid": review["uid"], "allowed": False, "status": {"message": "not today"}}
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": response,
        }
        return http.Response(200, [], json.dumps(answer).encode())

    async with serving() as api, webhook_server(deny) as hook:
        await prepare(api)
        webhook = {
            "name": "deny.example.com",
            "clientConfig": {"url": hook.url, "caBundle": hook.ca_bundle},
            "rules": [build_rule(resource)],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        configuration = {"metadata": {"name": "deny"}, "webhooks": [webhook]}
        made = await api("POST", f"{GROUP}/validatingwebhookconfigurations", configuration)
        assert made.status == 201, made.body
        refused = await api("POST", path, body)
        assert "not today" in refused.message
        assert "nodeName" not in (await api("GET", f"{PODS}/p")).body["spec"]
        await api("DELETE", f"{GROUP}/validatingwebhookconfigurations/deny")
        assert (await api("POST", path, body)).status == 201
    (review,) = seen
    name, _, subresource = resource.partition("/")
    assert review["resource"]["resource"] == name
    assert review["subResource"] == subresource
    assert review["kind"]["kind"] == review["object"]["kind"] == kind
    assert review["operation"] == "CREATE"
    assert review["oldObject"] is None


async def test_policy_bounds_the_life_of_tokens(serving: Any) -> None:
    expression = "object.spec.expirationSeconds <= 3600"
    spec = {
        "matchConstraints": {"resourceRules": [build_rule("serviceaccounts/token")]},
        "validations": [{"expression": expression, "message": "an hour is enough"}],
    }
    bound = {"policyName": "short", "validationActions": ["Deny"]}
    path = POSTED["serviceaccounts/token"][0]
    async with serving() as api:
        await prepare(api)
        for kind, body in (("policies", spec), ("policybindings", bound)):
            made = await api(
                "POST",
                f"{GROUP}/validatingadmission{kind}",
                {"metadata": {"name": "short"}, "spec": body},
            )
            assert made.status == 201, made.body
        assert (await api("POST", path, {})).status == 201
        refused = await api("POST", path, {"spec": {"expirationSeconds": 7200}})
        assert "an hour is enough" in refused.message


@pytest.mark.parametrize(
    ("path", "body", "status", "expected"),
    [
        (f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {}}, 500, ["mutating"]),
        (
            f"{PODS}/p/binding",
            {"metadata": {"name": "q"}, "target": {"name": "n"}},
            400,
            ["mutating"],
        ),
        (
            f"{PODS}/nope/binding",
            {"metadata": {"name": "nope"}, "target": {"name": "n"}},
            404,
            ["mutating", "validating"],
        ),
        (f"{ACCOUNTS}/nope/token", {}, 404, ["mutating"]),
        (f"{ACCOUNTS}/robot/token", {"spec": {"expirationSeconds": 1}}, 422, ["mutating"]),
    ],
)
async def test_who_may_only_refuse_is_asked_of_what_is_valid(
    serving: Any, path: str, body: Object, status: int, expected: list[str]
) -> None:
    async with serving() as api:
        await prepare(api)
        async with asked(api) as seen:
            assert (await api("POST", path, body)).status == status
    assert [kind for kind, _ in seen] == expected


async def test_a_binding_that_is_posted_by_itself_is_seen_as_one(serving: Any) -> None:
    async with serving() as api:
        await prepare(api)
        async with asked(api) as seen:
            body = {"metadata": {"name": "p"}, "target": {"name": "n"}}
            path = "/api/v1/namespaces/default/bindings"
            assert (await api("POST", path, body)).status == 201
    reviews = [review for _, review in seen]
    assert [review["resource"]["resource"] for review in reviews] == ["bindings"] * 2
    assert [review.get("subResource") or "" for review in reviews] == ["", ""]
