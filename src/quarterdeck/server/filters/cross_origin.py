"""Refuses requests of web pages to the plain port, which needs no credentials."""

from quarterdeck.kit import http
from quarterdeck.kit.http.cross_site import find_cross_site_header
from quarterdeck.wire.status import Forbidden


def check_same_origin(request: http.Request) -> None:
    """Refuse a request that a web page of another origin sends.

    Raises:
        Forbidden: naming the header that shows the origin.
    """
    header = find_cross_site_header(request)
    if header.startswith("Host "):
        raise Forbidden(f"the plain HTTP port only accepts loopback host names, not {header}")
    if header:
        raise Forbidden(f"the plain HTTP port refuses requests from other sites ({header})")
