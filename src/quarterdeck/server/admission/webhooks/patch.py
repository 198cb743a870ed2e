"""What a webhook's patch does to an object."""

import copy

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.webhooks.review import convert
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.wire import json_patch
from quarterdeck.wire.status import ApiError, BadRequest, InternalError

_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"


def apply_patch(attributes: AdmissionAttributes, patch: bytes, seen_as: Resource) -> Object:
    """The object after the patch, in the shape of its kind and with its defaults.

    Raises:
        ApiError: if the patch cannot be applied, or makes something else of the object.
    """
    resource = attributes.resource
    value = convert(copy.deepcopy(attributes.value), source=resource, target=seen_as)
    assert value is not None  # deletions have no object, and are not patched
    try:
        operations = json_patch.parse(kit_json.decode(patch))
        patched = json_patch.apply(value, operations)
    except ValueError as error:
        raise InternalError.of(str(error)) from error
    if not isinstance(patched, dict):
        raise InternalError.of("the patch does not leave an object")
    shaped = _shape(patched, seen_as)
    namespace = shaped.setdefault("metadata", {}).get("namespace") or ""
    if namespace != (attributes.value or {})["metadata"].get("namespace", ""):
        raise BadRequest(_NAMESPACE)
    seen_as.strategy.default(shaped)
    back = convert(shaped, source=seen_as, target=resource)
    assert back is not None
    return back


def _shape(value: Object, resource: Resource) -> Object:
    try:
        return resource.strategy.normalise(value).value
    except ApiError as error:
        raise InternalError.of(error.message) from error
