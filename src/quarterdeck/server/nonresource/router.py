"""Requests that name no resource: health, discovery, OpenAPI, version, token issuer, metrics."""

import asyncio
from typing import TYPE_CHECKING

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.authentication.service_accounts.tokens import ServiceAccountTokens
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, check_authorized
from quarterdeck.server.core import Core
from quarterdeck.server.nonresource import version
from quarterdeck.server.nonresource.discovery import DiscoveryDocuments
from quarterdeck.server.nonresource.health import ENDPOINTS, Health
from quarterdeck.server.request import negotiation
from quarterdeck.server.response import responses
from quarterdeck.server.response.compression import accepts_gzip, compress

if TYPE_CHECKING:
    from quarterdeck.server.openapi.documents import OpenApiDocuments


class NonResourceRouter:
    """Answers the requests of one server that name no resource."""

    def __init__(self, core: Core, health: Health) -> None:
        self._core = core
        self._health = health
        self._discovery = DiscoveryDocuments(core.registry)
        self._openapi: OpenApiDocuments | None = None
        self._openapi_lock = asyncio.Lock()
        self._version = version.build_document(core.options.git_version)

    async def handle(self, request: http.Request, user: User) -> http.Response:
        """Authorize and answer a request.

        Raises:
            Forbidden: if the user may not read the path.
        """
        path = "/" + request.path.strip("/")
        verb = "get" if request.method in ("GET", "HEAD") else request.method.lower()
        check_authorized(self._core.authorizer, user, Attributes(verb=verb, path=path))
        if verb != "get":
            return responses.build_page_not_found()
        first, *rest = path[1:].split("/")
        if first in ENDPOINTS:
            return self._health.answer(path, request.query) or responses.build_page_not_found()
        if first in ("api", "apis"):
            return self._answer_discovery(request, first, rest)
        if first == "openapi":
            return await self._answer_openapi(request, path) or responses.build_page_not_found()
        match path:
            case "/version":
                return http.Response(200, responses.JSON_HEADERS, self._version)
            case "/.well-known/openid-configuration":
                return _build_json_response(
                    request,
                    self._core,
                    kit_json.encode(_build_issuer_document(request, self._core.accounts)),
                )
            case "/openid/v1/jwks":
                keys = kit_json.encode(self._core.accounts.key.build_key_set())
                return _build_json_response(
                    request, self._core, keys, media="application/jwk-set+json"
                )
            case "/metrics":
                return http.Response(200, responses.METRICS_HEADERS, self._core.metrics.render())
            case _:
                return responses.build_page_not_found()

    async def _answer_openapi(self, request: http.Request, path: str) -> http.Response | None:
        """Answer for OpenAPI, which is loaded by the first request for it.

        With hundreds of definitions a document takes seconds to build. So it is built in a thread,
        once for all requests; the registry is read on the event loop.
        """
        from quarterdeck.server.openapi import documents, serve

        if self._openapi is None:
            self._openapi = documents.OpenApiDocuments(
                self._core.registry, self._core.options.git_version
            )
        found, clock = self._openapi, self._core.clock
        async with self._openapi_lock:
            found.refresh()
            return await self._core.worker.run_in_thread(
                lambda: serve.build_response(found, request, path, clock)
            )

    def _answer_discovery(self, request: http.Request, root: str, rest: list[str]) -> http.Response:
        documents = self._discovery
        body: bytes | None
        if not rest:
            return self._answer_discovery_root(request, root)
        if root == "api":
            body = documents.get_resources("", rest[0]) if len(rest) == 1 else None
        elif len(rest) == 1:
            body = documents.get_group(rest[0])
        else:
            body = documents.get_resources(rest[0], rest[1]) if len(rest) == 2 else None
        return (
            responses.build_page_not_found()
            if body is None
            else _build_json_response(request, self._core, body)
        )

    def _answer_discovery_root(self, request: http.Request, root: str) -> http.Response:
        chosen = negotiation.choose_discovery(request.headers.get("accept"))
        has_aggregated = self._core.options.has_aggregated_discovery
        if has_aggregated and chosen is not negotiation.Discovery.LEGACY:
            body = self._discovery.get_aggregated(chosen, core=root == "api")
            media = (
                f"application/json;g=apidiscovery.k8s.io;v={chosen.value};as=APIGroupDiscoveryList"
            )
            return _build_json_response(request, self._core, body, media=media)
        if root == "apis":
            return _build_json_response(request, self._core, self._discovery.get_groups())
        address = self._core.options.advertise_address or request.headers.get("host") or ""
        return _build_json_response(request, self._core, self._discovery.get_core_versions(address))


def _build_issuer_document(
    request: http.Request, accounts: ServiceAccountTokens
) -> dict[str, object]:
    """Build the OpenID discovery document, which names the keys of service account tokens."""
    scheme = "https" if request.peer.secure else "http"
    return {
        "issuer": accounts.issuer,
        "jwks_uri": f"{scheme}://{request.headers.get('host') or ''}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": accounts.key.algorithms,
    }


def _build_json_response(
    request: http.Request, core: Core, body: bytes, *, media: str = "application/json"
) -> http.Response:
    headers = [responses.JSON_HEADERS[0], ("Content-Type", media), ("Vary", "Accept")]
    if len(body) > core.options.gzip_bytes and accepts_gzip(request):
        body = compress(body)
        headers.append(("Content-Encoding", "gzip"))
    return http.Response(200, headers, body)
