"""Routes of requests to resources, and a cache of them.

Most requests are for an object, or create one. The route of the first request to a collection is
cached by method and path up to the name of the object, until resources change.
"""

from collections.abc import Awaitable, Callable

import msgspec

from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.server.core import Core
from quarterdeck.server.core.metrics import RequestLabels
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import STATUS, Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions

Handler = Callable[[Core, Call], Awaitable[responses.Response]]

_STATUS_PATH = f"/{STATUS}"
_MOST_ROUTES = 2048
_LONGEST_PATH = 512
"""Longer paths are not cached; the cache is bounded, because clients choose namespaces."""


class Route(msgspec.Struct, frozen=True, eq=False):
    """The resource, path and verb of a request, with its handler and attributes if known."""

    resource: Resource
    path: ResourcePath
    verb: str
    options: ListOptions | None
    """The query of a list or watch."""
    labels: RequestLabels
    """The labels of the request in metrics."""
    handler: Handler | None = None
    """The handler; None if it must be looked up, with a check that the verb is served."""
    attributes: Attributes | None = None
    """The attributes to authorize; None if they must be built from the path."""


def build_labels(resource: Resource, path: ResourcePath, verb: str) -> RequestLabels:
    """Build the labels of a request in metrics."""
    gvr = resource.gvr
    if path.name or verb == "create":
        scope = "resource"
    else:
        scope = "namespace" if path.namespace else "cluster"
    known = path.subresource if path.subresource in resource.subresources else ""
    return RequestLabels(verb, gvr.group, gvr.version, gvr.resource, known, scope)


class RouteCache:
    """A cache of routes to objects, to their status, and of creations."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._generation = registry.generation
        self._routes: dict[tuple[str, str, str], Route] = {}
        """Routes by method, path of the collection, and subresource."""

    def find(self, method: str, path: str) -> Route | None:
        """Return the cached route for a request, with the name in its path; None if unknown."""
        if self._generation != self._registry.generation:
            self._routes.clear()
            self._generation = self._registry.generation
            return None
        if method == "POST":
            return self._routes.get((method, path, ""))
        at, end = path.rfind("/") + 1, len(path)
        known = self._routes.get((method, path[:at], ""))
        if known is None and path.endswith(_STATUS_PATH):
            end -= len(_STATUS_PATH)
            at = path.rfind("/", 0, end) + 1
            known = self._routes.get((method, path[:at], STATUS))
        if known is None or at == end:
            return None
        group, version, resource, namespace, _, subresource, *_ = known.path
        return Route(
            known.resource,
            ResourcePath(group, version, resource, namespace, path[at:end], subresource),
            known.verb,
            None,
            known.labels,
            known.handler,
        )

    def add(self, method: str, path: str, route: Route) -> None:
        """Cache the route of a request to an object or its status, or of a creation."""
        named = route.path
        if route.options is not None or named.legacy_watch or not route.handler:
            return
        if method == "POST":
            collection, expected = path, path
        else:
            end = f"{named.name}/{named.subresource}" if named.subresource else named.name
            collection = path[: len(path) - len(end)]
            expected = collection + end if named.name and collection.endswith("/") else ""
        if path != expected or len(collection) > _LONGEST_PATH:
            return
        if len(self._routes) >= _MOST_ROUTES:
            self._routes.clear()
        self._routes[method, collection, named.subresource] = route
