"""The serving certificate of an embedded server: from files, or created and renewed by us.

`context` stays the same object, so new connections get the new certificate and existing ones are
not disturbed. If the files do not fit together, the old certificate stays in use.
"""

import logging
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quarterdeck.app import certificates
from quarterdeck.app.certificates import Certificates
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.pem import replace_identity

POLL_S = 10.0
_log = logging.getLogger(__name__)


class ServingFiles(NamedTuple):
    """A certificate with its chain, and its key, in PEM."""

    certificate: Path
    key: Path


class ServingCertificate:
    """The TLS of a server's port."""

    def __init__(
        self,
        own: Certificates,
        files: ServingFiles | None,
        *,
        authorities: Sequence[Path] = (),
        clock: Clock,
    ) -> None:
        """Load the certificate; `authorities` are CAs of client certificates besides our own.

        Raises:
            ssl.SSLError: if a file is not what it should be.
            OSError: if a file cannot be read.
        """
        self._own = own
        self._given = files
        self._files = files or ServingFiles(own.certificate("server"), own.key("server"))
        self._clock = clock
        self.context = own.server_context(self._files, authorities=authorities)
        self._seen = _read_state(self._files)

    @property
    def trusted(self) -> bytes:
        """What clients must trust, in PEM: our authority, or the certificate that was given."""
        path = self._own.certificate("authority") if self._given is None else self._given[0]
        return path.read_bytes()

    async def run(self) -> None:
        """Renew and reload until cancelled."""
        while True:
            await self._clock.sleep(POLL_S)
            self.refresh()

    def refresh(self) -> bool:
        """Load a newer certificate if there is one; one that cannot be used is logged."""
        try:
            if self._given is None:
                certificates.renew(self._own, self._clock.now())
            state = _read_state(self._files)
            if state == self._seen:
                return False
            replace_identity(self.context, *self._files)
        except (OSError, ssl.SSLError) as error:
            _log.warning(
                "cannot load the new serving certificate; serving the old one",
                extra={"path": str(self._files.certificate), "reason": str(error)},
            )
            return False
        self._seen = state
        _log.info("serving a new certificate", extra={"path": str(self._files.certificate)})
        return True


def _read_state(files: ServingFiles) -> list[tuple[int, int, int]]:
    found = [path.stat() for path in files]
    return [(each.st_mtime_ns, each.st_size, each.st_ino) for each in found]
