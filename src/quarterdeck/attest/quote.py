"""Quotes: the PCRs of a machine, signed by the attestation key of its TPM."""

import hashlib
import hmac
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from quarterdeck.attest.errors import InvalidQuote, MalformedStructure
from quarterdeck.attest.public_area import PublicKey
from quarterdeck.attest.reader import Reader

_MAGIC = 0xFF544347
"""Put in front by the TPM of all it signs by itself: a restricted key signs nothing else."""
_QUOTE = 0x8018
_SHA256 = 0x000B
_RSASSA, _RSAPSS, _ECDSA = 0x0014, 0x0016, 0x0018
_HASHES: dict[int, type[hashes.HashAlgorithm]] = {
    0x000B: hashes.SHA256,
    0x000C: hashes.SHA384,
    0x000D: hashes.SHA512,
}
_MAX_BANKS = 16


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A quote that was read, not yet believed."""

    nonce: bytes
    selected: tuple[int, ...]
    """PCRs of the SHA-256 bank, in order."""
    digest: bytes


def parse_quote(data: bytes) -> Quote:
    """Read a TPMS_ATTEST of a quote.

    Raises:
        MalformedStructure: if it cannot be parsed.
        InvalidQuote: if it is not a quote by a TPM, or covers another bank.
    """
    reader = Reader(data, "the quote")
    if reader.read_u32() != _MAGIC:
        raise InvalidQuote("the signed data does not begin with the magic number of a TPM")
    if (kind := reader.read_u16()) != _QUOTE:
        raise InvalidQuote(f"the attestation has type {kind:#06x}; expected a quote")
    reader.read_sized()  # the qualified name of the signer
    nonce = reader.read_sized()
    reader.read_bytes(8 + 4 + 4 + 1)  # the clock of the TPM
    reader.read_u64()  # the version of its firmware
    selected = _read_selection(reader)
    digest = reader.read_sized()
    reader.expect_end()
    return Quote(nonce=nonce, selected=selected, digest=digest)


def verify_quote(
    data: bytes,
    signature: bytes,
    key: PublicKey,
    *,
    nonce: bytes,
    pcrs: Mapping[int, bytes],
    required: frozenset[int],
) -> Quote:
    """Verify a quote: its signature, its nonce, and that the PCR values match it.

    Raises:
        MalformedStructure: if quote or signature cannot be read.
        InvalidQuote: naming the check that failed.
    """
    verify_signature(key, data, signature)
    quote = parse_quote(data)
    if not hmac.compare_digest(quote.nonce, nonce):
        raise InvalidQuote("the nonce of the quote does not match the challenge")
    if not required <= set(quote.selected):
        raise InvalidQuote(
            f"the quote does not cover PCRs {sorted(required - set(quote.selected))}"
        )
    if set(pcrs) != set(quote.selected):
        raise InvalidQuote("the PCR values sent are not of the PCRs in the quote")
    concatenated = b"".join(pcrs[index] for index in quote.selected)
    if not hmac.compare_digest(hashlib.sha256(concatenated).digest(), quote.digest):
        raise InvalidQuote("the PCR values do not match the digest in the quote")
    return quote


def bind_nonce(nonce: bytes, csr: bytes) -> bytes:
    """The nonce to quote: with the certificate request in it, no other key can use the answer."""
    return hashlib.sha256(nonce + csr).digest()


def verify_signature(key: PublicKey, data: bytes, signature: bytes) -> None:
    """Check a TPMT_SIGNATURE.

    Raises:
        MalformedStructure: if it cannot be parsed, or its scheme is not supported.
        InvalidQuote: if another key made it.
    """
    reader = Reader(signature, "the signature")
    scheme, hash_code = reader.read_u16(), reader.read_u16()
    algorithm = _HASHES.get(hash_code)
    if algorithm is None:
        raise MalformedStructure(f"signature hash {hash_code:#06x} is not supported")
    try:
        match key:
            case rsa.RSAPublicKey() if scheme in (_RSASSA, _RSAPSS):
                key.verify(
                    reader.read_sized(), data, _choose_padding(scheme, algorithm()), algorithm()
                )
            case ec.EllipticCurvePublicKey() if scheme == _ECDSA:
                r, s = (int.from_bytes(reader.read_sized(), "big") for _ in range(2))
                key.verify(encode_dss_signature(r, s), data, ec.ECDSA(algorithm()))
            case _:
                raise MalformedStructure(
                    f"signature scheme {scheme:#06x} does not match the type of the key"
                )
    except InvalidSignature as error:
        raise InvalidQuote("the signature was not made by the attestation key") from error
    reader.expect_end()


def _choose_padding(scheme: int, algorithm: hashes.HashAlgorithm) -> padding.AsymmetricPadding:
    if scheme == _RSASSA:
        return padding.PKCS1v15()
    return padding.PSS(padding.MGF1(algorithm), padding.PSS.AUTO)


def _read_selection(reader: Reader) -> tuple[int, ...]:
    """The selected PCRs; all of them must be of the SHA-256 bank."""
    count = reader.read_u32()
    if count > _MAX_BANKS:
        raise MalformedStructure(
            f"the quote has {count} PCR banks; at most {_MAX_BANKS} are supported"
        )
    selected: list[int] = []
    for _ in range(count):
        bank, bitmap = reader.read_u16(), reader.read_bytes(reader.read_u8())
        found = [
            8 * place + bit
            for place, octet in enumerate(bitmap)
            for bit in range(8)
            if octet & (1 << bit)
        ]
        if found and bank != _SHA256:
            raise InvalidQuote(f"the quote covers PCR bank {bank:#06x}; expected SHA-256")
        selected += found
    return tuple(selected)
