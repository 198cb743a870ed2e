"""From a patched document back to an object of its kind."""

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.request import convert
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.wire.status import ApiError, BadRequest, InternalError

_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def finish_patch(
    attributes: AdmissionAttributes,
    patched: Object,
    seen_as: Resource,
    *,
    drops_unknown: bool = True,
) -> Object:
    """A patched object in the shape of its kind and with its defaults, as the request sees it.

    Fields that a built-in kind does not have are dropped, or else are an error.

    Raises:
        ApiError: if it is not of its kind any more, or in another namespace.
    """
    resource = attributes.resource
    if attributes.view is not None and attributes.value is not None:
        return attributes.view.restore(attributes.value, patched)
    shaped = shape_object(patched, seen_as, drops_unknown=drops_unknown or seen_as.is_custom)
    namespace = shaped.setdefault("metadata", {}).get("namespace") or ""
    if namespace != (attributes.value or {})["metadata"].get("namespace", ""):
        raise BadRequest(_NAMESPACE)
    seen_as.strategy.default(shaped)
    back = convert(shaped, source=seen_as, target=resource)
    assert back is not None
    return back


def shape_object(value: Object, resource: Resource, *, drops_unknown: bool = True) -> Object:
    """A patched object in the shape of its kind.

    Raises:
        ApiError: if a field has a value of another type, or is unknown and not to be dropped.
    """
    try:
        shaped = resource.strategy.normalise(value)
    except ApiError as error:
        prefix = f'{resource.kind} in version "{resource.gvr.version}" cannot be handled as a'
        text = error.message
        if text.startswith(prefix):
            text = text.partition(": ")[2]
        raise InternalError.of(text) from error
    if shaped.unknown and not drops_unknown:
        problems = ", ".join(f'unknown field "{path}"' for path in shaped.unknown)
        raise InternalError.of(f"strict decoding error: {problems}")
    return shaped.value
