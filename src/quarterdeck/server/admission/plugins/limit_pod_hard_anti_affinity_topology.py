"""LimitPodHardAntiAffinityTopology: required anti-affinity of pods is between nodes only."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.server.kinds.fields import get_items

_HOSTNAME = "kubernetes.io/hostname"
_TERMS = ("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


class LimitPodHardAntiAffinityTopology(ValidatingPlugin):
    """Refuses pods whose required anti-affinity has another topology key than the host name."""

    resources = frozenset({"pods"})

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Check the topology keys of required anti-affinity terms.

        Raises:
            Forbidden: for a key other than `kubernetes.io/hostname`.
        """
        if attributes.resource.gvr.group_resource != "pods" or attributes.subresource:
            return
        for term in get_items(attributes.value or {}, *_TERMS):
            key = term.get("topologyKey")
            if key != _HOSTNAME:
                raise build_forbidden(
                    attributes,
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but"
                    f" only key {_HOSTNAME} is allowed",
                )
