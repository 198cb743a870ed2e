"""Signed JSON Web Tokens (RFC 7515): sign and verify.

Only signatures by the keys of `kit.jwk` are supported: a token cannot choose `none` or a shared
secret, and a key accepts only the algorithms of its type.
"""

import binascii
import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import base64url
from quarterdeck.kit import json as kit_json
from quarterdeck.kit.jwk import CURVES, VerificationKey, list_algorithms

if TYPE_CHECKING:
    from quarterdeck.kit.jwk import PrivateKey, PublicKey

_MAX_TOKEN_CHARS = 64 * 1024


class InvalidToken(ValueError):
    """Raised when a token cannot be read, or its signature does not fit."""


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


def parse_token(text: str) -> Token:
    """Split a token without verifying it.

    Raises:
        InvalidToken: if it has another shape.
    """
    parts = text.split(".")
    if len(parts) != 3 or len(text) > _MAX_TOKEN_CHARS:
        raise InvalidToken("not a signed token")
    try:
        header, claims = (kit_json.decode(base64url.decode(each)) for each in parts[:2])
        signature = base64url.decode(parts[2])
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
    content = ".".join(base64url.encode(kit_json.encode(each)) for each in (header, dict(claims)))
    digest = _build_digest(algorithm)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        size = CURVES[key.curve.name][2]
        r, s = decode_dss_signature(key.sign(content.encode(), ec.ECDSA(digest)))
        signature = r.to_bytes(size, "big") + s.to_bytes(size, "big")
    else:
        signature = key.sign(content.encode(), padding.PKCS1v15(), digest)
    return f"{content}.{base64url.encode(signature)}"


def _is_signed_by(token: Token, key: "PublicKey") -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    digest = _build_digest(token.algorithm)
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            size = CURVES[key.curve.name][2]
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
