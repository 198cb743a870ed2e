"""StorageObjectInUseProtection: finalizers keep claims and volumes while they are in use."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, is_creation
from quarterdeck.server.admission.plugin import MutatingPlugin


class StorageObjectInUseProtection(MutatingPlugin):
    """Adds protection finalizers to claims and volumes."""

    _FINALIZERS = {  # noqa: RUF012 - never changed
        "persistentvolumeclaims": "kubernetes.io/pvc-protection",
        "persistentvolumes": "kubernetes.io/pv-protection",
        "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
    }
    resources = frozenset(_FINALIZERS)

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the finalizer."""
        resource = attributes.resource.gvr.group_resource
        if resource not in self._FINALIZERS or not is_creation(attributes, resource):
            return
        value = attributes.value or {}
        finalizers = value["metadata"].get("finalizers") or []
        if self._FINALIZERS[resource] not in finalizers:
            value["metadata"]["finalizers"] = [*finalizers, self._FINALIZERS[resource]]
