"""StorageObjectInUseProtection and DefaultStorageClass: claims and volumes."""

from quarterdeck.server.admission.attributes import Attempt, is_new
from quarterdeck.server.admission.plugin import Quiet
from quarterdeck.server.admission.plugins.lookup import all_stored
from quarterdeck.server.kinds.fields import mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store


class StorageProtection(Quiet):
    """Claims and volumes in use are not deleted; claims without a class get the default one."""

    _FINALIZERS = {  # noqa: RUF012 - never changed
        "persistentvolumeclaims": "kubernetes.io/pvc-protection",
        "persistentvolumes": "kubernetes.io/pv-protection",
    }

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attempt: Attempt) -> None:
        """Add finalizer and class."""
        resource = attempt.resource.gvr.group_resource
        if resource not in self._FINALIZERS or not is_new(attempt, resource):
            return
        value = attempt.value or {}
        finalizers = value["metadata"].get("finalizers") or []
        if self._FINALIZERS[resource] not in finalizers:
            value["metadata"]["finalizers"] = [*finalizers, self._FINALIZERS[resource]]
        if resource == "persistentvolumeclaims":
            self._choose_class(value)

    def _choose_class(self, claim: Object) -> None:
        spec = claim.setdefault("spec", {})
        if spec.get("storageClassName") is not None:
            return
        for each in all_stored(self._store, "storageclasses.storage.k8s.io"):
            annotations = mapping(each, "metadata", "annotations")
            if annotations.get("storageclass.kubernetes.io/is-default-class") == "true":
                spec["storageClassName"] = each["metadata"]["name"]
                return
