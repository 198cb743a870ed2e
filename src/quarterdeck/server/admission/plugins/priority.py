"""Priority: the priority of a pod comes from its PriorityClass."""

from quarterdeck.server.admission.attributes import Attempt, is_new, refusal
from quarterdeck.server.admission.plugin import Quiet
from quarterdeck.server.admission.plugins.lookup import all_stored, stored
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store

_PREEMPT = "PreemptLowerPriority"


_SYSTEM_PRIORITIES = {
    "system-node-critical": 2_000_001_000,
    "system-cluster-critical": 2_000_000_000,
}


class Priorities(Quiet):
    """The priority of a pod is the number behind its class."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, attempt: Attempt) -> None:
        """Look the class up and write its number down.

        Raises:
            Forbidden: for an unknown class, or a number that is not the class's.
        """
        if not is_new(attempt, "pods"):
            return
        spec = (attempt.value or {}).setdefault("spec", {})
        number, policy = self._priority(attempt, spec)
        given = spec.get("priority")
        if given is not None and given != number:
            raise refusal(
                attempt,
                f"the integer value of priority ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {number} from the given PriorityClass"
                " name",
            )
        spec["priority"] = number
        if spec.get("preemptionPolicy") is None:
            spec["preemptionPolicy"] = policy

    def _priority(self, attempt: Attempt, spec: Object) -> tuple[int, str]:
        name = spec.get("priorityClassName") or ""
        if not name:
            return self._default(spec)
        found = stored(self._store, "priorityclasses.scheduling.k8s.io", "", name)
        if found is not None:
            return found.get("value") or 0, found.get("preemptionPolicy") or _PREEMPT
        if name in _SYSTEM_PRIORITIES:
            return _SYSTEM_PRIORITIES[name], _PREEMPT
        raise refusal(attempt, f"no PriorityClass with name {name} was found")

    def _default(self, spec: Object) -> tuple[int, str]:
        for each in all_stored(self._store, "priorityclasses.scheduling.k8s.io"):
            if each.get("globalDefault"):
                spec["priorityClassName"] = each["metadata"]["name"]
                return each.get("value") or 0, each.get("preemptionPolicy") or _PREEMPT
        return 0, _PREEMPT
