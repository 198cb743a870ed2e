"""PodNodeSelector: pods of a namespace run on the nodes that its annotation selects."""

from quarterdeck.server.admission.attributes import (
    AdmissionAttributes,
    build_forbidden,
    is_creation,
)
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import get_object
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.storage import Store

_ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"


class PodNodeSelector(MutatingPlugin):
    """Merges the selector of the namespace into that of the pod."""

    resources = frozenset({"pods"})

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Merge.

        Raises:
            Forbidden: if the two contradict each other.
        """
        if not is_creation(attributes, "pods"):
            return
        home = get_object(self._store, "namespaces", "", attributes.namespace) or {}
        text = get_mapping(home, "metadata", "annotations").get(_ANNOTATION) or ""
        pairs = (each.partition("=") for each in str(text).split(",") if each.strip())
        wanted = {key.strip(): value.strip() for key, _, value in pairs}
        if not wanted:
            return
        spec = (attributes.value or {}).setdefault("spec", {})
        given = spec.get("nodeSelector") or {}
        if any(given.get(key, value) != value for key, value in wanted.items()):
            why = "pod node label selector conflicts with its namespace node label selector"
            raise build_forbidden(attributes, why)
        spec["nodeSelector"] = {**wanted, **given}
