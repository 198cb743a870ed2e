"""The certificates of one server: an authority of its own, the server's, the administrator's.

Made once and kept beside the data, keys readable by their owner only. The library for it is loaded
only when something has to be made, because it costs more start-up time than the whole server.
"""

import base64
import os
import ssl
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from quarterdeck.kit.certificate import (
    CertificateRequest,
    encode_key,
    generate_key,
    issue_certificate,
)

_NAMES = ("authority", "server", "administrator")
_LIFE = timedelta(days=3650)
_HOSTS = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """Where the certificates and keys of a server are."""

    folder: Path

    def certificate(self, name: str) -> Path:
        """The certificate of `authority`, `server` or `administrator`."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key of the same."""
        return self.folder / f"{name}.key"

    @property
    def signing_key(self) -> Path:
        """The key that signs the tokens of service accounts; it has no certificate."""
        return self.key("service-accounts")

    def encoded(self, path: Path) -> str:
        """A file as kubeconfigs embed it."""
        return base64.b64encode(path.read_bytes()).decode()

    def server_context(self) -> ssl.SSLContext:
        """TLS for the listener; client certificates of our authority are asked for."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate("server"), self.key("server"))
        context.load_verify_locations(self.certificate("authority"))
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context


def ensure(folder: Path, now: datetime) -> Certificates:
    """The certificates in a folder, made now if they are not all there."""
    found = Certificates(folder=folder)
    files = [path for name in _NAMES for path in (found.certificate(name), found.key(name))]
    if not all(path.is_file() for path in files):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(found, now)
    if not found.signing_key.is_file():
        make_key(found.signing_key)
    return found


def make_key(path: Path) -> None:
    """Make a private key in a file that only its owner reads."""
    _write(path, encode_key(generate_key()), 0o600)


def _make(target: Certificates, now: datetime) -> None:
    authority = issue_certificate(
        CertificateRequest("quarterdeck-ca", _LIFE, is_authority=True), now=now
    )
    server = CertificateRequest("quarterdeck", _LIFE, _HOSTS)
    administrator = CertificateRequest("kubernetes-admin", _LIFE, organization="system:masters")
    issued = {
        "authority": authority,
        "server": issue_certificate(server, now=now, issuer=authority),
        "administrator": issue_certificate(administrator, now=now, issuer=authority),
    }
    for name in _NAMES:
        _write(target.key(name), issued[name].encode_key(), 0o600)
        _write(target.certificate(name), issued[name].encode_certificate(), 0o644)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write whole or not at all: half a key would be taken for one at the next start."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    unfinished.replace(path)
