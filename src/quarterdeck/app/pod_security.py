"""Security contexts of our pods: Pod Security `restricted`, and a read-only root file system."""

from collections.abc import Mapping
from typing import Any

USER = 65532
"""User and group of our processes, as in images without a shell."""
POD: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER: Mapping[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
