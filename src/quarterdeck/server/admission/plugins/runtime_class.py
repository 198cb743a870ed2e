"""RuntimeClass: pods get the overhead and scheduling of their runtime class."""

from quarterdeck.server.admission.attributes import (
    AdmissionAttributes,
    build_forbidden,
    is_creation,
)
from quarterdeck.server.admission.plugins.lookup import get_object
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store


class RuntimeClass:
    """Applies runtime classes to new pods."""

    resources = frozenset({"pods"})

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Set overhead, node selector and tolerations.

        Raises:
            Forbidden: if there is no such class, or the pod contradicts it.
        """
        if not is_creation(attributes, "pods"):
            return
        spec = (attributes.value or {}).setdefault("spec", {})
        found = self._find(attributes, spec)
        if found is None:
            return
        overhead = get_mapping(found, "overhead", "podFixed")
        if overhead:
            if spec.get("overhead") not in (None, overhead):
                raise build_forbidden(
                    attributes,
                    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
                )
            spec["overhead"] = dict(overhead)
        _apply_scheduling(attributes, spec, get_mapping(found, "scheduling"))

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse an overhead that no class explains.

        Raises:
            Forbidden: naming the pod.
        """
        if not is_creation(attributes, "pods"):
            return
        spec = get_mapping(attributes.value or {}, "spec")
        if spec.get("overhead") and not spec.get("runtimeClassName"):
            raise build_forbidden(
                attributes, "pod rejected: Pod Overhead set without corresponding RuntimeClass"
            )

    def _find(self, attributes: AdmissionAttributes, spec: Object) -> Object | None:
        name = spec.get("runtimeClassName")
        if not name:
            return None
        found = get_object(self._store, "runtimeclasses.node.k8s.io", "", name)
        if found is None:
            raise build_forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return found


def _apply_scheduling(attributes: AdmissionAttributes, spec: Object, scheduling: Object) -> None:
    wanted = scheduling.get("nodeSelector") or {}
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in wanted.items():
        if selector.get(key, value) != value:
            raise build_forbidden(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value};"
                f" pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    present = spec.get("tolerations") or []
    added = [each for each in scheduling.get("tolerations") or () if each not in present]
    if added:
        spec["tolerations"] = [*present, *added]
