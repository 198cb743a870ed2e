"""The API server: one object that answers requests.

It owns no socket and no process: `app` binds `handle` to listeners, and keeps `run` running.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.server import router
from quarterdeck.server.admission.chain import Admission, NamespaceLifecycle, Plugin
from quarterdeck.server.admission.plugins.defaults import ServiceAccounts, default_plugins
from quarterdeck.server.admission.quota.plugin import ResourceQuotas
from quarterdeck.server.authentication import authentication
from quarterdeck.server.authentication.service_accounts.claims import ISSUER
from quarterdeck.server.authentication.service_accounts.signing_key import SigningKey
from quarterdeck.server.authentication.service_accounts.tokens import AccountTokens
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization import authorization
from quarterdeck.server.bootstrap import bootstrap
from quarterdeck.server.core.core import Core
from quarterdeck.server.core.metrics import Metrics
from quarterdeck.server.core.timers import Timers
from quarterdeck.server.filters import cross_origin
from quarterdeck.server.filters.impersonation import impersonate
from quarterdeck.server.nonresource import version
from quarterdeck.server.nonresource.discovery import DiscoveryDocuments
from quarterdeck.server.nonresource.health import ENDPOINTS, Health
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.request import negotiation
from quarterdeck.server.response import responses
from quarterdeck.server.response.frames import FrameCache
from quarterdeck.server.write.field_managers import FieldManagers
from quarterdeck.storage import StorageError, Store
from quarterdeck.storage.errors import Closed, CommitFailed, DiskFull, Overloaded
from quarterdeck.wire import path as paths
from quarterdeck.wire.status import (
    ApiError,
    InsufficientStorage,
    InternalError,
    ServiceUnavailable,
    TooManyRequests,
)

if TYPE_CHECKING:
    from quarterdeck.server.lifecycle import Lifecycle
    from quarterdeck.server.openapi.documents import OpenApiDocuments

_NO_RESOURCE = ("", "", "", "", "")


class ApiServer:
    """Answers the requests of the Kubernetes API from a store.

    Call `start` once before the first request and `run` as a task for as long as it serves.
    """

    def __init__(
        self,
        store: Store,
        options: ServerOptions | None = None,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        registry: Registry | None = None,
        authenticators: Sequence[authentication.Authenticator] | None = None,
        authorizer: authorization.Authorizer | None = None,
        plugins: Sequence[Plugin] = (),
    ) -> None:
        clock = clock or SystemClock()
        rng = rng or random.Random()
        options = options or ServerOptions()
        accounts = AccountTokens(store, SigningKey(options.signing_key), clock=clock, rng=rng)
        if authenticators is None:
            authenticators = (
                authentication.Certificates(),
                authentication.Tokens(),
                authentication.PlainPort(),
            )
        own = [
            plugin
            for plugin in default_plugins(store, rng)
            if options.service_accounts or not isinstance(plugin, ServiceAccounts)
        ]
        self.core = Core(
            store=store,
            registry=registry or Registry(),
            options=options,
            clock=clock,
            random=rng,
            timers=Timers(clock),
            authenticators=authentication.with_accounts(authenticators, accounts),
            accounts=accounts,
            authorizer=authorizer or authorization.AdministratorsOnly(),
            admission=Admission((NamespaceLifecycle(store), *own, *plugins, ResourceQuotas(store))),
            metrics=Metrics(),
            frames=FrameCache(),
            field_managers=FieldManagers(),
            streams=set(),
        )
        self.lifecycle: Lifecycle | None = None
        """What happens by itself; there once the server has started, unless switched off."""
        self._is_ready = False
        self._is_stopping = False
        self._discovery = DiscoveryDocuments(self.core.registry)
        self._openapi: OpenApiDocuments | None = None
        self._version = version.document(self.core.options.git_version)
        self._health = Health(
            {"ping": lambda: None, "storage": self._check_storage, "start": self._check_start},
            only_ready=frozenset({"start"}),
        )

    async def start(self) -> None:
        """Register what is served and make the objects every cluster has."""
        await bootstrap(self.core)
        if self.core.options.lifecycle:
            from quarterdeck.server.lifecycle import Lifecycle

            self.lifecycle = Lifecycle(self.core)
        self._is_ready = True

    async def run(self) -> None:
        """Keep deadlines, and do what a cluster does by itself, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.core.timers.run(), name="server-timers")
            if self.lifecycle is not None:
                group.create_task(self.lifecycle.run(), name="server-lifecycle")

    def stop(self) -> None:
        """End all watches cleanly and refuse new ones; requests that run are not touched."""
        self._is_stopping = True
        self._is_ready = False
        for stream in tuple(self.core.streams):
            stream.close()

    async def handle(self, request: http.Request) -> responses.Answer:
        """Answer one request; never raises what a client could cause."""
        started = self.core.clock.monotonic()
        verb, resource = request.method.lower(), _NO_RESOURCE
        try:
            path = paths.parse(request.path)
            if path is not None:
                resource = (path.group, path.version, path.resource, path.subresource, "")
            response, verb = await self._answer(request, path)
        except ApiError as error:
            response = responses.failure(error)
        except StorageError as error:
            response = responses.failure(_translated(error))
        except (http.HttpError, asyncio.CancelledError):
            raise
        except Exception as error:
            self._report(request, error)
            response = responses.failure(InternalError.of("the server failed; see its log"))
        duration = self.core.clock.monotonic() - started
        self.core.metrics.observe((verb, *resource), response.status, duration)
        return response

    async def _answer(
        self, request: http.Request, path: paths.ResourcePath | None
    ) -> tuple[responses.Answer, str]:
        core = self.core
        if not request.peer.secure:
            cross_origin.check(request)
        user = authentication.authenticate(request, core.authenticators)
        user = impersonate(request, user, core.authorizer)
        if path is not None:
            resource = router.find_resource(core, path)
            if resource is not None:
                return await router.answer(core, request, path, user=user, resource=resource)
        return self._other(request, user), request.method.lower()

    def _other(self, request: http.Request, user: User) -> http.Response:
        """Everything that is not a resource."""
        path = "/" + request.path.strip("/")
        verb = "get" if request.method in ("GET", "HEAD") else request.method.lower()
        authorization.check(
            self.core.authorizer, user, authorization.Attributes(verb=verb, path=path)
        )
        if verb != "get":
            return _not_found()
        first, *rest = path[1:].split("/")
        if first in ENDPOINTS:
            return self._health.answer(path, request.query) or _not_found()
        if first in ("api", "apis"):
            return self._discover(request, first, rest)
        if first == "openapi":
            return self._describe(request, path) or _not_found()
        match path:
            case "/version":
                return http.Response(200, responses.JSON_HEADERS, self._version)
            case "/.well-known/openid-configuration":
                return _json(request, self.core, kit_json.encode(_issuer_document(request)))
            case "/openid/v1/jwks":
                keys = kit_json.encode(self.core.accounts.key.public_set())
                return _json(request, self.core, keys, media="application/jwk-set+json")
            case "/metrics":
                return http.Response(200, responses.METRICS_HEADERS, self._metrics_text())
            case _:
                return _not_found()

    def _describe(self, request: http.Request, path: str) -> http.Response | None:
        """OpenAPI, loaded when first asked for."""
        from quarterdeck.server.openapi import documents, serve

        if self._openapi is None:
            self._openapi = documents.OpenApiDocuments(
                self.core.registry, self.core.options.git_version
            )
        return serve.answer(self._openapi, request, path, self.core.clock)

    def _discover(self, request: http.Request, root: str, rest: list[str]) -> http.Response:
        documents = self._discovery
        body: bytes | None
        if not rest:
            return self._discover_root(request, root)
        if root == "api":
            body = documents.resources("", rest[0]) if len(rest) == 1 else None
        elif len(rest) == 1:
            body = documents.group(rest[0])
        else:
            body = documents.resources(rest[0], rest[1]) if len(rest) == 2 else None
        return _not_found() if body is None else _json(request, self.core, body)

    def _discover_root(self, request: http.Request, root: str) -> http.Response:
        chosen = negotiation.choose_discovery(request.headers.get("accept"))
        if chosen is not negotiation.Discovery.LEGACY:
            body = self._discovery.aggregated(chosen, core=root == "api")
            media = (
                f"application/json;g=apidiscovery.k8s.io;v={chosen.value};as=APIGroupDiscoveryList"
            )
            return _json(request, self.core, body, media=media)
        if root == "apis":
            return _json(request, self.core, self._discovery.groups())
        address = self.core.options.advertise_address or request.headers.get("host") or ""
        return _json(request, self.core, self._discovery.core_versions(address))

    def _metrics_text(self) -> bytes:
        store = self.core.store.statistics()
        return self.core.metrics.text(
            {
                "apiserver_longrunning_requests": ("Open watches.", len(self.core.streams)),
                "apiserver_terminated_watchers_total": (
                    "Watches ended because the client was too slow.",
                    store.watchers_dropped,
                ),
                "apiserver_storage_watchers": ("Watchers of the store.", store.watchers),
                "apiserver_storage_revision": ("The newest revision.", store.revision),
                "apiserver_storage_writes_waiting": (
                    "Writes that wait for the disk.",
                    store.writes_waiting,
                ),
            }
        )

    def _check_storage(self) -> str | None:
        try:
            self.core.store.snapshot()
        except StorageError as error:
            return str(error)
        return None

    def _check_start(self) -> str | None:
        if self._is_stopping:
            return "the server is shutting down"
        return None if self._is_ready else "the server is starting"

    def _report(self, request: http.Request, error: Exception) -> None:
        """Tell the owner of the loop; the client gets no more than that it happened."""
        message = f"{request.method} {request.path} failed"
        context = {"message": message, "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


def _issuer_document(request: http.Request) -> dict[str, object]:
    """How others find the keys that verify tokens of service accounts."""
    scheme = "https" if request.peer.secure else "http"
    return {
        "issuer": ISSUER,
        "jwks_uri": f"{scheme}://{request.headers.get('host') or ''}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }


def _translated(error: StorageError) -> ApiError:
    match error:
        case DiskFull():
            return InsufficientStorage("the disk is full; nothing was written")
        case Overloaded():
            return TooManyRequests("too many writes wait for the disk", retry_after_s=1)
        case Closed():
            return ServiceUnavailable("the server is shutting down")
        case CommitFailed():
            return InternalError.of("the disk refused the write; nothing was written")
        case _:
            return InternalError.of(str(error))


def _not_found() -> http.Response:
    return http.Response(404, responses.TEXT_HEADERS, b"404 page not found\n")


def _json(
    request: http.Request, core: Core, body: bytes, *, media: str = "application/json"
) -> http.Response:
    headers = [responses.JSON_HEADERS[0], ("Content-Type", media), ("Vary", "Accept")]
    if len(body) > core.options.gzip_bytes and responses.accepts_gzip(request):
        body = responses.gzip(body)
        headers.append(("Content-Encoding", "gzip"))
    return http.Response(200, headers, body)
