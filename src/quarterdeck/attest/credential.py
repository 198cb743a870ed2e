"""MakeCredential: a secret that only the TPM with a given endorsement key can open, and only for a
given attestation key.

TPM 2.0 Library, part 1, section 24. Opening it proves that both keys live in the same TPM.
"""

import hashlib
import hmac
import secrets

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from quarterdeck.attest.errors import UntrustedKey
from quarterdeck.attest.public_area import PublicArea
from quarterdeck.attest.reader import write_sized

try:  # newer releases keep this mode apart, because it authenticates nothing; the HMAC below does
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
except ImportError:  # pragma: no cover
    from cryptography.hazmat.primitives.ciphers.modes import CFB

_LABEL = b"IDENTITY\0"
_HASHES: dict[str, type[hashes.HashAlgorithm]] = {
    "sha256": hashes.SHA256,
    "sha384": hashes.SHA384,
    "sha512": hashes.SHA512,
}


class Credential(msgspec.Struct, frozen=True):
    """A challenge for a machine; TPM2B contents without their outer lengths."""

    blob: bytes
    """TPMS_ID_OBJECT: what ActivateCredential takes as credentialBlob."""
    encrypted_secret: bytes
    """What ActivateCredential takes as secret."""

    def to_tool_file(self) -> bytes:
        """The file format of tpm2-tools."""
        head = (0xBADCC0DE).to_bytes(4, "big") + (1).to_bytes(4, "big")
        return head + write_sized(self.blob) + write_sized(self.encrypted_secret)


def make_credential(endorsement: PublicArea, name: bytes, secret: bytes) -> Credential:
    """Wrap a secret for the TPM of an endorsement key and the key of a name.

    Raises:
        UntrustedKey: if the endorsement key cannot protect a secret.
    """
    if not endorsement.symmetric_bits:
        raise UntrustedKey("the endorsement key has no symmetric cipher; expected a storage key")
    hash_name = endorsement.hash_name
    size = hashlib.new(hash_name).digest_size
    seed, encrypted = _share_seed(endorsement, size)
    storage_key = derive_key(
        hash_name, seed, label=b"STORAGE", context=name, bits=endorsement.symmetric_bits
    )
    cipher = Cipher(algorithms.AES(storage_key), CFB(bytes(16))).encryptor()
    identity = cipher.update(write_sized(secret)) + cipher.finalize()
    integrity_key = derive_key(hash_name, seed, label=b"INTEGRITY", context=b"", bits=size * 8)
    outer = hmac.new(integrity_key, identity + name, hash_name).digest()
    return Credential(write_sized(outer) + identity, encrypted)


def derive_key(hash_name: str, key: bytes, *, label: bytes, context: bytes, bits: int) -> bytes:
    """KDFa: key derivation by HMAC in counter mode."""
    output = b""
    for counter in range(1, bits // (hashlib.new(hash_name).digest_size * 8) + 2):
        message = counter.to_bytes(4, "big") + label + b"\0" + context + bits.to_bytes(4, "big")
        output += hmac.new(key, message, hash_name).digest()
    return output[: bits // 8]


def _share_seed(endorsement: PublicArea, size: int) -> tuple[bytes, bytes]:
    """A seed, and its form that only the endorsement key can read."""
    algorithm = _HASHES[endorsement.hash_name]()
    if isinstance(endorsement.key, rsa.RSAPublicKey):
        seed = secrets.token_bytes(size)
        scheme = padding.OAEP(padding.MGF1(algorithm), algorithm, _LABEL)
        return seed, endorsement.key.encrypt(seed, scheme)
    ephemeral = ec.generate_private_key(endorsement.key.curve)
    shared = ephemeral.exchange(ec.ECDH(), endorsement.key)
    numbers = ephemeral.public_key().public_numbers()
    width = (endorsement.key.curve.key_size + 7) // 8
    x, y = numbers.x.to_bytes(width, "big"), numbers.y.to_bytes(width, "big")
    other = endorsement.key.public_numbers().x.to_bytes(width, "big")
    seed = _derive_shared(endorsement.hash_name, shared, party_u=x, party_v=other, size=size)
    return seed, write_sized(x) + write_sized(y)


def _derive_shared(
    hash_name: str, shared: bytes, *, party_u: bytes, party_v: bytes, size: int
) -> bytes:
    """KDFe: key derivation from a shared point."""
    message = (1).to_bytes(4, "big") + shared + _LABEL + party_u + party_v
    return hashlib.new(hash_name, message).digest()[:size]
