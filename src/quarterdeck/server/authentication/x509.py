"""Client certificates that TLS has verified."""

import functools
import hashlib

from quarterdeck.kit import http
from quarterdeck.server.authentication.certificate import CertificateError, parse_subject
from quarterdeck.server.authentication.issuer import Authorities
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User

_CREDENTIAL = "authentication.kubernetes.io/credential-id"


class ClientCertificates:
    """Client certificates that TLS has verified: CN is the name, O are the groups."""

    def __init__(self, authorities: Authorities | None = None) -> None:
        """`authorities` are needed if TLS also accepts certificates of other authorities."""
        self._authorities = authorities

    def authenticate(self, request: http.Request) -> User | None:
        """Read the peer's certificate."""
        der = request.peer.certificate
        if der is None or (self._authorities and not self._authorities.has_issued(der)):
            return None
        return _build_user(der)


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
