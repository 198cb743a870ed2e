"""Webhooks that allow everything and remember what they were asked."""

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from webhook_server import webhook_server

from quarterdeck.kit import http

Object = dict[str, Any]
GROUP = "/apis/admissionregistration.k8s.io/v1"
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
