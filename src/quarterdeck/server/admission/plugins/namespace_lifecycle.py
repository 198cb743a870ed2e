"""NamespaceLifecycle: objects are created only in namespaces that exist and are not terminating."""

import msgspec

from quarterdeck.server.admission.attributes import Attempt
from quarterdeck.server.registry.object_meta import facts_of
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import Cause, Details, Forbidden, NotFound

IMMORTAL_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


class NamespaceLifecycle:
    """Objects are created in namespaces that exist and stay; four of them stay for ever."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attempt: Attempt) -> None:
        """Check the namespace of a new object, or that a namespace may go."""
        if attempt.verb == "create" and attempt.resource.namespaced:
            self._check_home(attempt)
        elif (
            attempt.verb == "delete"
            and attempt.resource.gvr.group_resource == "namespaces"
            and attempt.name in IMMORTAL_NAMESPACES
        ):
            raise Forbidden.of("namespaces", attempt.name, "this namespace may not be deleted")

    def validate(self, attempt: Attempt) -> None:
        """Nothing more to say."""

    def _check_home(self, attempt: Attempt) -> None:
        home = self._store.get_pending(StoreKey("namespaces", "", attempt.namespace))
        if home is None:
            raise NotFound.of("namespaces", attempt.namespace)
        if facts_of(home).deletion_timestamp is None:
            return
        gvr = attempt.resource.gvr
        why = (
            f"unable to create new content in namespace {attempt.namespace} because it is being"
            " terminated"
        )
        refusal = Forbidden.of(gvr.resource, attempt.name, why, group=gvr.group)
        cause = Cause(
            reason="NamespaceTerminating",
            message=f"namespace {attempt.namespace} is being terminated",
            field="metadata.namespace",
        )
        details = refusal.details or Details()
        refusal.details = msgspec.structs.replace(details, causes=(cause,))
        raise refusal
