"""TaintNodesByCondition: new nodes are tainted until they are ready."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, is_creation
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.kinds.fields import get_items


class TaintNodesByCondition(MutatingPlugin):
    """Taints new nodes as not ready."""

    resources = frozenset({"nodes"})

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the taint."""
        if not is_creation(attributes, "nodes"):
            return
        taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        spec = (attributes.value or {}).setdefault("spec", {})
        if taint not in get_items(spec, "taints"):
            spec["taints"] = [*get_items(spec, "taints"), taint]
