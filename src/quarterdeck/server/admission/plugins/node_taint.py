"""TaintNodesByCondition: new nodes are tainted until they are ready."""

from quarterdeck.server.admission.attributes import Attempt, is_new
from quarterdeck.server.admission.plugin import Quiet
from quarterdeck.server.kinds.fields import items


class NotReadyNodes(Quiet):
    """New nodes are tainted until somebody calls them ready."""

    def admit(self, attempt: Attempt) -> None:
        """Add the taint."""
        if not is_new(attempt, "nodes"):
            return
        taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        spec = (attempt.value or {}).setdefault("spec", {})
        if taint not in items(spec, "taints"):
            spec["taints"] = [*items(spec, "taints"), taint]
