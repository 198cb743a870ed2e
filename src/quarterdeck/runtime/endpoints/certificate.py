"""The certificate of an endpoint: files that are reloaded when they change, or self-signed.

Files of a mounted certificate are replaced from time to time; later connections get the new one,
and if certificate and key do not match, the old pair stays in use. Without files a self-signed
certificate is generated: it encrypts tokens in transit, but does not prove the identity of the
server. Before it expires the next one is generated and published, and served only an hour later, so
that an API server that calls webhooks never receives a certificate that it does not trust yet.
"""

import socket
import ssl
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from quarterdeck.kit.clock import Clock
from quarterdeck.kit.pem import load_identity, replace_identity
from quarterdeck.runtime.endpoints.rotation import Rotation, plan_rotation
from quarterdeck.runtime.observability.logging import Logger

POLL_S = 10.0


class CertificateFiles(NamedTuple):
    """Where a certificate (with its chain) and its key are, in PEM."""

    certificate: Path
    key: Path

    @classmethod
    def within(cls, folder: Path) -> "CertificateFiles":
        """The two files of a mounted TLS secret."""
        return cls(folder / "tls.crt", folder / "tls.key")


class CertificateError(Exception):
    """Raised when a page has no usable certificate; names the files."""


class EndpointCertificate:
    """The certificate of one page; `context` is the same object after each renewal."""

    def __init__(
        self,
        files: CertificateFiles | None,
        *,
        clock: Clock,
        log: Logger,
        hosts: Sequence[str] = (),
    ) -> None:
        """Load the certificate, or generate one for this host and the names in `hosts`.

        Raises:
            CertificateError: if files were named and cannot be used.
        """
        self._files = files
        self._hosts = _list_hosts(hosts)
        self._clock = clock
        self._log = log
        self._seen: object = None
        self._rotation: Rotation | None = None
        self.context = build_context()
        self.refresh()

    @property
    def ca_bundle(self) -> bytes:
        """The self-signed certificates in PEM that clients must trust: the one that is served, and
        the previous or next one; empty if files were given.
        """
        return self._rotation.authority if self._rotation is not None else b""

    async def run(self) -> None:
        """Reload the certificate when it has changed, until cancelled."""
        while True:
            await self._clock.sleep(POLL_S)
            try:
                if self.refresh():
                    self._log.info("serving a new certificate")
            except CertificateError as problem:
                self._log.warning(
                    "cannot load the new certificate; serving the old one", reason=str(problem)
                )

    def refresh(self) -> bool:
        """Load a newer certificate if there is one.

        Raises:
            CertificateError: if it cannot be used; the old one stays in use.
        """
        if self._files is not None:
            return self._reload(self._files)
        return self._renew(self._clock.now())

    def _renew(self, now: datetime) -> bool:
        """Generate the next certificate, or serve it once it was published for an hour."""
        planned = plan_rotation(self._rotation, now=now, hosts=self._hosts)
        if planned is None:
            return False
        before, self._rotation = self._rotation, planned
        if before is not None and before.current == planned.current:
            return False
        load_identity(self.context, *planned.current)
        return True

    def _reload(self, files: CertificateFiles) -> bool:
        try:
            state = tuple(_read_file_state(path) for path in files)
            if state == self._seen:
                return False
            replace_identity(self.context, *files)
        except ssl.SSLError as error:
            raise CertificateError(
                f"cannot load {files.certificate} and {files.key}: "
                "expected a certificate and its private key in PEM"
            ) from error
        except OSError as error:
            name = error.filename or files.certificate
            raise CertificateError(f"cannot read {name}: {error.strerror}") from error
        self._seen = state
        return True


def build_context() -> ssl.SSLContext:
    """A TLS context for a server, without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def generate_self_signed(now: datetime, hosts: Sequence[str] = ()) -> tuple[bytes, bytes]:
    """A certificate of this host signed by itself, and its key, both in PEM."""
    made = plan_rotation(None, now=now, hosts=_list_hosts(hosts))
    assert made is not None
    return made.current


def _list_hosts(more: Sequence[str]) -> tuple[str, ...]:
    names = ("localhost", socket.gethostname(), "127.0.0.1", "::1", *more)
    return tuple(dict.fromkeys(names))


def _read_file_state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino
