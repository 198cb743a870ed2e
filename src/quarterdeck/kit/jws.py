"""Signed JSON Web Tokens (RFC 7515, 7517, 7518): sign, verify, and key sets.

Only signatures by RSA and elliptic-curve keys exist here: `none` and keys shared by both sides
cannot be chosen, and a key accepts only the algorithms of its own type. `cryptography` is loaded
by the first key, not by the import of this module.
"""

import base64
import binascii
import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import json as kit_json

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

    PublicKey = RSAPublicKey | EllipticCurvePublicKey
    PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {"secp256r1": ("ES256", "P-256", 32), "secp384r1": ("ES384", "P-384", 48)}
_CURVES["secp521r1"] = ("ES512", "P-521", 66)
_MIN_RSA_BITS = 2048
_MAX_TOKEN_CHARS = 64 * 1024


class InvalidToken(ValueError):
    """Raised when a token cannot be read, or its signature does not fit."""


class InvalidKey(ValueError):
    """Raised when a key cannot be used for signatures."""


class Token(NamedTuple):
    """A token as it came; nothing in it is verified."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    content: bytes
    """What was signed."""
    signature: bytes

    @property
    def algorithm(self) -> str:
        """The algorithm that the header names."""
        return str(self.header.get("alg") or "")

    @property
    def key_id(self) -> str:
        """The key that the header names; empty for none."""
        return str(self.header.get("kid") or "")


class VerificationKey(NamedTuple):
    """A public key and its name."""

    key_id: str
    key: "PublicKey"
    algorithms: tuple[str, ...]
    """The algorithms this key may be used with."""


def parse_token(text: str) -> Token:
    """Split a token without verifying it.

    Raises:
        InvalidToken: if it has another shape.
    """
    parts = text.split(".")
    if len(parts) != 3 or len(text) > _MAX_TOKEN_CHARS:
        raise InvalidToken("not a signed token")
    try:
        header, claims = (kit_json.decode(decode_base64url(each)) for each in parts[:2])
        signature = decode_base64url(parts[2])
    except (ValueError, binascii.Error) as error:
        raise InvalidToken("not a signed token") from error
    if not isinstance(header, dict) or not isinstance(claims, dict) or "crit" in header:
        raise InvalidToken("not a signed token")
    return Token(header, claims, f"{parts[0]}.{parts[1]}".encode(), signature)


def verify(token: Token, keys: Iterable[VerificationKey]) -> Mapping[str, Any]:
    """The claims of a token that one of the keys signed.

    A token that names a key is checked against keys of that name only.

    Raises:
        InvalidToken: if none of them did.
    """
    for key in keys:
        if token.key_id and key.key_id and token.key_id != key.key_id:
            continue
        if token.algorithm in key.algorithms and _is_signed_by(token, key.key):
            return token.claims
    raise InvalidToken("the signature of the token does not match any known key")


def sign(claims: Mapping[str, Any], key: "PrivateKey", *, key_id: str) -> str:
    """A token with these claims, signed with the first algorithm of the key."""
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    algorithm = list_algorithms(key.public_key())[0]
    header = {"alg": algorithm, "kid": key_id}
    content = ".".join(encode_base64url(kit_json.encode(each)) for each in (header, dict(claims)))
    digest = _build_digest(algorithm)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        size = _CURVES[key.curve.name][2]
        r, s = decode_dss_signature(key.sign(content.encode(), ec.ECDSA(digest)))
        signature = r.to_bytes(size, "big") + s.to_bytes(size, "big")
    else:
        signature = key.sign(content.encode(), padding.PKCS1v15(), digest)
    return f"{content}.{encode_base64url(signature)}"


def list_algorithms(key: object) -> tuple[str, ...]:
    """The algorithms a public key can be used with.

    Raises:
        InvalidKey: for a key of another type, curve or size.
    """
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _MIN_RSA_BITS:
            raise InvalidKey(f"an RSA key of {key.key_size} bits is too short: use 2048 or more")
        return RSA_ALGORITHMS
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return (_CURVES[key.curve.name][0],)
    raise InvalidKey("expected an RSA key, or an EC key on P-256, P-384 or P-521")


def compute_key_id(key: "PublicKey") -> str:
    """The name of a key: a digest of it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encode_base64url(hashlib.sha256(der).digest())


def parse_private_key(pem: bytes) -> "PrivateKey":
    """A private key in PEM.

    Raises:
        InvalidKey: if it is not a private key, or of a type that cannot sign tokens.
    """
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as error:
        raise InvalidKey("not a private key in PEM") from error
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise InvalidKey("expected an RSA key, or an EC key on P-256, P-384 or P-521")
    list_algorithms(key.public_key())
    return key


def parse_public_key(pem: bytes) -> VerificationKey:
    """The public half of a key in PEM: a public key, a private key or a certificate.

    Raises:
        InvalidKey: if it cannot be parsed as one of them.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        if b"PRIVATE KEY" in pem:
            public: Any = parse_private_key(pem).public_key()
        elif b"CERTIFICATE" in pem:
            public = x509.load_pem_x509_certificate(pem).public_key()
        else:
            public = load_pem_public_key(pem)
    except ValueError as error:
        raise InvalidKey(f"not a public key in PEM: {error}") from error
    return VerificationKey(compute_key_id(public), public, list_algorithms(public))


def parse_key_set(document: object) -> list[VerificationKey]:
    """The usable keys of a JSON Web Key Set; keys of unknown types are left out.

    Raises:
        InvalidKey: if the document is not a key set.
    """
    if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
        raise InvalidKey("not a JSON Web Key Set")
    found = []
    for each in document["keys"]:
        try:
            found.append(_parse_jwk(each))
        except (InvalidKey, KeyError, TypeError, ValueError, AttributeError):
            continue
    return found


def build_jwk(key: VerificationKey) -> dict[str, Any]:
    """A public key as a JSON Web Key."""
    from cryptography.hazmat.primitives.asymmetric import ec

    common = {"use": "sig", "kid": key.key_id, "alg": key.algorithms[0]}
    public = key.key
    if isinstance(public, ec.EllipticCurvePublicKey):
        _, curve, size = _CURVES[public.curve.name]
        point = public.public_numbers()
        x, y = (encode_base64url(each.to_bytes(size, "big")) for each in (point.x, point.y))
        return {**common, "kty": "EC", "crv": curve, "x": x, "y": y}
    numbers = public.public_numbers()
    return {**common, "kty": "RSA", "n": _encode_number(numbers.n), "e": _encode_number(numbers.e)}


def encode_base64url(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """The bytes of base64 for URLs.

    Raises:
        ValueError: for other characters, or padding.
    """
    if not text.isascii() or "=" in text:
        raise ValueError("invalid base64url")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)


def _parse_jwk(jwk: Mapping[str, Any]) -> VerificationKey:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if jwk.get("use") not in (None, "sig"):
        raise InvalidKey("not a key for signatures")
    public: PublicKey
    if jwk["kty"] == "RSA":
        public = rsa.RSAPublicNumbers(
            _decode_number(jwk["e"]), _decode_number(jwk["n"])
        ).public_key()
    elif jwk["kty"] == "EC":
        curves: dict[str, ec.EllipticCurve] = {
            "P-256": ec.SECP256R1(),
            "P-384": ec.SECP384R1(),
            "P-521": ec.SECP521R1(),
        }
        numbers = ec.EllipticCurvePublicNumbers(
            _decode_number(jwk["x"]), _decode_number(jwk["y"]), curves[jwk["crv"]]
        )
        public = numbers.public_key()
    else:
        raise InvalidKey("not an RSA or EC key")
    allowed = list_algorithms(public)
    if (named := jwk.get("alg")) is not None:
        allowed = tuple(each for each in allowed if each == named)
    return VerificationKey(str(jwk.get("kid") or ""), public, allowed)


def _is_signed_by(token: Token, key: "PublicKey") -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    digest = _build_digest(token.algorithm)
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            size = _CURVES[key.curve.name][2]
            if len(token.signature) != 2 * size:
                return False
            halves = (token.signature[:size], token.signature[size:])
            r, s = (int.from_bytes(each, "big") for each in halves)
            key.verify(encode_dss_signature(r, s), token.content, ec.ECDSA(digest))
        elif token.algorithm.startswith("PS"):
            pss = padding.PSS(mgf=padding.MGF1(digest), salt_length=digest.digest_size)
            key.verify(token.signature, token.content, pss, digest)
        else:
            key.verify(token.signature, token.content, padding.PKCS1v15(), digest)
    except InvalidSignature:
        return False
    return True


@functools.cache
def _build_digest(algorithm: str) -> Any:
    from cryptography.hazmat.primitives import hashes

    return {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}[algorithm[2:]]


def _encode_number(number: int) -> str:
    return encode_base64url(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _decode_number(text: str) -> int:
    return int.from_bytes(decode_base64url(text), "big")
