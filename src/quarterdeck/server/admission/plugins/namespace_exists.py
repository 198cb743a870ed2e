"""NamespaceExists: objects are written only in namespaces that exist."""

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import NotFound


class NamespaceExists(ValidatingPlugin):
    """Refuses changes and deletions too, which NamespaceLifecycle does not."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Look the namespace up.

        Raises:
            NotFound: if there is none.
        """
        if not attributes.resource.namespaced or not attributes.namespace:
            return
        if self._store.get_pending(StoreKey("namespaces", "", attributes.namespace)) is None:
            raise NotFound.of("namespaces", attributes.namespace)
