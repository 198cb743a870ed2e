"""TLS of the service: a certificate of the authority; client certificates are optional.

Machines trust the root in their seed, so they refuse a rogue service. The
context stays the same object when the certificate is renewed.
"""

import ssl
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from quarterdeck.client.errors import ClientError
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate, load_certificate
from quarterdeck.kit.clock import Clock
from quarterdeck.services.bootstrap.authority import AuthorityState, build_bundle
from quarterdeck.services.bootstrap.issuer import Issuer
from quarterdeck.services.bootstrap.ports import WriteConflict
from quarterdeck.wire.status import ApiError

_LIFETIME = timedelta(hours=24)
_CHECK_INTERVAL_S = 600.0


class ServingTls:
    """The TLS context of the listener, with a certificate that is renewed."""

    def __init__(self, issuer: Issuer, hosts: Sequence[str], *, clock: Clock) -> None:
        self._issuer = issuer
        self._hosts = tuple(hosts)
        self._clock = clock
        self._signer = b""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.set_alpn_protocols(["http/1.1"])

    async def refresh(self) -> bool:
        """Load a new certificate if the authority was rotated; returns whether it was."""
        state = await self._issuer.open_authority()
        if state.current.certificate == self._signer:
            return False
        if not self._signer:
            self.context.load_verify_locations(cadata=b"".join(build_bundle(state)).decode())
        self._load(state)
        self._signer = state.current.certificate
        return True

    async def run(self) -> None:
        """Renew until cancelled; a failed renewal is tried again long before the expiry."""
        while True:
            await self._clock.sleep(_CHECK_INTERVAL_S)
            try:
                await self.refresh()
            except (ApiError, ClientError, WriteConflict, OSError):
                continue  # OSError: no room for the files that the certificate is loaded from

    def _load(self, state: AuthorityState) -> None:
        issuer = load_certificate(state.current.certificate, state.current.key)
        request = CertificateRequest("hyperfleet-bootstrap", _LIFETIME, self._hosts)
        own = issue_certificate(request, now=self._clock.now(), issuer=issuer)
        with tempfile.TemporaryDirectory(prefix="quarterdeck-") as folder:  # for the owner only
            chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
            chain.write_bytes(own.encode_certificate() + state.current.certificate)
            key.write_bytes(own.encode_key())
            self.context.load_cert_chain(chain, key)
