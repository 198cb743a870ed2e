"""The settings in the seed of a machine: where and how to attest, and which CA to trust."""

import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METHODS = ("join-token", "tpm", "tpm+token")
RUNNER_METHOD = "runner-token"


class SettingsError(Exception):
    """Raised when the file cannot be used; the message names member and cause, never a secret."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The file that the operator puts into the seed."""

    url: str
    trust_bundle: str
    method: str
    claim_uid: str
    token: str = ""
    tpm_device: str = ""

    def __repr__(self) -> str:
        return f"Settings(url={self.url!r}, method={self.method!r}, claim_uid={self.claim_uid!r})"


def load_settings(path: Path) -> Settings:
    """Read the file.

    Raises:
        SettingsError: if a member is missing or invalid.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read {path}: {error}") from error
    if not isinstance(document, dict):
        raise SettingsError(f"{path}: expected an object")
    method = _read(document, "method", path)
    if method not in METHODS:
        text = f"{path}: method {method!r} is unknown; choose one of {', '.join(METHODS)}"
        raise SettingsError(text)
    url = _read(document, "url", path)
    if not url.startswith("https://"):
        raise SettingsError(f"{path}: url {url!r} does not start with https://")
    claim = document.get("claim")
    return Settings(
        url=url.rstrip("/"),
        trust_bundle=_read_bundle(document, path),
        method=method,
        claim_uid=str(claim.get("uid", "")) if isinstance(claim, dict) else "",
        token=str(document.get("token", "")),
        tpm_device=str(document.get("tpmDevice", "")),
    )


def read_runner_file(path: Path) -> dict[str, Any] | None:
    """Read a file that describes a runner without a bootstrap service; None if it does not.

    Raises:
        SettingsError: if it can be read by others, because it holds a token.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # `load_settings` reports the error
    if not isinstance(document, dict) or document.get("method") != RUNNER_METHOD:
        return None
    if path.stat().st_mode & 0o077:
        raise SettingsError(f"{path} is readable by other users; run chmod 600 {path}")
    return document


def remove_token(path: Path) -> None:
    """Overwrite the file without the token, after it was used."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if document.pop("token", None) is None:
        return
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b" " * size)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        file.write(json.dumps(document).encode())
        file.truncate()
        os.fsync(file.fileno())


def _read_bundle(document: dict[str, Any], path: Path) -> str:
    """Read and check the trusted certificates, without which every call would fail."""
    bundle = _read(document, "trustBundle", path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=bundle)
    except (ssl.SSLError, ValueError) as error:
        text = f"{path}: trustBundle has no PEM certificates ({error})"
        raise SettingsError(text) from error
    return bundle


def _read(document: dict[str, Any], name: str, path: Path) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{path}: {name} is missing")
    return value
