"""Reads the keys that encrypt objects on the disk: Kubernetes' EncryptionConfiguration."""

import base64
import binascii
from pathlib import Path
from typing import Any

from quarterdeck.app.errors import StartError
from quarterdeck.storage.encryption import Cipher, EncryptionKey

_API_VERSION = "apiserver.config.k8s.io/v1"
_SIZES = (16, 24, 32)


class ConfigurationError(ValueError):
    """Raised when the content of the file is invalid; the message contains no keys."""


def read_cipher(path: Path) -> Cipher:
    """Read the file of `--encryption-provider-config`.

    Raises:
        StartError: naming the file and what is wrong.
    """
    from quarterdeck.kit import yaml

    try:
        return parse_configuration(yaml.load(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StartError(f"cannot use {path} (--encryption-provider-config): {reason}") from error


def parse_configuration(document: Any) -> Cipher:
    """Parse an EncryptionConfiguration with the providers `aesgcm` and `identity`.

    Raises:
        ConfigurationError: naming the field.
    """
    if not isinstance(document, dict) or document.get("kind") != "EncryptionConfiguration":
        raise ConfigurationError("expected an object of kind EncryptionConfiguration")
    if document.get("apiVersion") != _API_VERSION:
        raise ConfigurationError(f"apiVersion must be {_API_VERSION}")
    sealing: dict[str, EncryptionKey | None] = {}
    keys: list[EncryptionKey] = []
    for index, entry in enumerate(document.get("resources") or ()):
        found = _parse_providers(entry.get("providers") or [], f"resources[{index}].providers")
        names = entry.get("resources") or []
        if not names or any("*" in name for name in names):
            raise ConfigurationError(f"resources[{index}].resources must name resources")
        keys += [key for key in found if key is not None]
        sealing |= {name: found[0] for name in names if name not in sealing}
    if not sealing:
        raise ConfigurationError("resources must have at least one entry")
    return Cipher(sealing, keys)


def _parse_providers(providers: list[Any], field: str) -> list[EncryptionKey | None]:
    """The keys in order; None means unencrypted."""
    found: list[EncryptionKey | None] = []
    for index, provider in enumerate(providers):
        match provider:
            case {"aesgcm": {"keys": list(keys)}}:
                found += [_parse_key(key, f"{field}[{index}].aesgcm.keys") for key in keys]
            case {"identity": _}:
                found.append(None)
            case _:
                raise ConfigurationError(
                    f"{field}[{index}]: expected aesgcm with keys, or identity"
                )
    if not found:
        raise ConfigurationError(f"{field} must have at least one provider")
    return found


def _parse_key(key: Any, field: str) -> EncryptionKey:
    name, secret = (key.get("name"), key.get("secret")) if isinstance(key, dict) else (None, None)
    if not isinstance(name, str) or not name or ":" in name:
        raise ConfigurationError(f"{field}: every key needs a name without a colon")
    try:
        raw = base64.b64decode(str(secret or ""), validate=True)
    except binascii.Error as error:
        raise ConfigurationError(f"{field}: the secret of {name!r} is not base64") from error
    if len(raw) not in _SIZES:
        raise ConfigurationError(
            f"{field}: the secret of {name!r} has {len(raw)} bytes; expected 16, 24 or 32"
        )
    return EncryptionKey(name, raw)
