"""Keys of signed tokens: in PEM, and as JSON Web Keys (RFC 7517, 7518).

Only RSA and elliptic-curve keys are supported, each with the algorithms of its type.
`cryptography` is loaded by the first key, not by the import of this module.
"""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import base64url

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

    PublicKey = RSAPublicKey | EllipticCurvePublicKey
    PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
CURVES = {
    "secp256r1": ("ES256", "P-256", 32),
    "secp384r1": ("ES384", "P-384", 48),
    "secp521r1": ("ES512", "P-521", 66),
}
"""By the name of a curve: its algorithm, its name in keys, and the bytes of a number on it."""
_MIN_RSA_BITS = 2048


class InvalidKey(ValueError):
    """Raised when a key cannot be used for signatures."""


class VerificationKey(NamedTuple):
    """A public key and its name."""

    key_id: str
    key: "PublicKey"
    algorithms: tuple[str, ...]
    """The algorithms this key may be used with."""


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
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in CURVES:
        return (CURVES[key.curve.name][0],)
    raise InvalidKey("expected an RSA key, or an EC key on P-256, P-384 or P-521")


def compute_key_id(key: "PublicKey") -> str:
    """The key ID: the SHA-256 digest of the public key in DER."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64url.encode(hashlib.sha256(der).digest())


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
        _, curve, size = CURVES[public.curve.name]
        point = public.public_numbers()
        x, y = (base64url.encode(each.to_bytes(size, "big")) for each in (point.x, point.y))
        return {**common, "kty": "EC", "crv": curve, "x": x, "y": y}
    numbers = public.public_numbers()
    return {**common, "kty": "RSA", "n": _encode_number(numbers.n), "e": _encode_number(numbers.e)}


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


def _encode_number(number: int) -> str:
    return base64url.encode(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _decode_number(text: str) -> int:
    return int.from_bytes(base64url.decode(text), "big")
