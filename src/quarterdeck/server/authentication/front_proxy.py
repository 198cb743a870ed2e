"""Users that a proxy in front of the server has authenticated: the `X-Remote-*` headers.

The headers mean something only on a connection whose client certificate the proxy's own authority
has issued. From other clients they are ignored.
"""

from collections.abc import Sequence
from urllib.parse import unquote

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.server.authentication.certificate import CertificateError, parse_subject
from quarterdeck.server.authentication.issuer import Authorities
from quarterdeck.server.authentication.refusal import CredentialsRefused
from quarterdeck.server.authentication.user import AUTHENTICATED_GROUP, User
from quarterdeck.server.authentication.x509 import check_not_expired

_USER, _UID, _GROUP = "x-remote-user", "x-remote-uid", "x-remote-group"
_EXTRA = "x-remote-extra-"


class FrontProxy:
    """Takes the user from headers, on connections of the proxy only."""

    def __init__(
        self,
        authorities: Authorities,
        allowed_names: Sequence[str] = (),
        *,
        clock: Clock | None = None,
    ) -> None:
        """`allowed_names` are the common names of proxies; empty for every one."""
        self._authorities = authorities
        self._clock = clock or SystemClock()
        self._allowed_names = frozenset(allowed_names)

    def authenticate(self, request: http.Request) -> User | None:
        """The user that the proxy names; None on other connections, or without a name.

        Raises:
            Unauthorized: if the proxy is not allowed, or its certificate has expired.
        """
        name, der = request.headers.get(_USER), request.peer.certificate
        if not name or der is None or not self._authorities.has_issued(der):
            return None
        check_not_expired(der, self._clock.now())
        if self._allowed_names and _read_common_name(der) not in self._allowed_names:
            raise CredentialsRefused(
                "the common name of the front proxy's certificate is not allowed"
            )
        groups = tuple(request.headers.get_all(_GROUP))
        extra = {
            unquote(header.removeprefix(_EXTRA)): tuple(request.headers.get_all(header))
            for header, _ in request.headers.items()
            if header.startswith(_EXTRA)
        }
        if AUTHENTICATED_GROUP not in groups:
            groups = (*groups, AUTHENTICATED_GROUP)
        uid = request.headers.get(_UID) or ""
        return User(name=name, uid=uid, groups=groups, extra=extra)


def _read_common_name(der: bytes) -> str:
    try:
        return parse_subject(der).common_name
    except CertificateError as error:
        raise CredentialsRefused(f"client certificate: {error}") from error
