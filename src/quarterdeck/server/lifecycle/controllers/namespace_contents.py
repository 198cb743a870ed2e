"""Creates the default service account and the root CA ConfigMap of every namespace."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.controllers.namespace_termination import NAMESPACES
from quarterdeck.server.lifecycle.engine.actions import Action, Create
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import is_deleting, update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.storage import StoreEvent, StoreKey

ACCOUNTS = "serviceaccounts"
CONFIG_MAPS = "configmaps"
ACCOUNT_NAME = "default"
ROOT_CA_NAME = "kube-root-ca.crt"


class NamespaceContents:
    """Keeps `serviceaccount/default` and `configmap/kube-root-ca.crt` in every namespace."""

    name = "namespace-contents"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({NAMESPACES, ACCOUNTS, CONFIG_MAPS})
    initial: Sequence[StoreKey] = ()

    def __init__(self, authority: str) -> None:
        self._data = {"ca.crt": authority}

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find namespaces that were written, or whose ServiceAccount or ConfigMap was."""
        key = event.key
        if key.resource == NAMESPACES:
            if event.after is not None and get_object_meta(event.after).deletion_timestamp is None:
                yield key
        elif (key.resource, key.name) in ((ACCOUNTS, ACCOUNT_NAME), (CONFIG_MAPS, ROOT_CA_NAME)):
            yield StoreKey(NAMESPACES, "", key.namespace)

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Create missing objects, and restore the data of the ConfigMap."""
        namespace = view.get(key)
        if namespace is None or is_deleting(namespace):
            return ()
        actions: list[Action] = []
        if view.get_object_meta(StoreKey(ACCOUNTS, key.name, ACCOUNT_NAME)) is None:
            actions.append(
                Create(ACCOUNTS, _build_object("ServiceAccount", ACCOUNT_NAME, key.name))
            )
        present = view.get(StoreKey(CONFIG_MAPS, key.name, ROOT_CA_NAME))
        if present is None:
            new = _build_object("ConfigMap", ROOT_CA_NAME, key.name)
            actions.append(Create(CONFIG_MAPS, new | {"data": self._data}))
        elif present.get("data") != self._data and not is_deleting(present):
            actions.append(update(CONFIG_MAPS, present, data=self._data))
        return actions


def _build_object(kind: str, name: str, namespace: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace}
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata}
