"""Refuses requests of web pages to the plain port.

A browser lets any page send requests to loopback. The plain port needs no credentials, so requests
are refused that name another host (DNS rebinding) or come from a page of another origin.
"""

from quarterdeck.kit import http
from quarterdeck.wire.status import Forbidden

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", ""})


def check_same_origin(request: http.Request) -> None:
    """Refuse what only a web page would send.

    Raises:
        Forbidden: naming the header that gave it away.
    """
    host = request.headers.get("Host") or ""
    if _parse_host_name(host) not in _LOOPBACK:
        raise Forbidden(f'the plain HTTP port only accepts loopback host names, not Host "{host}"')
    site = request.headers.get("Sec-Fetch-Site")
    if site not in (None, "same-origin", "none"):
        raise Forbidden(
            f'the plain HTTP port refuses requests of other sites (Sec-Fetch-Site "{site}")'
        )
    origin = request.headers.get("Origin")
    if origin and origin.partition("://")[2] != host:
        raise Forbidden(f'the plain HTTP port refuses requests of other sites (Origin "{origin}")')


def _parse_host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
