"""The certificates of one server: of its own CA, of the server, and of the administrator.

They are created once and stored beside the data; only the owner can read the keys. The library is
loaded only to create something, because loading it takes longer than to start the whole server.
"""

import base64
import ssl
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from quarterdeck.app.errors import StartError
from quarterdeck.kit.certificate import (
    Certificate,
    CertificateRequest,
    encode_key,
    generate_key,
    issue_certificate,
    load_certificate,
)
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.server.authentication.certificate import CertificateError, parse_validity

_NAMES = ("authority", "server", "administrator")
_AUTHORITY_LIFE = timedelta(days=3650)
_LIFE = timedelta(days=365)
"""Lifetime of the server's certificate, which is renewed after two thirds of it."""
_HOSTS = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    "127.0.0.1",
    "::1",
)
_REQUESTS = {
    "server": CertificateRequest("quarterdeck", _LIFE, _HOSTS),
    "administrator": CertificateRequest(
        "kubernetes-admin", _AUTHORITY_LIFE, organization="system:masters"
    ),
}
RENEWED = tuple(_REQUESTS)
"""The certificates that every start renews before they end."""


class Certificates(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a server's certificates and keys."""

    folder: Path

    def certificate(self, name: str) -> Path:
        """The certificate of `authority`, `server` or `administrator`."""
        return self.folder / f"{name}.crt"

    def key(self, name: str) -> Path:
        """The private key of `authority`, `server` or `administrator`."""
        return self.folder / f"{name}.key"

    @property
    def signing_key(self) -> Path:
        """The key that signs the tokens of service accounts; it has no certificate."""
        return self.key("service-accounts")

    def encoded(self, path: Path) -> str:
        """The content of a file in base64, for a kubeconfig."""
        return base64.b64encode(path.read_bytes()).decode()

    def server_context(
        self, files: tuple[Path, Path] | None = None, *, authorities: Sequence[Path] = ()
    ) -> ssl.SSLContext:
        """Build the TLS context of the listener, which accepts client certificates of our CA.

        `files` are another serving certificate and its key, `authorities` more CAs of clients.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(*(files or (self.certificate("server"), self.key("server"))))
        for path in (self.certificate("authority"), *authorities):
            context.load_verify_locations(path)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context


def ensure(folder: Path, now: datetime) -> Certificates:
    """The certificates in a folder, made now if there are none.

    Raises:
        StartError: if a part of the authority is missing; clients would not trust a new one.
    """
    found = Certificates(folder=folder)
    if not any(found.certificate(name).is_file() for name in _NAMES):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(found, now)
    for path in (found.certificate("authority"), found.key("authority")):
        if not path.is_file():
            raise StartError(
                f"{path} is missing, but certificates of that authority exist: restore it from a "
                f"backup, or move {folder} away to make a new authority, which no kubeconfig "
                "written before trusts"
            )
    renew(found, now)
    if not found.signing_key.is_file():
        make_key(found.signing_key)
    return found


def renew(target: Certificates, now: datetime) -> list[str]:
    """Issue what is missing or has less than a third of its life left; returns the names.

    The authority stays, so that clients who trust it need no change. Files that are not
    certificates are left alone: loading them reports the error.
    """
    due = [name for name in _REQUESTS if _is_missing(target, name)]
    due += [name for name in _REQUESTS if name not in due and _is_due(target, name, now)]
    if due:
        authority = load_certificate(
            target.certificate("authority").read_bytes(), target.key("authority").read_bytes()
        )
        for name in due:
            _store(target, name, issue_certificate(_REQUESTS[name], now=now, issuer=authority))
    return due


def _is_missing(target: Certificates, name: str) -> bool:
    return not (target.certificate(name).is_file() and target.key(name).is_file())


def _is_due(target: Certificates, name: str, now: datetime) -> bool:
    path = target.certificate(name)
    try:
        der = ssl.PEM_cert_to_DER_cert(path.read_text(encoding="ascii"))
        begins, ends = parse_validity(der)
    except (ValueError, CertificateError):
        return False
    return now > ends - (ends - begins) / 3


def make_key(path: Path) -> None:
    """Make a private key in a file that only its owner reads."""
    _write(path, encode_key(generate_key()), 0o600)


def _make(target: Certificates, now: datetime) -> None:
    authority = issue_certificate(
        CertificateRequest("quarterdeck-ca", _AUTHORITY_LIFE, is_authority=True), now=now
    )
    _store(target, "authority", authority)
    for name, request in _REQUESTS.items():
        _store(target, name, issue_certificate(request, now=now, issuer=authority))


def _store(target: Certificates, name: str, issued: Certificate) -> None:
    _write(target.key(name), issued.encode_key(), 0o600)
    _write(target.certificate(name), issued.encode_certificate(), 0o644)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write a file atomically: the next start would use a partial key as a whole one."""
    write_private_file(path, data, mode=mode)
