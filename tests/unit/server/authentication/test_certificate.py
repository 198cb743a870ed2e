"""The names in client certificates, against the library that makes them."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.server.authentication.certificate import CertificateError, parse_subject

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def made(name: str, organizations: list[str]) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    parts.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    parts.append(x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(parts))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("name", "organizations"),
    [
        ("kubernetes-admin", ["system:masters"]),
        ("alice", []),
        ("Zoë", ["a", "b", "a" * 60]),
    ],
)
def test_subject_is_read(name: str, organizations: list[str]) -> None:
    found = parse_subject(made(name, organizations))
    assert (found.common_name, found.organizations) == (name, tuple(organizations))


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused(data: bytes) -> None:
    try:
        parse_subject(data)
    except CertificateError:
        pass


def test_cut_certificate_is_an_error() -> None:
    der = made("a", ["b"])
    for length in range(0, 100, 7):
        with pytest.raises(CertificateError):
            parse_subject(der[:length])
