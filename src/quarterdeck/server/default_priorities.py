"""The PriorityClasses every cluster has, created when the server starts."""

from typing import Any

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.admission.plugins.priority import SYSTEM_PRIORITIES
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.server.registry.name_generator import generate_uid
from quarterdeck.storage import StoreKey, Ticket

_CLASSES = "priorityclasses.scheduling.k8s.io"
_DESCRIPTIONS = {
    "system-node-critical": "For system pods that must run on their node",
    "system-cluster-critical": "For system pods that may run on another node",
}


def reconcile(core: Core) -> list[Ticket]:
    """Create the classes that are missing."""
    return [
        core.store.put(key, build_encoder(_build_class(core, key.name, value)), expected=0)
        for name, value in SYSTEM_PRIORITIES.items()
        if core.store.get(key := StoreKey(_CLASSES, "", name)) is None
    ]


def _build_class(core: Core, name: str, value: int) -> dict[str, Any]:
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {
            "name": name,
            "uid": generate_uid(core.random),
            "resourceVersion": "",
            "generation": 1,
            "creationTimestamp": format_time(core.clock.now()),
        },
        "value": value,
        "description": _DESCRIPTIONS[name],
        "preemptionPolicy": "PreemptLowerPriority",
    }
