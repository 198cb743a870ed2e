"""DenyServiceExternalIPs: services get no new external addresses."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.server.kinds.fields import get_items


class DenyServiceExternalIPs(ValidatingPlugin):
    """Refuses external addresses that a service did not have before."""

    resources = frozenset({"services"})

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Compare the addresses.

        Raises:
            Forbidden: for a new one.
        """
        if attributes.resource.gvr.group_resource != "services" or attributes.subresource:
            return
        new, old = (
            set(get_items(each or {}, "spec", "externalIPs"))
            for each in (attributes.value, attributes.old)
        )
        if new - old:
            why = "Use of external IPs is denied by admission control"
            raise build_forbidden(attributes, why)
