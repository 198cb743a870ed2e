"""The volume every pod gets: a token of its service account, the cluster's CA, its namespace."""

import random
from typing import Any

from quarterdeck.server.kinds.fields import items
from quarterdeck.server.registry.resource import Object

_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_PREFIX = "kube-api-access-"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SECONDS = 3607
"""An hour and a bit, so that a token that lasts exactly an hour can be told apart."""


def mount_token(spec: Object, rng: random.Random) -> None:
    """Add the volume, and mount it in every container that mounts nothing there."""
    existing = [each for each in items(spec, "volumes") if each["name"].startswith(_PREFIX)]
    name = existing[0]["name"] if existing else _PREFIX + "".join(rng.choices(_ALPHABET, k=5))
    mounted = False
    for member in ("initContainers", "containers"):
        for container in items(spec, member):
            mounts = items(container, "volumeMounts")
            if any(each.get("mountPath") == _PATH for each in mounts):
                continue
            mount = {"name": name, "readOnly": True, "mountPath": _PATH}
            container["volumeMounts"] = [*mounts, mount]
            mounted = True
    if mounted and not existing:
        spec["volumes"] = [*items(spec, "volumes"), _volume(name)]


def _volume(name: str) -> dict[str, Any]:
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
