"""Routes requests to resources: finds resource and verb, authorizes, calls the handler."""

from collections.abc import Awaitable

from quarterdeck.kit import http
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.release import is_since
from quarterdeck.server.authentication.user import User
from quarterdeck.server.authorization.authorizer import Attributes, check_authorized
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import (
    binding,
    component_status,
    create,
    delete,
    delete_collection,
    eviction,
    get,
    patch,
    pod_connection,
    pod_log,
    review,
    scale,
    token,
    update,
    watch,
)
from quarterdeck.server.handlers import list as list_handler
from quarterdeck.server.handlers.component_status import COMPONENT_STATUSES
from quarterdeck.server.kinds.reviews import BINDINGS, REVIEW_KINDS
from quarterdeck.server.read.selection import check_list_request
from quarterdeck.server.registry.conversion import ConversionNeeded
from quarterdeck.server.registry.resource import SCALE, STATUS, Resource
from quarterdeck.server.request import negotiation
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.server.routes import Handler, KnownRoutes, Route, build_labels
from quarterdeck.wire import path as paths
from quarterdeck.wire.field_selector import FieldSelector
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import (
    ApiError,
    BadRequest,
    Details,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
)

OBJECT_SUBRESOURCES = frozenset({STATUS, "approval", "ephemeralcontainers", "finalize", "resize"})
"""Subresources that are the object itself with rules of their own about what may change."""

_VERBS: dict[str, Handler] = {
    "create": create.handle,
    "delete": delete.handle,
    "deletecollection": delete_collection.handle,
    "get": get.handle,
    "patch": patch.handle,
    "update": update.handle,
}
_SCALE_VERBS: dict[str, Handler] = {
    "get": scale.get,
    "patch": scale.patch,
    "update": scale.update,
}
_CREATED_SUBRESOURCES: dict[str, Handler] = {
    binding.BINDING: binding.handle,
    "eviction": eviction.handle,
    token.TOKEN: token.handle,
}
"""Subresources that are only ever created."""
_OBJECT_METHODS = {
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_METHODS = {
    "GET": "list",
    "HEAD": "list",
    "POST": "create",
    "DELETE": "deletecollection",
}


def find_resource(core: Core, path: paths.ResourcePath, verb: str) -> Resource | None:
    """Find the resource a path names; None if nothing is served under the path.

    That is so if the group version is not served or has custom resources only, and, as in
    Kubernetes, if a custom resource is asked for with a namespace that its scope does not have, or
    without the one it needs.

    Raises:
        NotFound: if the group version is served and has no such resource there.
    """
    resource = core.registry.get(GVR(path.group, path.version, path.resource))
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


_METHOD_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
"""What methods ask for where they have no meaning."""


def _serves_builtin_kinds(core: Core, path: paths.ResourcePath) -> bool:
    return any(
        not each.is_custom
        for each in core.registry
        if (each.gvr.group, each.gvr.version) == (path.group, path.version)
    )


def get_verb(method: str, path: paths.ResourcePath, options: ListOptions | None) -> str:
    """Return what a request wants; empty if the method makes no sense there."""
    if path.subresource and method == "POST":
        return "create"
    if path.name and not path.legacy_watch:
        return _OBJECT_METHODS.get(method, "")
    verb = _COLLECTION_METHODS.get(method, "")
    if verb == "list" and (path.legacy_watch or (options is not None and options.watch)):
        return "watch"
    return verb


def resolve(core: Core, request: http.Request, user: User, *, routes: KnownRoutes) -> Route | None:
    """Find the resource and the verb of a request; None if its path names no served resource.

    Who may not do it learns nothing about what is served: authorization comes first.

    Raises:
        Forbidden: if the user may not do it.
        NotFound: if the group version is served and has no such resource.
        MethodNotAllowed: if the method has no meaning there.
    """
    if (known := routes.find(request.method, request.path)) is not None:
        attributes = known.attributes or _build_attributes(known.verb, known.path, None)
        check_authorized(core.authorizer, user, attributes)
        return known
    path = paths.parse(request.path)
    if path is None:
        return None
    try:
        options = _parse_list_options(request, path)
    except BadRequest:
        resource = core.registry.get(GVR(path.group, path.version, path.resource))
        if resource is not None and not resource.is_custom:
            negotiation.check_produced(request.headers.get("accept"), is_list=True)
        raise
    verb = get_verb(request.method, path, options)
    if not verb:
        wanted = _METHOD_VERBS.get(request.method, request.method.lower())
        check_authorized(core.authorizer, user, _build_attributes(wanted, path, options))
        custom = core.registry.get(path.gvr)
        if custom is None or not custom.is_custom:
            raise MethodNotAllowed
        if wanted != "create":
            raise _build_custom_refusal(custom, request.method, path)
        verb, path = wanted, path._replace(name="")  # Kubernetes does not read the name
    attributes = _build_attributes(verb, path, options)
    check_authorized(core.authorizer, user, attributes)
    resource = find_resource(core, path, verb)
    if resource is None:
        return None
    labels = build_labels(resource, path, verb)
    if options is not None or not _is_known_to_be_served(resource, path, verb):
        return Route(resource, path, verb, options, labels)
    handler = _find_handler(resource, path, verb)
    route = Route(resource, path, verb, None, labels, handler, attributes)
    routes.keep(request.method, request.path, route)
    return route


def _build_custom_refusal(resource: Resource, method: str, path: paths.ResourcePath) -> ApiError:
    """Build what Kubernetes says of a method that has no meaning for a custom resource there."""
    if method in ("PUT", "PATCH") and not path.name:
        return BadRequest("name must be provided")
    return _build_unsupported_verb(resource, "")


def _build_unsupported_verb(resource: Resource, verb: str) -> MethodNotAllowed:
    gvr = resource.gvr
    return MethodNotAllowed(
        f'{verb} is not supported on resources of kind "{gvr.group_resource}"',
        details=Details(group=gvr.group, kind=gvr.resource),
    )


def _parse_list_options(request: http.Request, path: paths.ResourcePath) -> ListOptions | None:
    """Parse the query of a list or watch; none for other requests."""
    if request.method not in ("GET", "HEAD") or (path.name and not path.legacy_watch):
        return None
    options = ListOptions.parse(request.query)
    if path.legacy_watch and not options.watch:
        return ListOptions.parse(f"{request.query}&watch=true")
    return options


async def handle(
    core: Core,
    request: http.Request,
    route: Route,
    *,
    user: User,
    audit_annotations: dict[str, str] | None = None,
) -> responses.Response:
    """Run the verb of a request to a resource.

    Raises:
        ApiError: for everything that is refused.
    """
    if route.handler is None:
        _check_served(route.resource, route.path, route.verb)
    call = Call(
        request=request,
        verb=route.verb,
        path=route.path,
        resource=route.resource,
        user=user,
        choice=_negotiate(request, route),
        warnings=[],
        audit_annotations={} if audit_annotations is None else audit_annotations,
    )
    try:
        try:
            return await _run(core, call, route)
        except ConversionNeeded as needed:
            return await core.conversions.run_again(lambda: _run(core, call, route), needed)
    except ApiError as error:
        warnings = responses.list_warnings(call)
        if not warnings:
            raise
        return responses.build_error(error, warnings, accept=request.headers.get("accept"))


def _negotiate(request: http.Request, route: Route) -> negotiation.Choice:
    """Choose the form of the answer; until 1.32 errors in the options of a list come first.

    A log is text, whatever the client accepts.
    """
    if route.path.subresource == pod_log.LOG:
        return negotiation.DEFAULT_CHOICE
    accept = request.headers.get("accept")
    resource, options = route.resource, route.options
    if not resource.is_custom:
        if request.method == "HEAD":
            raise MethodNotAllowed
        negotiation.check_produced(accept, is_list=options is not None)
    try:
        return negotiation.choose(
            accept, is_custom=resource.is_custom and route.path.subresource != SCALE
        )
    except NotAcceptable:
        if options is not None and not is_since(1, 33):
            check_list_request(options)
        raise


def _run(core: Core, call: Call, route: Route) -> Awaitable[responses.Response]:
    if route.handler is not None:
        return route.handler(core, call)
    return _find_and_run(core, call, route.options)


async def _find_and_run(core: Core, call: Call, options: ListOptions | None) -> responses.Response:
    if options is not None and call.verb == "watch":
        return await watch.handle(core, call, options)
    if options is not None and call.verb == "list":
        if call.resource.gvr.group_resource == COMPONENT_STATUSES:
            return await component_status.handle_list(core, call, options)
        return await list_handler.handle(core, call, options)
    return await _find_handler(call.resource, call.path, call.verb)(core, call)


def _find_handler(resource: Resource, path: paths.ResourcePath, verb: str) -> Handler:
    if path.subresource == SCALE:
        return _SCALE_VERBS[verb]
    if path.subresource == pod_log.LOG:
        return pod_log.handle
    if (
        path.subresource
        and path.subresource not in OBJECT_SUBRESOURCES
        and path.subresource not in _CREATED_SUBRESOURCES
    ):
        if path.subresource in pod_connection.CONNECTIONS:
            return pod_connection.handle
        raise pod_connection.build_not_served(path)
    if resource.gvr.group_resource == COMPONENT_STATUSES:
        return component_status.get
    if verb != "create":
        return _VERBS[verb]
    if not path.subresource:
        return _find_create_handler(resource)
    if path.subresource in _CREATED_SUBRESOURCES:
        return _CREATED_SUBRESOURCES[path.subresource]
    raise NotFound.resource()


def _find_create_handler(resource: Resource) -> Handler:
    if resource.is_custom:
        return create.handle
    if resource.gvr.group_resource == BINDINGS:
        return binding.handle
    return review.handle if resource.kind in REVIEW_KINDS else create.handle


def _build_attributes(
    verb: str, path: paths.ResourcePath, options: ListOptions | None
) -> Attributes:
    """Build what is asked for; a request about one namespace is one inside of it."""
    name, namespace = path.name, path.namespace
    if not path.group and path.resource == "namespaces":
        namespace = name
    if not name and options is not None and options.field_selector:
        name = _exact_name(options.field_selector)
    return Attributes(
        verb=verb,
        group=path.group,
        version=path.version,
        resource=path.resource,
        subresource=path.subresource,
        namespace=namespace,
        name=name,
    )


def _exact_name(field_selector: str) -> str:
    """The one name a list is about; a selector that cannot be read is refused later."""
    try:
        return FieldSelector.parse(field_selector).exact("metadata.name") or ""
    except ValueError:
        return ""


def _check_served(resource: Resource, path: paths.ResourcePath, verb: str) -> None:
    if not path.subresource:
        if not _is_served(resource, path, verb):
            raise MethodNotAllowed
        return
    sub = resource.subresources.get(path.subresource)
    if sub is None:
        if resource.is_custom:
            gvr = resource.gvr
            raise NotFound.of(gvr.resource, path.name, group=gvr.group)
        raise NotFound.resource()
    if verb not in sub.verbs and resource.is_custom:
        raise _build_unsupported_verb(resource, verb)
    if verb not in sub.verbs:
        raise MethodNotAllowed


def _is_known_to_be_served(resource: Resource, path: paths.ResourcePath, verb: str) -> bool:
    """Whether a verb is served for objects, the collection, or the status of objects."""
    if path.subresource != STATUS:
        return not path.subresource and _is_served(resource, path, verb)
    status = resource.subresources.get(STATUS)
    return status is not None and verb in status.verbs and verb != "create"


def _is_served(resource: Resource, path: paths.ResourcePath, verb: str) -> bool:
    """Whether objects or the collection have a verb; only lists and watches need no namespace."""
    needs_namespace = resource.namespaced and verb not in ("list", "watch")
    return verb in resource.verbs and bool(path.namespace or not needs_namespace)
