"""Secrets of type `kubernetes.io/tls`: warns if certificate and key do not match.

The messages are those of Go's crypto/tls, which do not contain the data.
"""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.kinds.pem_blocks import CERTIFICATE, iterate_blocks
from quarterdeck.server.registry.resource import Context, Object

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import (
        CertificatePublicKeyTypes,
        PrivateKeyTypes,
    )

TLS = "kubernetes.io/tls"
_PRIVATE_KEY = "PRIVATE KEY"


def find_key_pair_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Warn of an invalid certificate and key of a TLS secret; nothing for other types."""
    if value.get("type") != TLS:
        return ()
    data = get_mapping(value, "data")
    certificate, key = (base64.b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key"))
    problem = _find_problem(certificate, key)
    return (problem,) if problem else ()


def _find_problem(certificate: bytes, key: bytes) -> str:
    certificates, skipped = _split_blocks(certificate, CERTIFICATE)
    if not certificates:
        return _explain_missing_certificate(skipped)
    keys, skipped = _split_blocks(key, _PRIVATE_KEY)
    if not keys:
        return _explain_missing_key(skipped)
    return _compare(certificates[0], keys[0])


def _split_blocks(text: bytes, wanted: str) -> tuple[list[bytes], list[str]]:
    """Return the PEM blocks of the wanted type, and the types of those before the first."""
    found: list[bytes] = []
    skipped: list[str] = []
    for block in iterate_blocks(text):
        if block.type == wanted or (wanted == _PRIVATE_KEY and block.type.endswith(f" {wanted}")):
            found.append(block.text)
        elif not found:
            skipped.append(block.type)
    return found, skipped


def _explain_missing_certificate(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in certificate input"
    if len(skipped) == 1 and skipped[0].endswith(_PRIVATE_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private"
            " key; PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM'
        f" blocks of the following types: [{' '.join(skipped)}]"
    )


def _explain_missing_key(skipped: list[str]) -> str:
    if not skipped:
        return "tls: failed to find any PEM data in key input"
    if skipped == [CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after'
        f" skipping PEM blocks of the following types: [{' '.join(skipped)}]"
    )


def _compare(certificate: bytes, key: bytes) -> str:
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "x509: malformed certificate"
    try:
        # the numbers of a key are not checked: that takes long for a large one
        private = load_pem_private_key(key, None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return "tls: failed to parse private key"
    return _compare_keys(public, private)


def _compare_keys(public: "CertificatePublicKeyTypes", private: "PrivateKeyTypes") -> str:
    own = private.public_key()
    if type(own) is not type(public):
        return "tls: private key type does not match public key type"
    return "" if own == public else "tls: private key does not match public key"
