"""The name and namespace of a decoded object, compared with the path of the request."""

from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.wire.status import BadRequest


def check_name(call: Call, metadata: Object) -> None:
    """Compare the object's name with the path's.

    Raises:
        BadRequest: if they differ, or the object has no name.
    """
    name = metadata.get("name")
    if not name:
        raise BadRequest(
            f"the name of the object ({call.path.name} based on URL) was undeterminable: name must"
            " be provided"
        )
    if name != call.path.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({call.path.name})"
        )


def fill_name(call: Call, metadata: Object) -> None:
    """Compare the name in the body of a subresource with the path's; fill it in if absent.

    Raises:
        BadRequest: if they differ.
    """
    if not metadata.get("name"):
        metadata["name"] = call.path.name
    check_name(call, metadata)


def check_posted_name(call: Call, metadata: Object, kind: str) -> None:
    """Compare the name in the body of a subresource with the path's.

    Raises:
        BadRequest: if they differ, or the body has no name.
    """
    if metadata.get("name") != call.path.name:
        raise BadRequest(f"name in URL does not match name in {kind} object")


def check_namespace(call: Call, metadata: Object) -> None:
    """Compare the object's namespace with the path's, and fill it in.

    The namespace of a cluster-scoped object is dropped.

    Raises:
        BadRequest: if they differ.
    """
    if not call.resource.namespaced:
        metadata.pop("namespace", None)
        return
    named = metadata.get("namespace") or ""
    if named and named != call.path.namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = call.path.namespace
