"""DefaultTolerationSeconds: pods tolerate nodes in trouble for five minutes."""

from typing import Any

from quarterdeck.server.admission.attributes import Attempt, is_new
from quarterdeck.server.admission.plugin import Quiet
from quarterdeck.server.kinds.fields import items


class DefaultTolerations(Quiet):
    """Pods stay five minutes on a node that is in trouble, unless they say otherwise."""

    _KEYS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    _SECONDS = 300

    def admit(self, attempt: Attempt) -> None:
        """Add what is not tolerated yet."""
        if not is_new(attempt, "pods"):
            return
        spec = (attempt.value or {}).setdefault("spec", {})
        tolerations = items(spec, "tolerations")
        missing = [key for key in self._KEYS if not any(_covers(each, key) for each in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *map(self._toleration, missing)]

    def _toleration(self, key: str) -> dict[str, Any]:
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
