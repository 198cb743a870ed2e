"""ExtendedResourceToleration: pods that request devices tolerate the taints of their nodes."""

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.kinds.fields import get_items, get_mapping


class ExtendedResourceToleration(MutatingPlugin):
    """Adds a toleration for each extended resource that containers request."""

    resources = frozenset({"pods"})

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Add the missing tolerations, in the order of names."""
        if attributes.resource.gvr.group_resource != "pods" or attributes.subresource:
            return
        if attributes.value is None or attributes.verb not in ("create", "update"):
            return
        spec = attributes.value.setdefault("spec", {})
        wanted = {
            name
            for member in ("containers", "initContainers")
            for container in get_items(spec, member)
            for name in get_mapping(container, "resources", "requests")
            if _is_extended(name)
        }
        for name in sorted(wanted):
            toleration = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
            if toleration not in get_items(spec, "tolerations"):
                spec["tolerations"] = [*get_items(spec, "tolerations"), toleration]


def _is_extended(name: str) -> bool:
    """Whether a resource has a domain that is neither Kubernetes' nor that of a quota."""
    domain, slash, _ = name.partition("/")
    is_native = not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io")
    return not is_native and not name.startswith("requests.")
