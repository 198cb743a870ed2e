"""A proof by TPM and one by token, made without a TPM: what the bootstrap service has to judge."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from quarterdeck.attest.endorsement import EndorsementPolicy
from quarterdeck.attest.public_area import AK_REQUIRED
from quarterdeck.attest.quote import bind_nonce
from quarterdeck.attest.reader import write_sized

NOW = datetime(2026, 11, 15, tzinfo=UTC)
NONCE = b"n" * 32
PCRS = {index: bytes([index]) * 32 for index in (0, 1, 2, 3, 4, 7)}
_STORAGE_KEY = 0x000300B2


@dataclass(frozen=True)
class Proof:
    """Everything that the service sees of one attestation by TPM."""

    policy: EndorsementPolicy
    endorsement: bytes
    certificate: bytes
    attestation: bytes
    quote: bytes
    signature: bytes
    raw_signature: bytes
    csr: bytes
    key: rsa.RSAPublicKey
    """The attestation key, ready to be used."""
    path: tuple[x509.Certificate, ...]
    """From the endorsement certificate to the root."""


def make_request() -> bytes:
    """A certificate request of a machine."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def make_proof() -> Proof:
    """RSA-2048 everywhere but in the request, as most TPMs and their makers have it."""
    keys = [rsa.generate_private_key(65537, 2048) for _ in range(4)]
    root_key, maker_key, endorsement, attestation = keys
    root = _certify("root", root_key, "root", root_key, is_authority=True)
    maker = _certify("maker", maker_key, "root", root_key, is_authority=True)
    leaf = _certify("tpm", endorsement, "maker", maker_key, is_authority=False)
    csr = make_request()
    quote = _quote(bind_nonce(NONCE, csr))
    raw = attestation.sign(quote, padding.PKCS1v15(), hashes.SHA256())
    return Proof(
        policy=EndorsementPolicy(roots=(root,), intermediates=(maker,), requires_certificate=True),
        endorsement=_area(endorsement, _STORAGE_KEY, cipher=True),
        certificate=leaf.public_bytes(Encoding.DER),
        attestation=write_sized(_area(attestation, AK_REQUIRED, cipher=False)),
        quote=quote,
        signature=_number(0x0014) + _number(0x000B) + write_sized(raw),
        raw_signature=raw,
        csr=csr,
        key=attestation.public_key(),
        path=(leaf, maker, root),
    )


def _certify(
    name: str,
    key: rsa.RSAPrivateKey,
    issuer: str,
    signer: rsa.RSAPrivateKey,
    *,
    is_authority: bool,
) -> x509.Certificate:
    constraints = x509.BasicConstraints(ca=is_authority, path_length=None)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1))
        .add_extension(constraints, critical=True)
        .sign(signer, hashes.SHA256())
    )


def _area(key: rsa.RSAPrivateKey, attributes: int, *, cipher: bool) -> bytes:
    modulus = key.public_key().public_numbers().n
    symmetric = _number(0x0006) + _number(128) + _number(0x0043) if cipher else _number(0x0010)
    scheme = _number(0x0010) if cipher else _number(0x0014) + _number(0x000B)
    head = _number(0x0001) + _number(0x000B) + _number(attributes, 4) + write_sized(b"")
    sizes = _number(2048) + _number(0, 4)
    return head + symmetric + scheme + sizes + write_sized(modulus.to_bytes(256, "big"))


def _quote(nonce: bytes) -> bytes:
    digest = hashlib.sha256(b"".join(PCRS.values())).digest()
    head = _number(0xFF544347, 4) + _number(0x8018) + write_sized(b"signer") + write_sized(nonce)
    selection = _number(1, 4) + _number(0x000B) + b"\3" + bytes([0b10011111, 0, 0])
    return head + bytes(17 + 8) + selection + write_sized(digest)


def _number(value: int, size: int = 2) -> bytes:
    return value.to_bytes(size, "big")
