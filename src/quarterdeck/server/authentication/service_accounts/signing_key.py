"""The keys of service account tokens: one key signs tokens, all keys verify them.

The cryptography library is loaded with the first token, not when the server starts.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quarterdeck.kit import jwk, jws
from quarterdeck.kit.jwk import InvalidKey
from quarterdeck.kit.jws import InvalidToken

if TYPE_CHECKING:
    from quarterdeck.kit.jwk import PrivateKey, VerificationKey

_Key = TypeVar("_Key")

__all__ = ["InvalidKey", "InvalidToken", "SigningKey"]

_CACHED_TOKENS = 512
"""Verified tokens that are cached: clients send the same token with every request."""


class SigningKey:
    """A key from a PEM file, or a P-256 key generated for the life of the process.

    `others` are files of further keys whose tokens are accepted, such as earlier signing keys.
    """

    def __init__(self, path: Path | None = None, *, others: Sequence[Path] = ()) -> None:
        self._path = path
        self._others = tuple(others)
        self._verify = functools.lru_cache(maxsize=_CACHED_TOKENS)(self._verify_now)

    def sign(self, claims: dict[str, Any]) -> str:
        """Return a signed token with these claims."""
        return jws.sign(claims, self._private, key_id=self.identifier)

    def verify(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that one of the keys signed.

        Raises:
            InvalidToken: if the token is invalid or was not signed by one of the keys.
        """
        return dict(self._verify(token))

    @property
    def identifier(self) -> str:
        """The key's name in headers and key sets: a digest of its public half."""
        return self._keys[0].key_id

    @property
    def algorithms(self) -> list[str]:
        """The algorithms that tokens are signed with."""
        return sorted({each.algorithms[0] for each in self._keys})

    def build_key_set(self) -> dict[str, Any]:
        """Build a JSON Web Key Set of the public keys, with which others can verify tokens."""
        return {"keys": [jwk.build_jwk(each) for each in self._keys]}

    @functools.cached_property
    def _private(self) -> "PrivateKey":
        if self._path is None:
            from quarterdeck.kit.certificate import generate_key

            return generate_key()
        return _load(self._path, jwk.parse_private_key)

    @functools.cached_property
    def _keys(self) -> "list[VerificationKey]":
        """The public keys; that of the signing key is first."""
        public = self._private.public_key()
        own = jwk.VerificationKey(jwk.compute_key_id(public), public, jwk.list_algorithms(public))
        others = [_load(path, jwk.parse_public_key) for path in self._others]
        return [own, *(each for each in others if each.key_id != own.key_id)]

    def _verify_now(self, token: str) -> dict[str, Any]:
        found = jws.parse_token(token)
        if not any(found.key_id == each.key_id for each in self._keys):
            raise InvalidToken("the token was not signed by this server")
        return dict(jws.verify(found, self._keys))


def _load(path: Path, parse: Callable[[bytes], _Key]) -> _Key:
    try:
        return parse(path.read_bytes())
    except (OSError, InvalidKey) as error:
        raise InvalidKey(f"cannot use the token key {path.name}: {error}") from error
