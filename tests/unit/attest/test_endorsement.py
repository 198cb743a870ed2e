"""Certificates of endorsement keys: which makers are trusted, and what is refused."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.attest.endorsement import EndorsementPolicy, check_endorsement, hash_key
from quarterdeck.attest.errors import AttestationError, MalformedStructure, UntrustedKey
from quarterdeck.attest.public_area import PublicArea

NOW = datetime(2026, 11, 15, tzinfo=UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
AREA = PublicArea(
    hash_name="sha256", attributes=0, key=KEY.public_key(), symmetric_bits=128, encoded=b""
)


def issue(
    subject: str,
    key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey,
    *,
    issuer: tuple[str, ec.EllipticCurvePrivateKey] | None = None,
    is_authority: bool | None = False,
    days: int = 30,
    usage: str = "",
) -> x509.Certificate:
    signer = issuer or (subject, key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, signer[0])]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=60))
        .not_valid_after(NOW + timedelta(days=days))
    )
    if is_authority is not None:
        constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
        builder = builder.add_extension(constraints, critical=True)
    if usage:
        oids = [x509.ObjectIdentifier(usage)]
        builder = builder.add_extension(x509.ExtendedKeyUsage(oids), critical=False)
    return builder.sign(signer[1], hashes.SHA256())


ROOT_KEY, MIDDLE_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
ROOT = issue("root", ROOT_KEY, is_authority=True)
MIDDLE = issue("middle", MIDDLE_KEY, issuer=("root", ROOT_KEY), is_authority=True)
POLICY = EndorsementPolicy(roots=(ROOT,), intermediates=(MIDDLE,))


def der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)


def test_certificate_of_a_known_maker_is_accepted() -> None:
    leaf = issue("ek", KEY, issuer=("middle", MIDDLE_KEY), usage="2.23.133.8.1")
    assert check_endorsement(POLICY, AREA, der(leaf), now=NOW) == hash_key(AREA.key)
    padded = der(leaf) + b"\xff" * 64
    assert check_endorsement(POLICY, AREA, padded, now=NOW) == hash_key(AREA.key)


def test_certificate_without_a_stated_purpose_is_accepted() -> None:
    leaf = issue("ek", KEY, issuer=("root", ROOT_KEY), is_authority=None)
    assert check_endorsement(POLICY, AREA, der(leaf), now=NOW) == hash_key(AREA.key)


OTHER = ec.generate_private_key(ec.SECP256R1())


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        pytest.param(issue("ek", KEY), "does not chain to a trusted root", id="signed by itself"),
        pytest.param(
            issue("ek", KEY, issuer=("root", OTHER)),
            "does not chain to a trusted root",
            id="wrong authority",
        ),
        pytest.param(
            issue("ek", OTHER, issuer=("middle", MIDDLE_KEY)), "does not belong to", id="stolen"
        ),
        pytest.param(
            issue("ek", KEY, issuer=("middle", MIDDLE_KEY), days=-1), "has expired", id="expired"
        ),
        pytest.param(
            issue("ek", KEY, issuer=("middle", MIDDLE_KEY), usage="1.3.6.1.5.5.7.3.2"),
            "lacks the extended key usage",
            id="another purpose",
        ),
        pytest.param(
            issue("ek", KEY, issuer=("middle", MIDDLE_KEY), is_authority=True),
            "is a CA certificate",
            id="authority",
        ),
        pytest.param(
            issue("ek", ed25519.Ed25519PrivateKey.generate(), issuer=("middle", MIDDLE_KEY)),
            "Ed25519PublicKey are not supported",
            id="a type of key that no TPM has",
        ),
    ],
)
def test_other_certificates_are_refused(certificate: x509.Certificate, message: str) -> None:
    with pytest.raises(UntrustedKey, match=message):
        check_endorsement(POLICY, AREA, der(certificate), now=NOW)


def test_a_certificate_issued_by_a_leaf_certificate_is_refused() -> None:
    plain = issue("middle", MIDDLE_KEY, issuer=("root", ROOT_KEY))
    leaf = issue("ek", KEY, issuer=("middle", MIDDLE_KEY))
    policy = EndorsementPolicy(roots=(ROOT,), intermediates=(plain,))
    with pytest.raises(UntrustedKey, match="does not chain to a trusted root"):
        check_endorsement(policy, AREA, der(leaf), now=NOW)


def test_intermediates_that_issue_each_other_reach_no_root() -> None:
    one = issue("one", OTHER, issuer=("two", MIDDLE_KEY), is_authority=True)
    two = issue("two", MIDDLE_KEY, issuer=("one", OTHER), is_authority=True)
    policy = EndorsementPolicy(roots=(ROOT,), intermediates=(one, two))
    leaf = issue("ek", KEY, issuer=("one", OTHER))
    with pytest.raises(UntrustedKey, match="does not chain to a trusted root"):
        check_endorsement(policy, AREA, der(leaf), now=NOW)


def test_expired_root_is_refused() -> None:
    root = issue("root", ROOT_KEY, is_authority=True, days=-1)
    leaf = issue("ek", KEY, issuer=("root", ROOT_KEY))
    with pytest.raises(UntrustedKey, match="of 'CN=root' has expired"):
        check_endorsement(EndorsementPolicy(roots=(root,)), AREA, der(leaf), now=NOW)


@pytest.mark.parametrize(
    ("found", "written", "message"),
    [
        pytest.param(
            "2a8648ce3d030107", "2a8648ce3d030102", "10045.3.1.2 is not supported", id="curve"
        ),
        pytest.param("2a8648ce3d0201", "2a8648ce3d0202", "Unknown key type", id="key"),
        pytest.param("0603551d25", "0603551d13", "Duplicate 2.5.29.19", id="extension twice"),
        pytest.param("04023000", "04023005", "parsing asn1", id="extension cut off"),
        pytest.param("a003020102", "a00302010a", "not a valid X509 version", id="version"),
    ],
)
def test_certificate_that_cannot_be_read_is_refused(found: str, written: str, message: str) -> None:
    encoded = der(issue("ek", KEY, issuer=("middle", MIDDLE_KEY), usage="2.23.133.8.1"))
    before, after = bytes.fromhex(found), bytes.fromhex(written)
    assert before in encoded
    with pytest.raises(MalformedStructure, match=message):
        check_endorsement(POLICY, AREA, encoded.replace(before, after), now=NOW)


LEAF = der(issue("ek", KEY, issuer=("middle", MIDDLE_KEY), usage="2.23.133.8.1"))


@pytest.mark.filterwarnings("ignore")  # the library warns of some of these values
@given(st.integers(0, len(LEAF) - 1), st.integers(1, 255))
def test_certificate_with_a_changed_byte_is_refused(place: int, change: int) -> None:
    changed = bytearray(LEAF)
    changed[place] ^= change
    with pytest.raises(AttestationError):
        check_endorsement(POLICY, AREA, bytes(changed), now=NOW)


@given(st.binary(max_size=40))
def test_bytes_that_are_no_certificate_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedStructure, match="cannot be parsed"):
        check_endorsement(POLICY, AREA, data, now=NOW)


def test_tpm_without_a_certificate_must_be_known() -> None:
    known = EndorsementPolicy(hashes=frozenset({hash_key(AREA.key)}))
    assert check_endorsement(known, AREA, None, now=NOW)
    with pytest.raises(UntrustedKey, match="not in the list"):
        check_endorsement(POLICY, AREA, None, now=NOW)
    strict = EndorsementPolicy(hashes=known.hashes, requires_certificate=True)
    with pytest.raises(UntrustedKey, match="requires one"):
        check_endorsement(strict, AREA, None, now=NOW)
