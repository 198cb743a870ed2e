"""TPM structures made by hand: what is read, and what is refused."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.attest.endorsement import EndorsementPolicy, check_endorsement, hash_key
from quarterdeck.attest.errors import (
    AttestationError,
    InvalidQuote,
    MalformedStructure,
    UntrustedKey,
)
from quarterdeck.attest.pcr_policy import PcrPolicy, check_pcrs, record_pcrs
from quarterdeck.attest.public_area import (
    AK_REQUIRED,
    Attribute,
    check_attestation_key,
    parse_public,
    parse_sized_public,
)
from quarterdeck.attest.quote import bind_nonce, parse_quote, verify_quote, verify_signature
from quarterdeck.attest.reader import write_sized

NOW = datetime(2026, 11, 15, tzinfo=UTC)
NONCE = b"n" * 20
PCRS = {0: b"\0" * 32, 7: b"\7" * 32}
KEY = ec.generate_private_key(ec.SECP256R1())


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def ecc_area(key: ec.EllipticCurvePrivateKey = KEY, attributes: int = AK_REQUIRED) -> bytes:
    numbers = key.public_key().public_numbers()
    return (
        number(0x0023, 2)
        + number(0x000B, 2)
        + number(attributes, 4)
        + write_sized(b"")
        + number(0x0010, 2)
        + number(0x0018, 2)
        + number(0x000B, 2)
        + number(0x0003, 2)
        + number(0x0010, 2)
        + write_sized(number(numbers.x, 32))
        + write_sized(number(numbers.y, 32))
    )


def rsa_area(bits: int = 2048) -> bytes:
    numbers = rsa.generate_private_key(65537, bits).public_key().public_numbers()
    return (
        number(0x0001, 2)
        + number(0x000B, 2)
        + number(0x000300B2, 4)
        + write_sized(b"p" * 32)
        + number(0x0006, 2)
        + number(128, 2)
        + number(0x0043, 2)
        + number(0x0010, 2)
        + number(bits, 2)
        + number(0, 4)
        + write_sized(number(numbers.n, bits // 8))
    )


def quote(
    nonce: bytes = NONCE, *, magic: int = 0xFF544347, kind: int = 0x8018, bank: int = 0x000B
) -> bytes:
    digest = hashlib.sha256(PCRS[0] + PCRS[7]).digest()
    return (
        number(magic, 4)
        + number(kind, 2)
        + write_sized(b"signer")
        + write_sized(nonce)
        + bytes(17 + 8)
        + number(1, 4)
        + number(bank, 2)
        + b"\3\x81\0\0"
        + write_sized(digest)
    )


def sign(data: bytes, key: ec.EllipticCurvePrivateKey = KEY) -> bytes:
    r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
    head = number(0x0018, 2) + number(0x000B, 2)
    return head + write_sized(number(r, 32)) + write_sized(number(s, 32))


def test_name_is_the_hash_of_the_area() -> None:
    encoded = ecc_area()
    area = parse_sized_public(write_sized(encoded))
    assert area.name == b"\x00\x0b" + hashlib.sha256(encoded).digest()
    assert area.key.public_numbers() == KEY.public_key().public_numbers()


def test_rsa_storage_key_names_its_cipher() -> None:
    area = parse_public(rsa_area())
    assert (area.symmetric_bits, area.key.key_size) == (128, 2048)


@pytest.mark.parametrize("missing", [each for each in Attribute if each & AK_REQUIRED])
def test_attestation_key_without_a_guarantee_is_refused(missing: Attribute) -> None:
    area = parse_public(ecc_area(attributes=AK_REQUIRED & ~missing))
    with pytest.raises(UntrustedKey, match="lacks"):
        check_attestation_key(area)


def test_attestation_key_that_decrypts_is_refused() -> None:
    area = parse_public(ecc_area(attributes=AK_REQUIRED | Attribute.DECRYPT))
    with pytest.raises(UntrustedKey, match="has the attribute decrypt"):
        check_attestation_key(area)
    check_attestation_key(parse_public(ecc_area(attributes=AK_REQUIRED | Attribute.NO_DA)))


@given(st.binary(max_size=300))
def test_no_bytes_break_the_readers(data: bytes) -> None:
    for read in (parse_public, parse_sized_public, parse_quote):
        with pytest.raises(AttestationError):
            read(data)


@given(st.integers(0, 200), st.integers(0, 255))
def test_changed_areas_have_another_name_or_are_refused(place: int, octet: int) -> None:
    encoded = bytearray(ecc_area())
    place %= len(encoded)
    if encoded[place] == octet:
        return
    encoded[place] = octet
    try:
        changed = parse_public(bytes(encoded))
    except AttestationError:
        return
    assert changed.name != parse_public(ecc_area()).name


def verify(data: bytes, signature: bytes | None = None, **changes: Any) -> None:
    arguments: dict[str, Any] = {
        "nonce": NONCE,
        "pcrs": PCRS,
        "required": frozenset({0, 7}),
    } | changes
    verify_quote(
        data,
        sign(data) if signature is None else signature,
        KEY.public_key(),
        **arguments,
    )


def test_a_valid_quote_is_accepted() -> None:
    verify(quote())


@pytest.mark.parametrize(
    ("data", "changes", "message"),
    [
        pytest.param(quote(b"old"), {}, "does not match the challenge", id="replayed"),
        pytest.param(quote(magic=0), {}, "magic number", id="not from a TPM"),
        pytest.param(quote(kind=0x8017), {}, "expected a quote", id="another statement"),
        pytest.param(quote(bank=0x0004), {}, "expected SHA-256", id="weak bank"),
        pytest.param(
            quote(), {"required": frozenset({0, 4})}, "does not cover PCRs", id="too few PCRs"
        ),
        pytest.param(quote(), {"pcrs": {0: PCRS[0]}}, "not of the PCRs", id="values left out"),
        pytest.param(
            quote(),
            {"pcrs": PCRS | {7: b"\1" * 32}},
            "do not match the digest",
            id="values invented",
        ),
    ],
)
def test_bad_quote_is_refused(data: bytes, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuote, match=message):
        verify(data, **changes)


def test_quote_signed_by_another_key_is_refused() -> None:
    other = ec.generate_private_key(ec.SECP256R1())
    with pytest.raises(InvalidQuote, match="not made by the attestation key"):
        verify(quote(), sign(quote(), other))


def test_signature_of_another_scheme_is_refused() -> None:
    signature = number(0x0014, 2) + number(0x000B, 2) + write_sized(b"x" * 256)
    with pytest.raises(MalformedStructure, match="does not match the type of the key"):
        verify_signature(KEY.public_key(), quote(), signature)


def test_nonce_is_bound_to_the_request() -> None:
    assert bind_nonce(NONCE, b"csr one") != bind_nonce(NONCE, b"csr two")


def test_pcr_values_are_checked_by_the_policy() -> None:
    check_pcrs(PcrPolicy(), PCRS)
    check_pcrs(record_pcrs(PCRS), PCRS)
    check_pcrs(PcrPolicy(mode="allowlist", values={7: (b"\1" * 32, PCRS[7])}), PCRS)
    with pytest.raises(InvalidQuote, match="PCR 7 is 0707"):
        check_pcrs(PcrPolicy(mode="exact", values={7: (b"\1" * 32, PCRS[7])}), PCRS)
    with pytest.raises(InvalidQuote, match="PCR 4 is absent"):
        check_pcrs(PcrPolicy(mode="exact", values={4: (b"\1" * 32,)}), PCRS)
    with pytest.raises(InvalidQuote, match="has 3 bytes"):
        check_pcrs(PcrPolicy(), {0: b"abc"})


# --- endorsement certificates


def issue(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    *,
    issuer: tuple[str, ec.EllipticCurvePrivateKey] | None = None,
    is_authority: bool = False,
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
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if usage:
        oids = [x509.ObjectIdentifier(usage)]
        builder = builder.add_extension(x509.ExtendedKeyUsage(oids), critical=False)
    return builder.sign(signer[1], hashes.SHA256())


ROOT_KEY, MIDDLE_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
ROOT = issue("root", ROOT_KEY, is_authority=True)
MIDDLE = issue("middle", MIDDLE_KEY, issuer=("root", ROOT_KEY), is_authority=True)
AREA = parse_public(ecc_area())
POLICY = EndorsementPolicy(roots=(ROOT,), intermediates=(MIDDLE,))


def der(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.DER)


def test_certificate_of_a_known_maker_is_accepted() -> None:
    leaf = issue("ek", KEY, issuer=("middle", MIDDLE_KEY), usage="2.23.133.8.1")
    assert check_endorsement(POLICY, AREA, der(leaf), now=NOW) == hash_key(AREA.key)
    padded = der(leaf) + b"\xff" * 64
    assert check_endorsement(POLICY, AREA, padded, now=NOW) == hash_key(AREA.key)


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


def test_tpm_without_a_certificate_must_be_known() -> None:
    known = EndorsementPolicy(hashes=frozenset({hash_key(AREA.key)}))
    assert check_endorsement(known, AREA, None, now=NOW)
    with pytest.raises(UntrustedKey, match="not in the list"):
        check_endorsement(POLICY, AREA, None, now=NOW)
    strict = EndorsementPolicy(hashes=known.hashes, requires_certificate=True)
    with pytest.raises(UntrustedKey, match="requires one"):
        check_endorsement(strict, AREA, None, now=NOW)
