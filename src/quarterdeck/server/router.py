"""Routes requests to resources: finds resource and verb, and authorizes."""

from quarterdeck.kit import http
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import check_authorized
from quarterdeck.server.authorization.request_attributes import (
    build_attributes,
    get_refused_verb,
    get_verb,
    parse_list_options,
)
from quarterdeck.server.core import Core
from quarterdeck.server.dispatch import build_unsupported_verb, find_handler, is_known_to_be_served
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request import negotiation
from quarterdeck.server.routes import Route, RouteCache, build_labels
from quarterdeck.wire import path as paths
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import BadRequest, MethodNotAllowed, NotFound


def find_resource(core: Core, path: paths.ResourcePath, verb: str) -> Resource | None:
    """Find the resource a path names; None if nothing is served under the path.

    This is the case if the group version is not served or has custom resources only, and, as in
    Kubernetes, if the path of a custom resource has a namespace that its scope does not allow, or
    lacks one that it requires.

    Raises:
        NotFound: if the group version has built-in kinds, but not this resource or scope.
    """
    resource = core.registry.get(path.gvr)
    if resource is None:
        if _serves_builtin_kinds(core, path):
            raise NotFound.resource()
        return None
    misplaced = resource.namespaced != bool(path.namespace)
    if misplaced and (path.namespace or path.name or resource.is_custom):
        if not resource.is_custom:
            raise NotFound.resource()
        if path.namespace or verb not in ("list", "watch"):
            return None
    return resource


def _serves_builtin_kinds(core: Core, path: paths.ResourcePath) -> bool:
    return any(
        not each.is_custom
        for each in core.registry
        if (each.gvr.group, each.gvr.version) == (path.group, path.version)
    )


def resolve(core: Core, request: http.Request, user: User, *, routes: RouteCache) -> Route | None:
    """Find the resource and the verb of a request; None if its path names no served resource.

    Authorization comes first, so that a user without permission does not learn what is served.

    Raises:
        Forbidden: if the user is not permitted.
        NotFound: if the group version is served and has no such resource.
        MethodNotAllowed: if the method is not allowed on the path.
    """
    if (known := routes.find(request.method, request.path)) is not None:
        attributes = known.attributes or build_attributes(known.verb, known.path, None)
        check_authorized(core.authorizer, user, attributes)
        return known
    path = paths.parse(request.path)
    if path is None:
        return None
    options = _read_list_options(core, request, path)
    verb = get_verb(request.method, path, options)
    if not verb:
        wanted = get_refused_verb(request.method, path)
        check_authorized(core.authorizer, user, build_attributes(wanted, path, options))
        _check_creation(core, request.method, path)
        verb, path = wanted, path._replace(name="")  # Kubernetes does not read the name
    attributes = build_attributes(verb, path, options)
    check_authorized(core.authorizer, user, attributes)
    resource = find_resource(core, path, verb)
    if resource is None:
        return None
    labels = build_labels(resource, path, verb)
    if options is not None or not is_known_to_be_served(resource, path, verb):
        return Route(resource, path, verb, options, labels)
    handler = find_handler(resource, path, verb)
    route = Route(resource, path, verb, None, labels, handler, attributes)
    routes.add(request.method, request.path, route)
    return route


def _check_creation(core: Core, method: str, path: paths.ResourcePath) -> None:
    """Refuse a method that is not allowed on a path, with the text of Kubernetes.

    A POST to the path of an object is accepted for custom resources only.
    """
    resource = core.registry.get(path.gvr)
    if resource is None or not resource.is_custom or path.legacy_watch:
        raise MethodNotAllowed
    if method in ("PUT", "PATCH") and not path.name:
        raise BadRequest("name must be provided")
    if method != "POST":
        raise build_unsupported_verb(resource, "")


def _read_list_options(
    core: Core, request: http.Request, path: paths.ResourcePath
) -> ListOptions | None:
    """Parse the query of a list or watch; an unsupported Accept header is refused first."""
    try:
        return parse_list_options(request.method, path, request.query)
    except BadRequest:
        resource = core.registry.get(path.gvr)
        if resource is not None and not resource.is_custom:
            negotiation.check_produced(request.headers.get("accept"), is_list=True)
        raise
