"""Encryption of values on the disk: AES-GCM under named keys, rotated by adding a key in front.

In memory values are plain. A sealed value names its key and is bound to its place in the store, so
that it can neither be moved to another object nor changed. `cryptography` is loaded by the first
sealed value.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quarterdeck.storage.errors import OpenFailed
from quarterdeck.storage.types import StoreKey

MARK = b"k8s:enc:"
_PREFIX = MARK + b"aesgcm:v1:"
_NONCE_BYTES = 12


class EncryptionKey(NamedTuple):
    """A key and its name."""

    name: str
    secret: bytes
    """16, 24 or 32 bytes."""


class Cipher:
    """Encrypts (seals) the values of some resources before they are written to the disk.

    Each resource has at most one key for writes; all keys are used for reads. A resource without a
    key for writes is stored plain, and values that were sealed before can still be read.
    """

    def __init__(
        self, sealing: Mapping[str, EncryptionKey | None], keys: Sequence[EncryptionKey]
    ) -> None:
        """`sealing` maps a resource to the key for its writes; `keys` are all keys for reads.

        Two keys may have the same name, as each entry of an EncryptionConfiguration names its own.
        """
        self._sealing = dict(sealing)
        self._keys: dict[str, dict[bytes, EncryptionKey]] = {}
        for key in keys:
            self._keys.setdefault(key.name, {})[key.secret] = key
        self._ciphers: dict[bytes, Any] = {}

    @property
    def resources(self) -> list[str]:
        """The resources it is about."""
        return sorted(self._sealing)

    def encrypt(self, key: StoreKey, value: bytes) -> bytes:
        """The value as it is written."""
        sealing = self._sealing.get(key.resource)
        if sealing is None or not value:
            return value
        nonce = os.urandom(_NONCE_BYTES)
        sealed: bytes = self._get_cipher(sealing).encrypt(nonce, value, _bind(key))
        return _PREFIX + sealing.name.encode() + b":" + nonce + sealed

    def decrypt(self, key: StoreKey, value: bytes) -> bytes:
        """The value as it was given.

        Raises:
            OpenFailed: if its provider or key is not known, or it was changed.
        """
        if not value.startswith(MARK):
            return value
        if not value.startswith(_PREFIX):
            raise _build_foreign(key, value)
        name, rest = _split(value)
        known = self._keys.get(name)
        if known is None:
            raise build_unknown_key_error(key, name)
        for each in known.values():
            if (found := self._open(key, rest, each)) is not None:
                return found
        raise OpenFailed(
            f"cannot decrypt {_show(key)}: it was encrypted with another key than {name!r}, or the "
            "value was changed"
        )

    def is_current(self, key: StoreKey, value: bytes) -> bool:
        """Whether a stored value is sealed as a new one would be."""
        sealing = self._sealing.get(key.resource)
        if sealing is None or not value:
            return not value.startswith(MARK)
        if not value.startswith(_PREFIX + sealing.name.encode() + b":"):
            return False
        is_alone = len(self._keys.get(sealing.name, ())) <= 1
        return is_alone or self._open(key, _split(value)[1], sealing) is not None

    def _open(self, key: StoreKey, sealed: bytes, with_key: EncryptionKey) -> bytes | None:
        """The value of nonce and ciphertext; None if the key is another one."""
        from cryptography.exceptions import InvalidTag

        nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            found: bytes = self._get_cipher(with_key).decrypt(nonce, text, _bind(key))
        except InvalidTag:
            return None
        return found

    def _get_cipher(self, key: EncryptionKey) -> Any:
        if key.secret not in self._ciphers:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM

            self._ciphers[key.secret] = AESGCM(key.secret)
        return self._ciphers[key.secret]


def _split(value: bytes) -> tuple[str, bytes]:
    """The name of the key of a sealed value, and what comes after it."""
    name, _, rest = value.removeprefix(_PREFIX).partition(b":")
    return name.decode(errors="replace"), rest


def build_unknown_key_error(key: StoreKey, name: str) -> OpenFailed:
    """The error for a value whose key is not known."""
    return OpenFailed(
        f"cannot decrypt {_show(key)}: it was encrypted with the key {name!r}; add that key to the "
        "file of --encryption-provider-config"
    )


def _build_foreign(key: StoreKey, value: bytes) -> OpenFailed:
    provider = b":".join(value.removeprefix(MARK).split(b":")[:2]).decode(errors="replace")
    return OpenFailed(
        f"cannot decrypt {_show(key)}: it was encrypted by the provider {provider!r}, and only "
        "'aesgcm:v1' is supported; write it again without encryption by the server that has the key"
    )


def _bind(key: StoreKey) -> bytes:
    return f"{key.resource}/{key.namespace}/{key.name}".encode()


def _show(key: StoreKey) -> str:
    return "/".join(each for each in (key.resource, key.namespace, key.name) if each)
