"""Priority: sets the priority of a pod from its PriorityClass."""

from quarterdeck.server.admission.attributes import (
    AdmissionAttributes,
    build_forbidden,
    is_creation,
    is_update,
)
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.plugins.lookup import get_object, list_objects
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store

_CLASSES = "priorityclasses.scheduling.k8s.io"
_PREEMPT = "PreemptLowerPriority"


SYSTEM_PRIORITIES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}


class Priority(MutatingPlugin):
    """Sets the priority of a pod from its PriorityClass."""

    resources = frozenset({"pods", _CLASSES})

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Look the class up and write its number down.

        Raises:
            Forbidden: for an unknown class, or a number that is not the class's.
        """
        if is_update(attributes, "pods"):
            _keep_priority(attributes)
            return
        if not is_creation(attributes, "pods"):
            self._check_default(attributes)
            return
        spec = (attributes.value or {}).setdefault("spec", {})
        number, policy = self._find_priority(attributes, spec)
        given = spec.get("priority")
        if given is not None and given != number:
            raise build_forbidden(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {number} from the given PriorityClass"
                " name",
            )
        spec["priority"] = number
        chosen = spec.get("preemptionPolicy")
        if chosen is not None and chosen != policy:
            raise build_forbidden(
                attributes,
                f"the string value of PreemptionPolicy ({chosen}) must not be provided in pod"
                f" spec; priority admission controller computed {policy} from the given"
                " PriorityClass name",
            )
        spec["preemptionPolicy"] = policy

    def _check_default(self, attributes: AdmissionAttributes) -> None:
        """Refuse a second PriorityClass with `globalDefault`."""
        value = attributes.value
        if attributes.resource.gvr.group_resource != _CLASSES or value is None:
            return
        if attributes.subresource or not value.get("globalDefault"):
            return
        for each in list_objects(self._store, _CLASSES):
            name = each["metadata"]["name"]
            if each.get("globalDefault") and name != attributes.name:
                raise build_forbidden(
                    attributes,
                    f"PriorityClass {name} is already marked as default. Only one default can"
                    " exist",
                )

    def _find_priority(self, attributes: AdmissionAttributes, spec: Object) -> tuple[int, str]:
        name = spec.get("priorityClassName") or ""
        if not name:
            return self._find_default(spec)
        found = get_object(self._store, _CLASSES, "", name)
        if found is not None:
            return found.get("value") or 0, found.get("preemptionPolicy") or _PREEMPT
        if name in SYSTEM_PRIORITIES:
            return SYSTEM_PRIORITIES[name], _PREEMPT
        raise build_forbidden(attributes, f"no PriorityClass with name {name} was found")

    def _find_default(self, spec: Object) -> tuple[int, str]:
        for each in list_objects(self._store, _CLASSES):
            if each.get("globalDefault"):
                spec["priorityClassName"] = each["metadata"]["name"]
                return each.get("value") or 0, each.get("preemptionPolicy") or _PREEMPT
        return 0, _PREEMPT


def _keep_priority(attributes: AdmissionAttributes) -> None:
    """Restore the computed priority of a pod if an update leaves it out, as most clients do."""
    spec = (attributes.value or {}).setdefault("spec", {})
    before = (attributes.old or {}).get("spec") or {}
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]
