"""The key that signs tokens: JSON Web Tokens with ES256 (RFC 7515, 7518), and nothing else.

The library behind it is loaded by the first token, not by the start of the server.
"""

import base64
import binascii
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quarterdeck.kit import json as kit_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_ALGORITHM = "ES256"
_NUMBER_BYTES = 32
_CACHED_TOKENS = 512
"""Verified tokens that are remembered: clients send the same one with every request."""


class InvalidToken(ValueError):
    """Raised when a token is none of ours, or was changed."""


class InvalidKey(ValueError):
    """Raised when the key's file cannot be used."""


class SigningKey:
    """A P-256 key, from a PEM file or generated for the life of the process."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._verify = functools.lru_cache(maxsize=_CACHED_TOKENS)(self._verify_now)

    def sign(self, claims: dict[str, Any]) -> str:
        """A token with these claims."""
        header = {"alg": _ALGORITHM, "kid": self.identifier}
        content = f"{_encode(kit_json.encode(header))}.{_encode(kit_json.encode(claims))}"
        return f"{content}.{_encode(self._sign(content.encode()))}"

    def verify(self, token: str) -> dict[str, Any]:
        """The claims of a token that this key signed.

        Raises:
            BadToken: otherwise, without saying more: who asks may be guessing.
        """
        return dict(self._verify(token))

    @functools.cached_property
    def identifier(self) -> str:
        """The key's name in headers and key sets: a digest of its public half."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        public = self._private.public_key()
        der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return _encode(hashlib.sha256(der).digest())

    def build_key_set(self) -> dict[str, Any]:
        """Build the public half as a JSON Web Key Set, for those who verify tokens themselves."""
        numbers = self._private.public_key().public_numbers()
        key = {
            "use": "sig",
            "kty": "EC",
            "kid": self.identifier,
            "crv": "P-256",
            "alg": _ALGORITHM,
            "x": _encode(numbers.x.to_bytes(_NUMBER_BYTES, "big")),
            "y": _encode(numbers.y.to_bytes(_NUMBER_BYTES, "big")),
        }
        return {"keys": [key]}

    @functools.cached_property
    def _private(self) -> "EllipticCurvePrivateKey":
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        if self._path is None:
            return ec.generate_private_key(ec.SECP256R1())
        try:
            key = load_pem_private_key(self._path.read_bytes(), password=None)
        except (OSError, ValueError) as error:
            raise InvalidKey(f"cannot use the token key {self._path.name}: {error}") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
            raise InvalidKey(f"cannot use the token key {self._path.name}: not a P-256 private key")
        return key

    def _sign(self, content: bytes) -> bytes:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        r, s = decode_dss_signature(self._private.sign(content, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(_NUMBER_BYTES, "big") + s.to_bytes(_NUMBER_BYTES, "big")

    def _verify_now(self, token: str) -> dict[str, Any]:
        content, _, signature = token.rpartition(".")
        header, _, claims = content.partition(".")
        try:
            said, found = kit_json.decode(_decode(header)), kit_json.decode(_decode(claims))
            raw = _decode(signature)
        except (ValueError, binascii.Error) as error:
            raise InvalidToken("not a token of this server") from error
        if not isinstance(said, dict) or said.get("alg") != _ALGORITHM:
            raise InvalidToken("not a token of this server")
        if said.get("kid") != self.identifier or not isinstance(found, dict):
            raise InvalidToken("not a token of this server")
        self._check_signature(content.encode(), raw)
        return found

    def _check_signature(self, content: bytes, raw: bytes) -> None:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

        if len(raw) != 2 * _NUMBER_BYTES:
            raise InvalidToken("not a token of this server")
        r, s = (int.from_bytes(part, "big") for part in (raw[:_NUMBER_BYTES], raw[_NUMBER_BYTES:]))
        try:
            signature = encode_dss_signature(r, s)
            self._private.public_key().verify(signature, content, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature as error:
            raise InvalidToken("invalid token signature") from error


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    if not text.isascii() or "=" in text:
        raise ValueError("invalid base64url")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
