"""Routes requests of the applications API; other paths are forwarded to the Kubernetes API."""

from collections.abc import Awaitable, Callable

import msgspec

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Api
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import Request, Response, StreamResponse
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.event import Event
from quarterdeck.server.filters import cross_origin
from quarterdeck.services.applications import credentials, errors
from quarterdeck.services.applications.history import History, Query
from quarterdeck.services.applications.resources import Resources
from quarterdeck.services.applications.ring import Ring
from quarterdeck.services.applications.stream import HEARTBEAT_S, Streams, WatchOptions
from quarterdeck.wire import path as paths
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import GetOptions
from quarterdeck.wire.status import ApiError, NotFound, ServiceUnavailable, from_response

Answer = Response | StreamResponse
Handler = Callable[[Request], Awaitable[Answer]]

_KIND = Application.KIND
_COLLECTION = f"/apis/{_KIND.api_version}/namespaces/{{namespace}}/{_KIND.plural}"
_DEFINITION = ResourcePath(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "", _KIND.gvr.group_resource
)
_OWN = ("/", "/healthz", "/crd", "/watch", "/events")
_PUBLIC = ("/", "/healthz")


class Facade:
    """The handler of the plain port."""

    def __init__(
        self,
        *,
        api: Api,
        cache: Cache[Application],
        others: Handler,
        clock: Clock,
        history: int = 1000,
        heartbeat_s: float = HEARTBEAT_S,
        is_leader: Callable[[], bool] = lambda: True,
    ) -> None:
        """`others` handles other paths; `history` limits stored events and the watch buffer."""
        self._api = api
        self._cache = cache
        self._others = others
        self._clock = clock
        self._is_leader = is_leader
        self._ring = Ring(history)
        self._history = History(history)
        self._streams = Streams(self._ring, cache, clock, heartbeat_s=heartbeat_s)
        self._resources = Resources(api, clock)
        cache.add_handler(self._on_event)

    @property
    def listeners(self) -> int:
        """How many watches are open."""
        return self._ring.subscribers

    def _on_event(self, event: Event) -> None:
        self._ring.record(event, synced=self._cache.version(event.key.namespace))
        self._history.record(event, self._clock.now())

    async def handle(self, request: Request) -> Answer:
        """Answer one request; failures carry an `error` member beside the Status."""
        try:
            cross_origin.check_same_origin(request)
            path = request.path.rstrip("/") or "/"
            if credentials.has_credentials(request):
                return await self._handle_as_caller(path, request)
            if path in _OWN:
                return await self._serve_own(path, request)
            resource = paths.parse(path)
            if resource is not None and _is_ours(resource):
                return await self._route_resource(resource, request)
        except ApiError as error:
            return errors.build_failure(error)
        except ClientError as error:
            return errors.build_failure(ServiceUnavailable(str(error)))
        return await self._others(request)

    async def _handle_as_caller(self, path: str, request: Request) -> Answer:
        """Answer a request with credentials: with the caller's rights, not those of this process.

        Raises:
            Forbidden: on paths that only this process answers, with its own rights.
        """
        if path in _OWN and path not in _PUBLIC:
            raise credentials.build_forbidden(request)
        if path in _PUBLIC:
            return await self._serve_own(path, request)
        return _with_error(await self._others(request))

    async def _serve_own(self, path: str, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD"):
            return errors.build_not_allowed("GET", "HEAD")
        match path:
            case "/healthz":
                return errors.answer({"status": "healthy"})
            case "/crd":
                return await self._read_definition()
            case "/watch":
                options = WatchOptions.parse(request.query, request.headers.get("last-event-id"))
                return self._streams.open(request, options)
            case "/events":
                found = self._history.find(Query.parse(request.query))
                return errors.answer({"events": [msgspec.to_builtins(each) for each in found]})
            case _:
                return self._index()

    def _index(self) -> Response:
        return errors.answer(
            {
                "name": "quarterdeck applications",
                "version": _KIND.version,
                "resources": len(self._cache),
                "isLeader": self._is_leader(),
                "features": ["validation", "finalizers", "server-sent-events", "event-history"],
                "endpoints": {
                    "health": "/healthz",
                    "crd": "/crd",
                    "resources": _COLLECTION,
                    "allResources": f"/apis/{_KIND.api_version}/{_KIND.plural}",
                    "watch": "/watch",
                    "events": "/events",
                },
            }
        )

    async def _read_definition(self) -> Response:
        try:
            return Response(200, errors.JSON, await self._api.get(_DEFINITION, GetOptions()))
        except NotFound as error:
            return errors.build_failure(error, text="CRD not found")

    async def _route_resource(self, path: ResourcePath, request: Request) -> Answer:
        """Route creates, updates and deletions to our handlers; forward all other requests."""
        if path.namespace and not path.subresource and _is_json(request):
            match (request.method, bool(path.name)):
                case ("POST", False):
                    return await self._resources.create(request, path)
                case ("PUT", True):
                    return await self._resources.replace(request, path)
                case ("DELETE", True):
                    return await self._resources.delete(request, path)
        return _with_error(await self._others(request))


def _is_ours(path: ResourcePath) -> bool:
    return (path.group, path.resource) == (_KIND.group, _KIND.plural)


def _is_json(request: Request) -> bool:
    media = (request.headers.get("content-type") or "application/json").partition(";")[0]
    return request.method == "DELETE" or media.strip().lower() == "application/json"


def _with_error(response: Answer) -> Answer:
    """Add an `error` member to a response that is a failure."""
    if response.status < 400 or not isinstance(response, Response):
        return response
    failed = errors.build_failure(from_response(response.status, response.body))
    kept = [each for each in response.headers if each[0].lower() not in _REPLACED]
    return Response(failed.status, [*kept, *failed.headers], failed.body)


_REPLACED = ("content-type", "content-encoding", "content-length", "retry-after")
