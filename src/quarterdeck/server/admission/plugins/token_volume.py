"""The projected volume of every pod: token of its service account, CA certificate, namespace."""

import random
from typing import Any

from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.name_generator import generate_suffix
from quarterdeck.server.registry.resource import Object

_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_PREFIX = "kube-api-access-"
_SECONDS = 3607
"""A little over an hour, to distinguish the token from one that was requested for an hour."""


def mount_token(spec: Object, rng: random.Random) -> None:
    """Add the volume, and mount it in every container that mounts nothing there."""
    existing = [each for each in get_items(spec, "volumes") if each["name"].startswith(_PREFIX)]
    name = existing[0]["name"] if existing else _PREFIX + generate_suffix(rng)
    mounted = False
    for member in ("initContainers", "containers"):
        for container in get_items(spec, member):
            mounts = get_items(container, "volumeMounts")
            if any(each.get("mountPath") == _PATH for each in mounts):
                continue
            mount = {"name": name, "readOnly": True, "mountPath": _PATH}
            container["volumeMounts"] = [*mounts, mount]
            mounted = True
    if mounted and not existing:
        spec["volumes"] = [*get_items(spec, "volumes"), _build_volume(name)]


def _build_volume(name: str) -> dict[str, Any]:
    namespace = {
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    }
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": _SECONDS, "path": "token"}},
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {"downwardAPI": {"items": [namespace]}},
            ],
            "defaultMode": 420,
        },
    }
