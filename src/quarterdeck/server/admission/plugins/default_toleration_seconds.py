"""DefaultTolerationSeconds: pods tolerate nodes in trouble for five minutes."""

from typing import Any

from quarterdeck.server.admission.attributes import AdmissionAttributes, is_creation, is_update
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.kinds.fields import get_items


class DefaultTolerationSeconds(MutatingPlugin):
    """Adds the default tolerations of nodes that are not ready or unreachable: five minutes."""

    resources = frozenset({"pods"})

    _KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    _SECONDS = 300

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Add what is not tolerated yet."""
        if not is_creation(attributes, "pods") and not is_update(attributes, "pods"):
            return
        spec = (attributes.value or {}).setdefault("spec", {})
        tolerations = get_items(spec, "tolerations")
        missing = [key for key in self._KEYS if not any(_covers(each, key) for each in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *map(self._build_toleration, missing)]

    def _build_toleration(self, key: str) -> dict[str, Any]:
        return {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": self._SECONDS,
        }


def _covers(toleration: dict[str, Any], key: str) -> bool:
    return (toleration.get("key") or "") in ("", key) and (toleration.get("effect") or "") in (
        "",
        "NoExecute",
    )
