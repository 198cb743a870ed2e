"""Kubeconfig files: private, written whole or not at all."""

import base64
import os
from pathlib import Path
from typing import Any

from quarterdeck.client.config.cluster import ClusterConfig, Material
from quarterdeck.kit import json as kit_json

_NAME = "quarterdeck"


def write_plain(path: Path, server: str) -> None:
    """A kubeconfig for a server on plain HTTP."""
    write(path, _document(server, cluster={}, user={}))


def write_certificate(
    path: Path, server: str, *, authority: str, certificate: str, key: str
) -> None:
    """A kubeconfig with a client certificate; all three are base64 of PEM."""
    write(
        path,
        _document(
            server,
            cluster={"certificate-authority-data": authority},
            user={"client-certificate-data": certificate, "client-key-data": key},
        ),
    )


def encode_config(config: ClusterConfig) -> bytes:
    """A kubeconfig with everything by value, for a Secret."""
    user = {
        "client-certificate-data": _encode_pem(config.client_certificate),
        "client-key-data": _encode_pem(config.client_key),
        "token": config.token.reveal() if config.token is not None else "",
    }
    cluster = {
        "certificate-authority-data": _encode_pem(config.certificate_authority),
        "tls-server-name": config.tls_server_name,
        "insecure-skip-tls-verify": config.insecure_skip_tls_verify,
    }
    return kit_json.encode(
        _document(
            config.server,
            cluster={name: value for name, value in cluster.items() if value},
            user={name: value for name, value in user.items() if value},
        )
    )


def _encode_pem(material: Material) -> str:
    return base64.b64encode(material.read()).decode() if material else ""


def _document(server: str, *, cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
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
    """Write a file only its owner can read; JSON is YAML, and needs no library."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(kit_json.encode(document))
    unfinished.replace(path)
