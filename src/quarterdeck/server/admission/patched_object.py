"""Turns a document that a webhook or policy has patched back into an object of its kind."""

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
    """Normalize and default a patched object, and convert it to the version of the request.

    Unknown fields of a built-in kind are dropped, or are an error without `drops_unknown`.

    Raises:
        ApiError: if the result does not fit its kind, or is in another namespace.
    """
    resource = attributes.resource
    if attributes.view is not None and attributes.value is not None:
        return attributes.view.from_subresource(attributes.value, patched)
    shaped = shape_object(patched, seen_as, drops_unknown=drops_unknown or seen_as.is_custom)
    namespace = shaped.setdefault("metadata", {}).get("namespace") or ""
    if namespace != (attributes.value or {})["metadata"].get("namespace", ""):
        raise BadRequest(_NAMESPACE)
    seen_as.strategy.default(shaped)
    back = convert(shaped, source=seen_as, target=resource)
    assert back is not None
    return back


def shape_object(value: Object, resource: Resource, *, drops_unknown: bool = True) -> Object:
    """Normalize a patched object by the strategy of its resource.

    Raises:
        ApiError: if a field has a wrong type, or is unknown and `drops_unknown` is false.
    """
    try:
        shaped = resource.strategy.normalize(value)
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
