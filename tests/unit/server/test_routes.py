"""Routes that are remembered lead where a fresh look would lead."""

from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit import http
from quarterdeck.meta.identity import GVR
from quarterdeck.server import router
from quarterdeck.server.api import ApiServer
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, MASTERS_GROUP, User
from quarterdeck.server.kinds import build_builtin_resources
from quarterdeck.server.routes import RouteCache
from quarterdeck.storage import open_memory
from quarterdeck.wire.status import ApiError, Forbidden

ADMIN = User(name="admin", groups=(MASTERS_GROUP, AUTHENTICATED_GROUP))
NOBODY = User(name="nobody", groups=(AUTHENTICATED_GROUP,))

segments = st.sampled_from(
    ["namespaces", "pods", "nodes", "deployments", "watch", "status", "finalize", "proxy", "x", ""]
)
prefixes = st.sampled_from(["/api/v1", "/apis/apps/v1", "/apis/nowhere.example/v1", "/healthz"])
methods = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
targets = st.builds(
    lambda prefix, rest: "/".join([prefix, *rest]), prefixes, st.lists(segments, max_size=5)
)


def build_server() -> ApiServer:
    server = ApiServer(open_memory())
    server.core.registry.put("builtins", tuple(build_builtin_resources()))
    return server


def resolve(server: ApiServer, routes: RouteCache, method: str, target: str) -> Any:
    request = http.Request.of(method, target)
    try:
        route = router.resolve(server.core, request, ADMIN, routes=routes)
    except ApiError as error:
        return type(error), error.message
    if route is None:
        return None
    return route.resource.gvr, route.path, route.verb, route.labels, route.handler


SERVER = build_server()


@settings(max_examples=count_examples(200), deadline=None)
@given(st.lists(st.tuples(methods, targets), min_size=1, max_size=12))
def test_a_known_route_is_the_one_a_fresh_look_finds(requests: list[tuple[str, str]]) -> None:
    routes = RouteCache(SERVER.core.registry)
    for method, target in requests:
        fresh = resolve(SERVER, RouteCache(SERVER.core.registry), method, target)
        assert resolve(SERVER, routes, method, target) == fresh
        assert resolve(SERVER, routes, method, target) == fresh


def test_objects_of_one_collection_share_a_route() -> None:
    routes = RouteCache(SERVER.core.registry)
    collection = "/api/v1/namespaces/default/pods"
    assert routes.find("GET", f"{collection}/a") is None
    resolve(SERVER, routes, "GET", f"{collection}/a")
    found = routes.find("GET", f"{collection}/b")
    assert found is not None
    assert (found.path.name, found.verb) == ("b", "get")
    assert routes.find("GET", f"{collection}/") is None
    assert routes.find("PUT", f"{collection}/b") is None
    assert routes.find("GET", "/api/v1/namespaces/other/pods/b") is None


def test_the_status_of_objects_has_a_route_of_its_own() -> None:
    routes = RouteCache(SERVER.core.registry)
    collection = "/api/v1/namespaces/default/pods"
    resolve(SERVER, routes, "PATCH", f"{collection}/a/status")
    found = routes.find("PATCH", f"{collection}/b/status")
    assert found is not None and found.handler is not None
    assert (found.path.name, found.path.subresource, found.verb) == ("b", "status", "patch")
    assert routes.find("PATCH", f"{collection}/status") is None
    assert routes.find("PATCH", f"{collection}//status") is None
    assert routes.find("PUT", f"{collection}/b/status") is None
    resolve(SERVER, routes, "PATCH", f"{collection}/a")
    found = routes.find("PATCH", f"{collection}/status")
    assert found is not None and (found.path.name, found.path.subresource) == ("status", "")


def test_a_known_route_allows_nobody_more() -> None:
    routes = RouteCache(SERVER.core.registry)
    target = "/api/v1/namespaces/default/pods/a"
    resolve(SERVER, routes, "GET", target)
    with pytest.raises(Forbidden, match='"nobody" cannot get resource "pods"'):
        router.resolve(SERVER.core, http.Request.of("GET", target), NOBODY, routes=routes)


def test_routes_are_forgotten_when_resources_change() -> None:
    server = build_server()
    routes = RouteCache(server.core.registry)
    target = "/api/v1/namespaces/default/pods/a"
    resolve(server, routes, "GET", target)
    assert routes.find("GET", target) is not None
    others = [each for each in build_builtin_resources() if each.gvr != GVR("", "v1", "pods")]
    server.core.registry.put("builtins", tuple(others))
    assert routes.find("GET", target) is None
    error, _ = resolve(server, routes, "GET", target)
    assert issubclass(error, ApiError)
