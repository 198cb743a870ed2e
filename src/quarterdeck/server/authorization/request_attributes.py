"""The verb and the attributes of a request to a resource, from its method, path and query. Pure.

The router authorizes requests by them, and the audit log names requests by them, so that both
agree.
"""

import msgspec

from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.wire.field_selector import FieldSelector
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import BadRequest

_READ_METHODS = ("GET", "HEAD")
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
_METHOD_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
"""The verb to authorize for a method that is not allowed on a path."""


def describe_request(method: str, path: ResourcePath, query: str) -> Attributes:
    """Build the attributes of any request, also of one that is refused for its query or method."""
    try:
        options = parse_list_options(method, path, query)
    except BadRequest:
        options = None
    verb = get_verb(method, path, options) or get_refused_verb(method, path)
    return build_attributes(verb, path, options)


def parse_list_options(method: str, path: ResourcePath, query: str) -> ListOptions | None:
    """Parse the query of a list or watch; None for other requests.

    Raises:
        BadRequest: if a number cannot be parsed.
    """
    if method not in _READ_METHODS or (path.name and not path.legacy_watch):
        return None
    options = ListOptions.parse(query)
    return msgspec.structs.replace(options, watch=path.legacy_watch or options.watch)


def get_verb(method: str, path: ResourcePath, options: ListOptions | None) -> str:
    """Return the verb of a request; empty if the method is not allowed there."""
    if path.legacy_watch:
        return "watch" if method in _READ_METHODS else ""
    if path.subresource and method == "POST":
        return "create"
    if path.name:
        return _OBJECT_METHODS.get(method, "")
    verb = _COLLECTION_METHODS.get(method, "")
    return "watch" if verb == "list" and options is not None and options.watch else verb


def get_refused_verb(method: str, path: ResourcePath) -> str:
    """Return the verb to authorize if the method of a request is not allowed on its path."""
    return "watch" if path.legacy_watch else _METHOD_VERBS.get(method, method.lower())


def build_attributes(verb: str, path: ResourcePath, options: ListOptions | None) -> Attributes:
    """Build the attributes to authorize; a Namespace counts as an object inside of itself."""
    name, namespace = path.name, path.namespace
    if not path.group and path.resource == "namespaces":
        namespace = name
    if not name and options is not None and options.field_selector:
        name = _find_exact_name(options.field_selector)
    return Attributes(
        verb=verb,
        group=path.group,
        version=path.version,
        resource=path.resource,
        subresource=path.subresource,
        namespace=namespace,
        name=name,
    )


def _find_exact_name(field_selector: str) -> str:
    """Return the name that a field selector requires; an invalid selector is refused later."""
    try:
        return FieldSelector.parse(field_selector).exact("metadata.name") or ""
    except ValueError:
        return ""
