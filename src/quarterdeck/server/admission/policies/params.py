"""The params of a binding: stored objects found by name or label, decoded when they are used."""

from typing import NamedTuple

from quarterdeck.server.admission.policies.policy import ParamReference
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Entry, Store, StoreKey

_NONE_FOUND = "no params found for policy binding with `Deny` parameterNotFoundAction"


class ParamError(Exception):
    """Raised when the params of a binding cannot be found; the text is that of Kubernetes."""


class Params(NamedTuple):
    """One stored object that a policy gets as `params`."""

    resource: Resource
    entry: Entry

    @property
    def size(self) -> int:
        """Size of the stored object in bytes."""
        return len(self.entry.value)

    def decode(self) -> Object:
        """Decode the object in the version of `resource`, with kind and apiVersion."""
        decoded = decode_stored(self.resource, self.entry.value)
        decoded.setdefault("apiVersion", self.resource.api_version)
        decoded.setdefault("kind", self.resource.kind)
        return decoded


def collect_params(
    store: Store, resource: Resource, reference: ParamReference, *, namespace: str
) -> list[Params]:
    """Find the params for a write in a namespace; may be empty if the binding allows it.

    Raises:
        ParamError: if none is found and one is required, or the reference does not fit the write.
    """
    found = _find(store, resource, reference, namespace=namespace)
    if not found and not reference.allows_absence:
        raise ParamError(_NONE_FOUND)
    return found


def _find(
    store: Store, resource: Resource, reference: ParamReference, *, namespace: str
) -> list[Params]:
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
        return [] if entry is None else [Params(resource, entry)]
    entries = store.snapshot().range(resource.stored_name, place if resource.namespaced else None)
    selector = reference.selector
    return [
        Params(resource, entry)
        for entry in entries
        if selector is None or selector.matches(get_object_meta(entry).labels or {})
    ]
