"""Kubeconfig files: readable by the owner only, written atomically."""

from pathlib import Path
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.private_file import write_private_file

_NAME = "quarterdeck"


def write_plain(path: Path, server: str) -> None:
    """Write a kubeconfig for a server on plain HTTP."""
    write(path, build_document(server, cluster={}, user={}))


def write_certificate(
    path: Path, server: str, *, authority: str, certificate: str, key: str
) -> None:
    """Write a kubeconfig with a client certificate; all three are base64 of PEM."""
    write(
        path,
        build_document(
            server,
            cluster={"certificate-authority-data": authority},
            user={"client-certificate-data": certificate, "client-key-data": key},
        ),
    )


def build_document(server: str, *, cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    """A kubeconfig with one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": {"server": server, **cluster}}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [
            {"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}
        ],
        "current-context": _NAME,
    }


def write(path: Path, document: dict[str, Any]) -> None:
    """Write a file that only its owner can read; JSON, which is YAML and needs no library."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private_file(path, kit_json.encode(document))
