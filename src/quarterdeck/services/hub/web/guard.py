"""Protects the dashboard against requests of other sites.

Three independent checks: the host name (against DNS rebinding on loopback), the origin (against
requests of other sites), and a token of the session that other sites cannot read (against CSRF).
"""

from quarterdeck.kit.http import Request
from quarterdeck.kit.http.cross_site import find_cross_site_header
from quarterdeck.services.hub.web.sessions import matches

CSRF_HEADER = "X-CSRF-Token"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = (None, "same-origin", "none")


def find_foreign_site(request: Request, *, is_loopback: bool) -> str:
    """The header that shows a cross-origin request; empty for same-origin ones.

    `is_loopback` says that the port listens on this machine only, under loopback names.
    """
    if is_loopback:
        return find_cross_site_header(request)
    site = request.headers.get("sec-fetch-site")
    if site not in _OWN_SITES:
        return f'Sec-Fetch-Site "{site}"'
    origin = request.headers.get("origin")
    if origin and origin.partition("://")[2] != request.headers.get("host"):
        return f'Origin "{origin}"'
    return ""


def is_navigation(request: Request) -> bool:
    """Whether a browser opens the page itself: links from other sites may do that."""
    mode = request.headers.get("sec-fetch-mode")
    return request.method in ("GET", "HEAD") and mode in (None, "navigate")


def is_missing_csrf_token(request: Request, csrf: str) -> bool:
    """Whether a request changes something without the token of its session."""
    if request.method in _SAFE:
        return False
    return not matches(request.headers.get(CSRF_HEADER), csrf)
