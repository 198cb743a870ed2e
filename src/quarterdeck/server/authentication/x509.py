"""Client certificates that TLS has verified.

TLS verifies a certificate once, when the connection is opened, and a connection may be kept longer
than the certificate is valid. So its end is checked for each request, as in Kubernetes.
"""

import functools
import hashlib
from datetime import datetime

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.authentication.certificate import (
    CertificateError,
    parse_subject,
    parse_validity,
)
from quarterdeck.server.authentication.issuer import Authorities
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User

_CREDENTIAL = "authentication.kubernetes.io/credential-id"


class ClientCertificates:
    """Client certificates that TLS has verified: CN is the name, O are the groups."""

    def __init__(
        self, authorities: Authorities | None = None, *, clock: Clock | None = None
    ) -> None:
        """`authorities` are needed if TLS also accepts certificates of other authorities.

        Without a clock it is the time of TLS, not that of a server under test.
        """
        self._authorities = authorities
        self._clock = clock or SystemClock()

    def authenticate(self, request: http.Request) -> User | None:
        """Read the peer's certificate.

        Raises:
            Unauthorized: if it has expired since the connection was opened.
        """
        der = request.peer.certificate
        if der is None or (self._authorities and not self._authorities.has_issued(der)):
            return None
        check_not_expired(der, self._clock.now())
        return _build_user(der)


def check_not_expired(der: bytes, now: datetime) -> None:
    """Check the end of a client certificate.

    Raises:
        CredentialsRefused: if it has expired, or cannot be read.
    """
    ends = _read_end(der)
    if now > ends:
        raise CredentialsRefused(f"client certificate: expired at {format_time(ends)}")


@functools.lru_cache(maxsize=1024)
def _read_end(der: bytes) -> datetime:
    try:
        return parse_validity(der).ends
    except CertificateError as error:
        raise CredentialsRefused(f"client certificate: {error}") from error


@functools.lru_cache(maxsize=1024)
def _build_user(der: bytes) -> User:
    try:
        name, groups = parse_subject(der)
    except CertificateError as error:
        raise CredentialsRefused(f"client certificate: {error}") from error
    digest = hashlib.sha256(der).hexdigest()
    return User(
        name=name,
        groups=(*groups, AUTHENTICATED_GROUP),
        extra={_CREDENTIAL: (f"X509SHA256={digest}",)},
    )
