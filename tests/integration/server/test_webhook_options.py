"""Webhooks are told the options of a write, in the order in which Kubernetes asks them."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from webhook_server import webhook_server

from quarterdeck.kit import http

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
GROUP = "/apis/admissionregistration.k8s.io/v1"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["*/*"]}


@contextlib.asynccontextmanager
async def asked(api: Any) -> AsyncIterator[list[tuple[str, Object]]]:
    """Webhooks of both kinds that allow everything, and what they were asked."""
    seen: list[tuple[str, Object]] = []

    async def allow(request: http.Request) -> http.Response:
        review = json.loads(await request.read(1 << 20))["request"]
        seen.append((request.target.partition("?")[0].rpartition("/")[2], review))
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": review["uid"], "allowed": True},
        }
        return http.Response(200, [], json.dumps(answer).encode())

    async with webhook_server(allow) as hook:
        for kind in ("mutating", "validating"):
            webhook = {
                "name": f"{kind}.example.com",
                "clientConfig": {"url": f"{hook.url}/{kind}", "caBundle": hook.ca_bundle},
                "rules": [RULE],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            body = {"metadata": {"name": kind}, "webhooks": [webhook]}
            made = await api("POST", f"{GROUP}/{kind}webhookconfigurations", body)
            assert made.status == 201, made.body
        yield seen


@pytest.mark.parametrize(
    ("method", "query", "body", "media", "expected"),
    [
        pytest.param(
            "DELETE",
            "/a?gracePeriodSeconds=3&propagationPolicy=Background",
            None,
            "",
            {"kind": "DeleteOptions", "gracePeriodSeconds": 3, "propagationPolicy": "Background"},
            id="deletion with a query",
        ),
        pytest.param(
            "DELETE",
            "/a?dryRun=All",
            None,
            "",
            {"kind": "DeleteOptions", "dryRun": ["All"]},
            id="deletion in dry run",
        ),
        pytest.param(
            "DELETE",
            "/a",
            {"propagationPolicy": "Foreground", "gracePeriodSeconds": 5},
            "application/json",
            {"kind": "DeleteOptions", "gracePeriodSeconds": 5, "propagationPolicy": "Foreground"},
            id="deletion with a body",
        ),
        pytest.param(
            "POST",
            "?fieldManager=m&fieldValidation=Strict",
            {"metadata": {"name": "new"}},
            "application/json",
            {"kind": "CreateOptions", "fieldManager": "m", "fieldValidation": "Strict"},
            id="creation",
        ),
        pytest.param(
            "PATCH",
            "/a?fieldValidation=Warn&pretty=1",
            {"data": {"a": "b"}},
            MERGE,
            {"kind": "UpdateOptions", "fieldValidation": "Warn"},
            id="merge patch",
        ),
        pytest.param(
            "PATCH",
            "/new?fieldManager=m&force=true",
            APPLIED,
            APPLY,
            {"kind": "CreateOptions", "fieldManager": "m"},
            id="apply of a new object",
        ),
    ],
)
async def test_options_are_told_as_they_were_sent(
    serving: Any, method: str, query: str, body: Any, media: str, expected: Object
) -> None:
    async with serving() as api:
        assert (await api("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
        async with asked(api) as seen:
            answer = await api(method, MAPS + query, body, media=media or "application/json")
            assert answer.status < 300, answer.body
        told = [(who, each["options"]) for who, each in seen]
        whole = {"apiVersion": "meta.k8s.io/v1", **expected}
        assert told == [("mutating", whole), ("validating", whole)]


async def test_an_eviction_is_no_deletion_to_webhooks(serving: Any) -> None:
    containers = [{"name": "c", "image": "i"}]
    async with serving() as api:
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
        assert (await api("POST", PODS, pod)).status == 201
        async with asked(api) as seen:
            body = {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}}
            assert (await api("POST", f"{PODS}/p/eviction", body)).status == 201
        assert (await api("GET", f"{PODS}/p")).status == 404
        told = [(each["operation"], each.get("subResource")) for _, each in seen]
        assert told == [("CREATE", "eviction")] * 2
