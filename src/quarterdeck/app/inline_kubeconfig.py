"""Builds kubeconfigs without file references. Separate, because it imports the client."""

import base64

from quarterdeck.app.kubeconfig import build_document
from quarterdeck.client.config.cluster import ClusterConfig, PemSource
from quarterdeck.kit import json


def encode_config(config: ClusterConfig) -> bytes:
    """Encode a kubeconfig with embedded certificates and keys, for a Secret."""
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
    return json.encode(
        build_document(
            config.server,
            cluster={name: value for name, value in cluster.items() if value},
            user={name: value for name, value in user.items() if value},
        )
    )


def _encode_pem(material: PemSource) -> str:
    return base64.b64encode(material.read()).decode() if material else ""
