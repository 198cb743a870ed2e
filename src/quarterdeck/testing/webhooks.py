"""Admission webhooks for tests: a function decides, and the certificate is generated.

The manager of an operator under test serves its own webhooks; these simulate webhooks of others,
which may refuse what the operator writes, change it, or not answer at all.
"""

import base64
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import msgspec

from quarterdeck.client import Client
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.pem import load_identity
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.status import NotFound

Object = dict[str, Any]
Decision = str | list[Object] | None
"""None allows, a text refuses, a list of JSON patch operations changes the object."""
Decide = Callable[[Object], Decision | Awaitable[Decision]]
"""Decides about an AdmissionRequest."""

_GROUP = "admissionregistration.k8s.io"
_HOST = "127.0.0.1"
_MAX_BYTES = 16 * 1024 * 1024
_LIFE = timedelta(days=1)


class WebhookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a webhook is registered."""

    mutating: bool = False
    """Whether it may change objects; else it only allows and refuses."""
    operations: tuple[str, ...] = ("CREATE", "UPDATE")
    ignores_failures: bool = False
    """Whether writes go on when the webhook fails (`failurePolicy: Ignore`)."""
    timeout_s: int = 10
    match_conditions: tuple[tuple[str, str], ...] = ()
    """Names and expressions that must all be true."""
    reinvoked: bool = False
    """Whether it is asked again when a later one changed the object."""


class AdmissionWebhook:
    """A webhook that is served and registered inside of `async with`."""

    def __init__(
        self,
        client: Client,
        resources: str | Sequence[str],
        decide: Decide,
        settings: WebhookSettings | None = None,
        *,
        name: str = "webhook",
    ) -> None:
        """`resources` are written as kubectl does: `pods`, `deployments.apps/scale`."""
        self._client = client
        self._resources = (resources,) if isinstance(resources, str) else tuple(resources)
        self._decide = decide
        self._settings = settings or WebhookSettings()
        self._name = name
        self._stack = AsyncExitStack()
        self.requests: list[Object] = []
        """The AdmissionRequests that came, oldest first."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            issued = issue_certificate(
                CertificateRequest(self._name, _LIFE, (_HOST,)), now=SystemClock().now()
            )
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            load_identity(tls, issued.encode_certificate(), issued.encode_key())
            server = await stack.enter_async_context(http.Server(self._handle))
            listener = await server.listen(_HOST, 0, tls=tls)
            await self._register(listener.url, issued.encode_certificate())
            stack.push_async_callback(self._unregister)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    @property
    def _gvr(self) -> GVR:
        kind = "mutating" if self._settings.mutating else "validating"
        return GVR(_GROUP, "v1", f"{kind}webhookconfigurations")

    async def _register(self, url: str, authority: bytes) -> None:
        settings = self._settings
        webhook: Object = {
            "name": f"{self._name}.test.quarterdeck.dev",
            "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
            "rules": [_build_rule(each, settings.operations) for each in self._resources],
            "failurePolicy": "Ignore" if settings.ignores_failures else "Fail",
            "timeoutSeconds": settings.timeout_s,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "matchConditions": [
                {"name": name, "expression": text} for name, text in settings.match_conditions
            ],
        }
        if settings.reinvoked:
            webhook["reinvocationPolicy"] = "IfNeeded"
        kind = "Mutating" if settings.mutating else "Validating"
        configuration = {
            "apiVersion": f"{_GROUP}/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": self._name},
            "webhooks": [webhook],
        }
        await self._client.resource(self._gvr).create(configuration)

    async def _unregister(self) -> None:
        try:
            await self._client.resource(self._gvr).delete(self._name)
        except NotFound:
            return

    async def _handle(self, request: http.Request) -> http.Response:
        review = kit_json.decode(await request.read(_MAX_BYTES))
        asked: Object = review["request"]
        self.requests.append(asked)
        found = self._decide(asked)
        decision = await found if isinstance(found, Awaitable) else found
        answer = {
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": {"uid": asked["uid"], **_build_response(decision)},
        }
        headers = [("Content-Type", "application/json")]
        return http.Response(200, headers, kit_json.encode(answer))


def _build_rule(resource: str, operations: Sequence[str]) -> Object:
    """A rule from `name.group/subresource`."""
    whole, _, below = resource.partition("/")
    name, _, group = whole.partition(".")
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": [f"{name}/{below}" if below else name],
    }


def _build_response(decision: Decision) -> Object:
    match decision:
        case None:
            return {"allowed": True}
        case str():
            return {"allowed": False, "status": {"code": 403, "message": decision}}
        case _:
            patch = base64.b64encode(kit_json.encode(decision)).decode()
            return {"allowed": True, "patchType": "JSONPatch", "patch": patch}
