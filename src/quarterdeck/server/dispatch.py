"""Runs the verb of a request: checks that it is served, chooses the handler, calls it."""

from collections.abc import Awaitable

from quarterdeck.kit import http
from quarterdeck.meta.release import has_feature
from quarterdeck.server.authentication.user import User
from quarterdeck.server.core import Core
from quarterdeck.server.handlers import (
    binding,
    component_status,
    create,
    delete,
    delete_collection,
    get,
    patch,
    pod_connection,
    pod_log,
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
from quarterdeck.server.routes import Handler, Route
from quarterdeck.wire import path as paths
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import ApiError, Details, MethodNotAllowed, NotAcceptable, NotFound

OBJECT_SUBRESOURCES = frozenset({STATUS, "approval", "ephemeralcontainers", "finalize", "resize"})
"""Subresources whose body is the object itself, with their own rules about what may change."""
_VERBS: dict[str, Handler] = {
    "create": create.handle,
    "delete": delete.handle,
    "deletecollection": delete_collection.handle,
    "get": get.handle,
    "patch": patch.handle,
    "update": update.handle,
}
_CREATED_SUBRESOURCES = frozenset({binding.BINDING, "eviction", token.TOKEN})
"""Subresources that are only ever created."""


def build_unsupported_verb(resource: Resource, verb: str) -> MethodNotAllowed:
    """Build Kubernetes' error for a verb that a custom resource does not have."""
    gvr = resource.gvr
    return MethodNotAllowed(
        f'{verb} is not supported on resources of kind "{gvr.group_resource}"',
        details=Details(group=gvr.group, kind=gvr.resource),
    )


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
            return await core.conversions.retry_with_conversions(
                lambda: _run(core, call, route), needed
            )
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
    accept = request.headers.find("accept")
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
        if options is not None and not has_feature("FormsAreCheckedFirst"):
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
    return await find_handler(call.resource, call.path, call.verb)(core, call)


def find_handler(resource: Resource, path: paths.ResourcePath, verb: str) -> Handler:
    """Find the handler of a verb on a path; lists and watches are handled elsewhere.

    Raises:
        NotFound: if there is no handler.
    """
    if path.subresource == SCALE:
        return _find_scale_handler(verb)
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
    return _find_subresource_handler(path.subresource)


def _find_scale_handler(verb: str) -> Handler:
    """Find the handler of a scale, loaded by the first request: the server starts without it."""
    from quarterdeck.server.handlers import scale

    return {"get": scale.get, "patch": scale.patch, "update": scale.update}[verb]


def _find_subresource_handler(subresource: str) -> Handler:
    """Find the handler of a POST to a subresource.

    Raises:
        NotFound: if it has none.
    """
    match subresource:
        case binding.BINDING:
            return binding.handle
        case token.TOKEN:
            return token.handle
        case "eviction":
            from quarterdeck.server.handlers import eviction

            return eviction.handle
        case _:
            raise NotFound.resource()


def _find_create_handler(resource: Resource) -> Handler:
    if resource.is_custom:
        return create.handle
    if resource.gvr.group_resource == BINDINGS:
        return binding.handle
    if resource.kind in REVIEW_KINDS:
        from quarterdeck.server.handlers import review

        return review.handle
    return create.handle


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
        raise build_unsupported_verb(resource, verb)
    if verb not in sub.verbs:
        raise MethodNotAllowed


def is_known_to_be_served(resource: Resource, path: paths.ResourcePath, verb: str) -> bool:
    """Whether a verb is served for objects, the collection, or the status of objects."""
    if path.subresource != STATUS:
        return not path.subresource and _is_served(resource, path, verb)
    status = resource.subresources.get(STATUS)
    return status is not None and verb in status.verbs and verb != "create"


def _is_served(resource: Resource, path: paths.ResourcePath, verb: str) -> bool:
    """Whether objects or the collection have a verb; only lists and watches need no namespace."""
    needs_namespace = resource.namespaced and verb not in ("list", "watch")
    return verb in resource.verbs and bool(path.namespace or not needs_namespace)
