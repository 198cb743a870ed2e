"""NamespaceLifecycle: objects are created only in namespaces that exist and are not terminating."""

import msgspec

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import MutatingPlugin, ValidatingPlugin
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import Cause, Details, Forbidden, NotFound

IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})
"""Namespaces that may not be deleted."""


class NamespaceLifecycle(MutatingPlugin):
    """Refuses objects in absent or terminating namespaces, and deletion of system namespaces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Check the namespace of a new object, or that a namespace may be deleted."""
        if attributes.verb == "create" and attributes.resource.namespaced:
            _check_home(self._store, attributes)
        elif (
            attributes.verb == "delete"
            and attributes.resource.gvr.group_resource == "namespaces"
            and attributes.name in IMMORTAL_NAMESPACES
        ):
            raise Forbidden.of("namespaces", attributes.name, "this namespace may not be deleted")


class NamespaceRecheck(ValidatingPlugin):
    """Checks the namespace of a new object again before it is stored, if something was awaited.

    Webhooks may take half a minute. An object that is stored after its namespace is gone would stay
    for ever, and appear in the next namespace of that name.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the namespace of a new object.

        Raises:
            NotFound, Forbidden: as `NamespaceLifecycle`.
        """
        if attributes.verb == "create" and attributes.resource.namespaced:
            _check_home(self._store, attributes)


def _check_home(store: Store, attributes: AdmissionAttributes) -> None:
    home = store.get_pending(StoreKey("namespaces", "", attributes.namespace))
    if home is None:
        raise NotFound.of("namespaces", attributes.namespace)
    if get_object_meta(home).deletion_timestamp is None:
        return
    gvr = attributes.resource.gvr
    why = (
        f"unable to create new content in namespace {attributes.namespace} because it is being"
        " terminated"
    )
    refusal = Forbidden.of(gvr.resource, attributes.name, why, group=gvr.group)
    cause = Cause(
        reason="NamespaceTerminating",
        message=f"namespace {attributes.namespace} is being terminated",
        field="metadata.namespace",
    )
    details = refusal.details or Details()
    refusal.details = msgspec.structs.replace(details, causes=(cause,))
    raise refusal
