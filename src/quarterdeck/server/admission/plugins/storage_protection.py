"""StorageObjectInUseProtection and DefaultStorageClass: claims and volumes."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, is_creation
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import list_objects
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store


class StorageProtection(MutatingPlugin):
    """Adds protection finalizers to claims and volumes, and the default class to claims."""

    _FINALIZERS = {  # noqa: RUF012 - never changed
        "persistentvolumeclaims": "kubernetes.io/pvc-protection",
        "persistentvolumes": "kubernetes.io/pv-protection",
    }

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Add finalizer and class."""
        resource = attributes.resource.gvr.group_resource
        if resource not in self._FINALIZERS or not is_creation(attributes, resource):
            return
        value = attributes.value or {}
        finalizers = value["metadata"].get("finalizers") or []
        if self._FINALIZERS[resource] not in finalizers:
            value["metadata"]["finalizers"] = [*finalizers, self._FINALIZERS[resource]]
        if resource == "persistentvolumeclaims":
            self._choose_class(value)

    def _choose_class(self, claim: Object) -> None:
        spec = claim.setdefault("spec", {})
        if spec.get("storageClassName") is not None:
            return
        for each in list_objects(self._store, "storageclasses.storage.k8s.io"):
            annotations = get_mapping(each, "metadata", "annotations")
            if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
                spec["storageClassName"] = each["metadata"]["name"]
                return
