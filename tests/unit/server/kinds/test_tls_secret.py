"""Warnings about the pair of a TLS secret, in the words a real server was seen to use."""

import base64
import random
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from quarterdeck.server.kinds.tls_secret import TLS, find_key_pair_warnings
from quarterdeck.server.registry.resource import Context

NOW = datetime(2026, 11, 15, tzinfo=UTC)
NO_KEY = b"-----BEGIN PRIVATE KEY-----\nYWJj\n-----END PRIVATE KEY-----\n"
NO_CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"


class Pair(NamedTuple):
    certificate: bytes
    key: bytes


def make_pair(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> Pair:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, NOW, NOW + timedelta(days=1))
    is_ec = isinstance(key, ec.EllipticCurvePrivateKey)
    certificate = builder.sign(key, hashes.SHA256() if is_ec else None)
    pem = serialization.Encoding.PEM
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pair(certificate.public_bytes(pem), text)


ONE, OTHER = (make_pair(ec.generate_private_key(ec.SECP256R1())) for _ in range(2))
EDWARDS = make_pair(ed25519.Ed25519PrivateKey.generate())


def warn(certificate: bytes, key: bytes, kind: str = TLS) -> list[str]:
    data = {"tls.crt": certificate, "tls.key": key}
    encoded = {name: base64.b64encode(each).decode() for name, each in data.items()}
    context = Context(now=NOW, random=random.Random(1))
    return [*find_key_pair_warnings({"type": kind, "data": encoded}, None, context)]


@pytest.mark.parametrize(
    ("certificate", "key"),
    [
        pytest.param(*ONE, id="pair"),
        pytest.param(*EDWARDS, id="pair of another kind"),
        pytest.param(ONE.certificate + OTHER.certificate, ONE.key, id="chain"),
        pytest.param(ONE.certificate, OTHER.certificate + ONE.key, id="key after a certificate"),
        pytest.param(b"text\n" + ONE.certificate, ONE.key, id="text before"),
    ],
)
def test_a_pair_has_no_warning(certificate: bytes, key: bytes) -> None:
    assert warn(certificate, key) == []


@pytest.mark.parametrize(
    ("certificate", "key", "expected"),
    [
        pytest.param(b"", b"", "failed to find any PEM data in certificate input", id="empty"),
        pytest.param(
            ONE.certificate, b"y", "failed to find any PEM data in key input", id="no key"
        ),
        pytest.param(
            *ONE._replace(key=OTHER.key), "private key does not match public key", id="other"
        ),
        pytest.param(
            *ONE._replace(key=EDWARDS.key),
            "private key type does not match public key type",
            id="other kind",
        ),
        pytest.param(
            ONE.key,
            ONE.key,
            "failed to find certificate PEM data in certificate input, but did find a private key;"
            " PEM inputs may have been switched",
            id="key as certificate",
        ),
        pytest.param(
            ONE.certificate,
            ONE.certificate,
            "found a certificate rather than a key in the PEM for the private key",
            id="certificate as key",
        ),
        pytest.param(ONE.certificate, NO_KEY, "failed to parse private key", id="no key inside"),
    ],
)
def test_what_is_wrong_with_a_pair_is_named(certificate: bytes, key: bytes, expected: str) -> None:
    assert warn(certificate, key) == [f"tls: {expected}"]


def test_a_certificate_that_cannot_be_read_is_malformed() -> None:
    assert warn(NO_CERTIFICATE, ONE.key) == ["x509: malformed certificate"]


def test_other_types_are_not_looked_at() -> None:
    assert warn(b"", b"", kind="Opaque") == []


def test_many_cut_blocks_are_read_in_one_pass() -> None:
    cut = b"".join(b"-----BEGIN A%d-----\n" % number for number in range(40_000))
    assert warn(cut, ONE.key) == ["tls: failed to find any PEM data in certificate input"]
