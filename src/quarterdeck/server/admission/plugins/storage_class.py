"""DefaultStorageClass: claims without a class get the default one."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, is_creation
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import list_objects
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store

_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_LEGACY = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass(MutatingPlugin):
    """Sets the class of claims that name none; of several defaults the newest wins."""

    resources = frozenset({"persistentvolumeclaims"})

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Choose the default class."""
        if not is_creation(attributes, "persistentvolumeclaims"):
            return
        value = attributes.value or {}
        spec = value.setdefault("spec", {})
        if spec.get("storageClassName") is not None:
            return
        if _LEGACY in get_mapping(value, "metadata", "annotations"):
            return
        defaults = [
            each
            for each in list_objects(self._store, "storageclasses.storage.k8s.io")
            if get_mapping(each, "metadata", "annotations").get(_DEFAULT) == "true"
        ]
        if defaults:
            spec["storageClassName"] = min(defaults, key=_sort_key)["metadata"]["name"]


def _sort_key(value: Object) -> tuple[int, str]:
    """Newest first, then by name."""
    metadata = value["metadata"]
    digits = "".join(filter(str.isdigit, metadata.get("creationTimestamp") or "0"))
    return -int(digits or "0"), metadata["name"]
