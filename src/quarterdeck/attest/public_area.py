"""Public areas of TPM keys (TPMT_PUBLIC): algorithms, attributes, the key itself, and its name.

The name is computed here, never taken from the machine: it is what a credential is bound to.
"""

import enum
import hashlib

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from quarterdeck.attest.errors import MalformedStructure, UntrustedKey
from quarterdeck.attest.reader import Reader

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

_RSA, _ECC, _AES, _NULL = 0x0001, 0x0023, 0x0006, 0x0010
_AES_BITS = frozenset({128, 192, 256})
_HASHES = {0x000B: "sha256", 0x000C: "sha384", 0x000D: "sha512"}
_CURVES: dict[int, type[ec.EllipticCurve]] = {
    0x0003: ec.SECP256R1,
    0x0004: ec.SECP384R1,
    0x0005: ec.SECP521R1,
}
_SCHEMES_WITH_HASH = frozenset({0x0014, 0x0016, 0x0018, 0x001A, 0x001B, 0x001C})
_ECDAA = 0x001A
_DEFAULT_EXPONENT = 65537
_MIN_RSA_BITS = 2048


class Attribute(enum.IntFlag):
    """What a TPM guarantees about a key."""

    FIXED_TPM = 1 << 1
    FIXED_PARENT = 1 << 4
    SENSITIVE_DATA_ORIGIN = 1 << 5
    USER_WITH_AUTH = 1 << 6
    NO_DA = 1 << 10
    RESTRICTED = 1 << 16
    DECRYPT = 1 << 17
    SIGN = 1 << 18


AK_REQUIRED = (
    Attribute.FIXED_TPM
    | Attribute.FIXED_PARENT
    | Attribute.SENSITIVE_DATA_ORIGIN
    | Attribute.RESTRICTED
    | Attribute.SIGN
)
"""A key that cannot leave its TPM, was made there, and signs nothing but what the TPM says."""
AK_FORBIDDEN = Attribute.DECRYPT


class PublicArea(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a TPM, as its public area describes it."""

    hash_name: str
    attributes: int
    key: PublicKey
    symmetric_bits: int
    """Key size of the symmetric cipher a storage key protects others with; 0 for none."""
    encoded: bytes

    @property
    def name(self) -> bytes:
        """The name by which TPMs refer to the key: a hash of all of this."""
        number = next(code for code, name in _HASHES.items() if name == self.hash_name)
        digest = hashlib.new(self.hash_name, self.encoded).digest()
        return number.to_bytes(2, "big") + digest


def parse_sized_public(data: bytes) -> PublicArea:
    """Read a TPM2B_PUBLIC.

    Raises:
        MalformedStructure: if it cannot be parsed, or its algorithm is not supported.
    """
    reader = Reader(data, "the public area")
    area = reader.read_sized()
    reader.expect_end()
    return parse_public(area)


def parse_public(data: bytes) -> PublicArea:
    """Read a TPMT_PUBLIC.

    Raises:
        MalformedStructure: if it cannot be parsed, or its algorithm is not supported.
    """
    reader = Reader(data, "the public area")
    kind, hash_code, attributes = reader.read_u16(), reader.read_u16(), reader.read_u32()
    reader.read_sized()  # the policy
    hash_name = _HASHES.get(hash_code)
    if hash_name is None:
        raise MalformedStructure(f"name algorithm {hash_code:#06x} is not supported")
    bits = _read_symmetric(reader)
    match kind:
        case _ if kind == _RSA:
            key: PublicKey = _read_rsa(reader)
        case _ if kind == _ECC:
            key = _read_ecc(reader)
        case _:
            raise MalformedStructure(f"key algorithm {kind:#06x} is not supported")
    reader.expect_end()
    return PublicArea(
        hash_name=hash_name, attributes=attributes, key=key, symmetric_bits=bits, encoded=data
    )


def check_attestation_key(area: PublicArea) -> None:
    """Refuse a key that can sign data which its TPM did not produce.

    Raises:
        UntrustedKey: naming the attribute.
    """
    missing = AK_REQUIRED & ~area.attributes
    if missing:
        raise UntrustedKey(f"the attestation key lacks the attributes {_describe(missing)}")
    if area.attributes & AK_FORBIDDEN:
        raise UntrustedKey(
            "the attestation key has the attribute decrypt; expected a key that only signs"
        )
    if area.hash_name != "sha256":
        raise UntrustedKey(
            f"the name algorithm of the attestation key is {area.hash_name}; expected sha256"
        )


def _describe(attributes: Attribute | int) -> str:
    return ", ".join(
        each.name.lower() for each in Attribute if each & attributes and each.name is not None
    )


def _read_symmetric(reader: Reader) -> int:
    algorithm = reader.read_u16()
    if algorithm == _NULL:
        return 0
    bits = reader.read_u16()
    if algorithm != _AES or bits not in _AES_BITS:
        raise MalformedStructure(
            f"symmetric cipher {algorithm:#06x} of {bits} bits is not supported;"
            " expected AES of 128, 192 or 256 bits"
        )
    reader.read_u16()  # the mode
    return bits


def _read_scheme(reader: Reader) -> None:
    scheme = reader.read_u16()
    if scheme in _SCHEMES_WITH_HASH:
        reader.read_u16()
    if scheme == _ECDAA:
        reader.read_u16()


def _read_rsa(reader: Reader) -> rsa.RSAPublicKey:
    _read_scheme(reader)
    bits, exponent = reader.read_u16(), reader.read_u32() or _DEFAULT_EXPONENT
    modulus = int.from_bytes(reader.read_sized(), "big")
    if modulus.bit_length() != bits or bits < _MIN_RSA_BITS:
        raise MalformedStructure(f"an RSA key of {modulus.bit_length()} bits is not supported")
    try:
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError as error:
        raise MalformedStructure(f"the RSA key cannot be used: {error}") from error


def _read_ecc(reader: Reader) -> ec.EllipticCurvePublicKey:
    _read_scheme(reader)
    curve = _CURVES.get(code := reader.read_u16())
    if curve is None:
        raise MalformedStructure(f"curve {code:#06x} is not supported")
    if reader.read_u16() != _NULL:  # the key derivation scheme
        reader.read_u16()
    x, y = (int.from_bytes(reader.read_sized(), "big") for _ in range(2))
    try:
        return ec.EllipticCurvePublicNumbers(x, y, curve()).public_key()
    except ValueError as error:
        raise MalformedStructure(f"the point is not on the curve: {error}") from error
