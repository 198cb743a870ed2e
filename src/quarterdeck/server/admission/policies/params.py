"""The objects a binding hands to its policy."""

from quarterdeck.server.admission.matching import get_labels
from quarterdeck.server.admission.policies.policy import ParamReference
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Store, StoreKey

_NONE_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"


class ParamError(Exception):
    """Raised when the parameters of a binding cannot be had; the text is Kubernetes'."""


def collect_params(
    store: Store, resource: Resource, reference: ParamReference, *, namespace: str
) -> list[Object]:
    """The parameters for a write in a namespace; none, where the binding allows their absence.

    Raises:
        ParamError: if there are none, or if the reference makes no sense for this write.
    """
    found = _find(store, resource, reference, namespace=namespace)
    if not found and not reference.allows_absence:
        raise ParamError(_NONE_FOUND)
    return found


def _find(
    store: Store, resource: Resource, reference: ParamReference, *, namespace: str
) -> list[Object]:
    place = ""
    if resource.namespaced:
        place = reference.namespace or namespace
        if not place:
            raise ParamError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped"
                " resources"
            )
    elif reference.namespace:
        raise ParamError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if reference.name:
        entry = store.get_pending(StoreKey(resource.stored_name, place, reference.name))
        return [] if entry is None else [_decode(resource, entry.value)]
    entries = store.snapshot().range(resource.stored_name, place if resource.namespaced else None)
    decoded = (_decode(resource, entry.value) for entry in entries)
    selector = reference.selector
    return [each for each in decoded if selector is None or selector.matches(get_labels(each))]


def _decode(resource: Resource, value: bytes) -> Object:
    decoded = decode_stored(resource, value)
    decoded.setdefault("apiVersion", resource.api_version)
    decoded.setdefault("kind", resource.kind)
    return decoded
