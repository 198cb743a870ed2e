"""TPM structures made by hand: what is read, and what is refused."""

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.attest.credential import make_credential
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

NONCE = b"n" * 20
PCRS = {0: b"\0" * 32, 7: b"\7" * 32}
KEY = ec.generate_private_key(ec.SECP256R1())


def number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def ecc_area(
    *,
    attributes: int = AK_REQUIRED,
    name_hash: int = 0x000B,
    scheme: bytes = b"\x00\x18\x00\x0b",
    derivation: bytes = b"\x00\x10",
) -> bytes:
    numbers = KEY.public_key().public_numbers()
    return (
        number(0x0023, 2)
        + number(name_hash, 2)
        + number(attributes, 4)
        + write_sized(b"")
        + number(0x0010, 2)
        + scheme
        + number(0x0003, 2)
        + derivation
        + write_sized(number(numbers.x, 32))
        + write_sized(number(numbers.y, 32))
    )


def rsa_area(*, cipher: int = 0x0006, cipher_bits: int = 128) -> bytes:
    bits = 2048
    numbers = rsa.generate_private_key(65537, bits).public_key().public_numbers()
    return (
        number(0x0001, 2)
        + number(0x000B, 2)
        + number(0x000300B2, 4)
        + write_sized(b"p" * 32)
        + number(cipher, 2)
        + number(cipher_bits, 2)
        + number(0x0043, 2)
        + number(0x0010, 2)
        + number(bits, 2)
        + number(0, 4)
        + write_sized(number(numbers.n, bits // 8))
    )


def quote(
    nonce: bytes = NONCE,
    *,
    magic: int = 0xFF544347,
    kind: int = 0x8018,
    banks: int = 1,
    bank: int = 0x000B,
) -> bytes:
    digest = hashlib.sha256(PCRS[0] + PCRS[7]).digest()
    return (
        number(magic, 4)
        + number(kind, 2)
        + write_sized(b"signer")
        + write_sized(nonce)
        + bytes(17 + 8)
        + number(banks, 4)
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


@pytest.mark.parametrize(
    ("cipher", "bits"),
    [
        pytest.param(0x0006, 7, id="a size that AES does not have"),
        pytest.param(0x0026, 128, id="Camellia"),
    ],
)
def test_storage_key_whose_cipher_is_not_supported_is_refused(cipher: int, bits: int) -> None:
    with pytest.raises(MalformedStructure, match=f"{cipher:#06x} of {bits} bits is not supported"):
        parse_public(rsa_area(cipher=cipher, cipher_bits=bits))


def test_no_credential_is_made_for_a_key_without_a_cipher() -> None:
    area = parse_public(ecc_area())
    with pytest.raises(UntrustedKey, match="expected a storage key"):
        make_credential(area, area.name, b"secret")


def test_parameters_of_schemes_are_skipped() -> None:
    ecdaa = parse_public(ecc_area(scheme=b"\x00\x1a\x00\x0b\x00\x01"))
    derived = parse_public(ecc_area(derivation=b"\x00\x20\x00\x0b"))
    without = parse_public(ecc_area(scheme=b"\x00\x10"))
    for area in (ecdaa, derived, without):
        assert area.key.public_numbers() == KEY.public_key().public_numbers()


def test_curve_that_is_not_supported_is_named() -> None:
    area = ecc_area().replace(b"\x00\x03\x00\x10", b"\x00\x20\x00\x10")
    with pytest.raises(MalformedStructure, match="curve 0x0020 is not supported"):
        parse_public(area)


def test_bytes_behind_a_structure_are_refused() -> None:
    with pytest.raises(MalformedStructure, match="has 2 unexpected bytes at its end"):
        parse_sized_public(write_sized(ecc_area()) + b"??")


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


def test_attestation_key_named_by_another_hash_is_refused() -> None:
    with pytest.raises(UntrustedKey, match="is sha384; expected sha256"):
        check_attestation_key(parse_public(ecc_area(name_hash=0x000C)))


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


def test_signature_by_an_unsupported_hash_is_refused() -> None:
    signature = number(0x0018, 2) + number(0x0004, 2)
    with pytest.raises(MalformedStructure, match="signature hash 0x0004 is not supported"):
        verify_signature(KEY.public_key(), quote(), signature)


@pytest.mark.parametrize(
    ("scheme", "chosen"),
    [
        pytest.param(0x0014, padding.PKCS1v15(), id="RSASSA"),
        pytest.param(0x0016, padding.PSS(padding.MGF1(hashes.SHA256()), 32), id="RSAPSS"),
    ],
)
def test_rsa_signatures_are_verified_by_their_own_scheme(
    scheme: int, chosen: padding.AsymmetricPadding
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    signed = write_sized(key.sign(quote(), chosen, hashes.SHA256()))
    verify_signature(key.public_key(), quote(), number(scheme, 2) + number(0x000B, 2) + signed)
    other = 0x0014 + 0x0016 - scheme
    with pytest.raises(InvalidQuote, match="not made by the attestation key"):
        verify_signature(key.public_key(), quote(), number(other, 2) + number(0x000B, 2) + signed)


def test_quote_of_too_many_banks_is_refused() -> None:
    with pytest.raises(MalformedStructure, match="has 17 PCR banks; at most 16"):
        verify(quote(banks=17))


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
