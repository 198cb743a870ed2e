"""AlwaysPullImages and AlwaysDeny: off unless they are enabled."""

from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.plugin import MutatingPlugin, ValidatingPlugin
from quarterdeck.server.kinds.fields import get_items

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


class AlwaysPullImages(MutatingPlugin):
    """Makes every pod pull its images, so that only users with credentials can use them."""

    resources = frozenset({"pods"})

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Set the pull policy of all containers of a pod."""
        if attributes.resource.gvr.group_resource != "pods" or attributes.value is None:
            return
        if attributes.subresource not in ("", "ephemeralcontainers"):
            return
        for member in _CONTAINERS:
            for container in get_items(attributes.value, "spec", member):
                container["imagePullPolicy"] = "Always"


class AlwaysDeny(ValidatingPlugin):
    """Refuses every write."""

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse.

        Raises:
            Forbidden: always.
        """
        raise build_forbidden(attributes, "admission control is denying all modifications")
