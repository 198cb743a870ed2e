"""DefaultIngressClass: ingresses without a class get the default one."""

from quarterdeck.server.admission.attributes import (
    AdmissionAttributes,
    build_forbidden,
    is_creation,
)
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import list_objects
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.storage import Store

_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
_LEGACY = "kubernetes.io/ingress.class"


class DefaultIngressClass(MutatingPlugin):
    """Sets the class of ingresses that name none."""

    resources = frozenset({"ingresses.networking.k8s.io"})

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Choose the default class.

        Raises:
            Forbidden: if several classes are marked as the default.
        """
        if not is_creation(attributes, "ingresses.networking.k8s.io"):
            return
        value = attributes.value or {}
        spec = value.setdefault("spec", {})
        if spec.get("ingressClassName") is not None:
            return
        if _LEGACY in get_mapping(value, "metadata", "annotations"):
            return
        names = [
            each["metadata"]["name"]
            for each in list_objects(self._store, "ingressclasses.networking.k8s.io")
            if get_mapping(each, "metadata", "annotations").get(_DEFAULT) == "true"
        ]
        if len(names) > 1:
            raise build_forbidden(
                attributes, f"{len(names)} default IngressClasses were found, only 1 allowed"
            )
        if names:
            spec["ingressClassName"] = names[0]
