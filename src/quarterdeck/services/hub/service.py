"""The handler of the hub API: authenticates, routes, and answers with JSON and an ETag."""

from collections.abc import Callable, Sequence
from typing import Any

from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import History, StateStore
from quarterdeck.inventory.access.viewer import Viewer
from quarterdeck.kit import rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.kit.http import Request, Response, StreamResponse
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.hub import routes
from quarterdeck.services.hub.alert_rules import AlertRules
from quarterdeck.services.hub.audit import AuditLog, Record
from quarterdeck.services.hub.call import Call
from quarterdeck.services.hub.catalog import Catalog
from quarterdeck.services.hub.endpoints.alerts import AlertEndpoints
from quarterdeck.services.hub.endpoints.auth import AuthEndpoints
from quarterdeck.services.hub.endpoints.clusters import ClusterEndpoints
from quarterdeck.services.hub.endpoints.contents import ContentEndpoints
from quarterdeck.services.hub.endpoints.custom import CustomEndpoints
from quarterdeck.services.hub.endpoints.history import HistoryEndpoints
from quarterdeck.services.hub.endpoints.registries import (
    HealthEndpoints,
    NotReady,
    RegistryEndpoints,
)
from quarterdeck.services.hub.errors import HubApiError, Unauthenticated, Unavailable
from quarterdeck.services.hub.identity import REQUIRED, Authenticator
from quarterdeck.services.hub.metrics import OTHER, ApiMetrics
from quarterdeck.services.hub.openapi import build_document
from quarterdeck.services.hub.policies import Policies, PolicyLimits
from quarterdeck.services.hub.reading import HubReader
from quarterdeck.services.hub.reference_page import HEADERS, build_page
from quarterdeck.services.hub.responses import (
    SECURITY,
    build_challenge,
    build_cors,
    build_failure,
    build_json,
    build_result,
)
from quarterdeck.services.hub.router import (
    Login,
    Match,
    Route,
    Router,
    WrongMethod,
    read_parameters,
)
from quarterdeck.services.hub.stream import HEARTBEAT_S, Streams

Answer = Response | StreamResponse
MAX_BODY = 64 * 1024
LIMIT_S = 30.0
"""Time limit of an answer, except streams, so that a store that hangs does not block viewers."""


class HubServer:
    """Answers requests to the hub."""

    def __init__(
        self,
        state: StateStore,
        history: History,
        authenticator: Authenticator,
        *,
        clock: Clock,
        forget: Sequence[Callable[[], None]] = (),
        metrics: ApiMetrics | None = None,
        limits: PolicyLimits | None = None,
        origins: Sequence[str] = (),
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        """`origins` are the origins of other sites whose pages may call the API (CORS_ORIGINS).

        `forget` is called when a user requests that the caches be cleared.
        """
        self._authenticator = authenticator
        self._clock = clock
        self._origins = frozenset(origins)
        self._reader = HubReader(state)
        self._metrics = metrics or ApiMetrics()
        self.policies = Policies(state, clock=clock, limits=limits)
        self.audit = AuditLog(state, clock=clock)
        catalog = Catalog(state)
        self._streams = Streams(state, self._reader, catalog, clock=clock, heartbeat_s=heartbeat_s)

        endpoints = self._list_routes(state, history, catalog, forget)
        self.router = Router([*endpoints, *self._list_own_routes()])
        self._document: dict[str, object] | None = None
        self.has_reference_page = False
        """Whether `/api/v1/swagger` shows the endpoints (SWAGGER_ENABLED)."""

    def _list_routes(
        self,
        state: StateStore,
        history: History,
        catalog: Catalog,
        forget: Sequence[Callable[[], None]],
    ) -> list[Route]:
        """The routes of all endpoints that answer with JSON."""
        reader = self._reader

        def forget_all() -> None:
            for each in forget:
                each()

        auth = AuthEndpoints(reader, self.policies, audit=self.audit, forget=forget_all)
        custom = CustomEndpoints(reader, catalog, clock=self._clock)
        rules = AlertRules(reader, catalog, restrict=custom.restrict, clock=self._clock)
        return [
            *routes.list_other_routes(HealthEndpoints(state), RegistryEndpoints(reader)),
            *routes.list_auth_routes(auth),
            *routes.list_cluster_routes(ClusterEndpoints(reader), ContentEndpoints(reader)),
            *routes.list_alert_routes(AlertEndpoints(reader, rules.find)),
            *routes.list_custom_routes(custom),
            *routes.list_history_routes(HistoryEndpoints(reader, history, catalog)),
        ]

    def _list_own_routes(self) -> list[Route]:
        """The routes that this class answers itself."""
        return [
            Route(
                "GET",
                routes.STREAM,
                _refuse_call,
                "Changes, as server-sent events",
                str,
                is_stream=True,
            ),
            Route(
                "GET",
                routes.OPENAPI,
                self._serve_openapi,
                "This API as OpenAPI 3.1",
                dict[str, Any],
                login=Login.NONE,
            ),
        ]

    async def run(self) -> None:
        """Keep policies up to date and write the audit log; cancel it to stop."""
        try:
            async with Supervisor("hub-api") as tasks:
                tasks.spawn(self.policies.run(), name="hub-policies")
                tasks.spawn(self.audit.run(), name="hub-audit")
                await tasks.wait_failed()
        finally:
            await self.audit.flush()

    async def handle(self, request: Request) -> Answer:
        """Answer one request."""
        began, path = self._clock.monotonic(), self.router.find_pattern(request.path)
        answer = await self._answer(request)
        took_s = self._clock.monotonic() - began
        self._metrics.observe(_name_method(request.method), path, answer.status, took_s)
        own = {name for name, _ in answer.headers}
        security = [each for each in SECURITY if each[0] not in own]
        cors = build_cors(request.headers.get("origin"), self._origins)
        answer.headers = [*answer.headers, *security, *cors]
        return answer

    async def _answer(self, request: Request) -> Answer:
        viewer: Viewer | None = None
        try:
            await request.read(MAX_BODY)
            if request.method == "OPTIONS":
                allowed = self.router.list_methods(request.path)
                return Response(204, [("Allow", ", ".join(allowed))])
            if self.has_reference_page and _is_reference(request):
                return self._show_reference()
            match = self.router.find(request.method, request.path)

            async def work() -> Answer:
                nonlocal viewer
                viewer = await self._authenticate(request, match.route)
                if match.route.is_stream:
                    return self._open_stream(request, viewer)
                return await self._call(request, match, viewer)

            return await run_within(self._clock, LIMIT_S, work())
        except WrongMethod as error:
            message = f"{request.method} is not allowed; use {error}"
            return build_failure(405, message, [("Allow", ", ".join(error.allowed))])
        except HubApiError as error:
            if error.status in (401, 403):
                self._record(request, viewer, error.status, error.message)
            return build_failure(error.status, error.message, build_challenge(error.status))
        except HubStateError:
            return build_failure(503, "the store does not answer")
        except TimeoutError:
            return build_failure(
                503, f"no answer within {LIMIT_S:g} s; the store is slow, ask again"
            )
        except NotReady:
            return build_json(503, {"status": "not ready", "error": "redis unavailable"})

    async def _authenticate(self, request: Request, route: Route) -> Viewer | None:
        if route.login is Login.NONE:
            return None
        principal = await self._authenticator.authenticate(request)
        if principal is None:
            return None
        return await self.policies.build_viewer(principal, self._clock.now())

    async def _call(self, request: Request, match: Match, viewer: Viewer | None) -> Response:
        if match.route.login is Login.REQUIRED and viewer is None:
            raise Unauthenticated(REQUIRED)
        parameters = read_parameters(match.route.parameters, request.query)
        call = Call(request, match.values, parameters, viewer=viewer, now=self._clock.now())
        result = await match.route.endpoint(call)
        if call.audit_note:
            self._record(request, viewer, 200, call.audit_note)
        return build_result(request, result, has_tag=match.route.method == "GET")

    def _open_stream(self, request: Request, viewer: Viewer | None) -> Answer:
        if viewer is None:
            raise Unauthenticated(REQUIRED)
        principal = viewer.principal

        async def look() -> Viewer:
            return await self.policies.build_viewer(principal, self._clock.now())

        async def is_valid() -> bool:
            nonlocal principal
            try:
                found = await self._authenticator.authenticate(request)
            except Unauthenticated:
                return False
            except Unavailable:
                return True  # authentication is unavailable; the next heartbeat checks again
            if found is None or found.username != principal.username:
                return False
            principal = found  # in the groups of this moment
            return True

        return self._streams.open(
            request, look, is_valid=is_valid, count=self._metrics.count_stream
        )

    async def _serve_openapi(self, _: Call) -> dict[str, object]:
        return self._describe()

    def _describe(self) -> dict[str, object]:
        if self._document is None:
            self._document = build_document(self.router.routes)
        return self._document

    def _show_reference(self) -> Response:
        page = build_page(self._describe(), document_url=routes.OPENAPI)
        return Response(200, list(HEADERS), page)

    def _record(self, request: Request, viewer: Viewer | None, status: int, reason: str) -> None:
        self.audit.add(
            Record(
                timestamp=rfc3339.format_time(self._clock.now()),
                user=viewer.principal.username if viewer is not None else "",
                groups=viewer.principal.groups if viewer is not None else (),
                method=request.method,
                path=request.path[:_SHOWN],
                status=status,
                reason=reason[:_SHOWN],
                peer=request.peer.host,
            )
        )


def _is_reference(request: Request) -> bool:
    at = request.path.rstrip("/").removesuffix("/index.html")
    return request.method == "GET" and at == routes.SWAGGER


_SHOWN = 500
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})


def _name_method(method: str) -> str:
    return method if method in _METHODS else OTHER


async def _refuse_call(_: Call) -> str:
    raise Unavailable("this endpoint is a stream")
