"""Requests that a web page of another site made a browser send to this machine.

A browser lets any page send requests to loopback, and a host name of a page can be pointed there
later (DNS rebinding). Ports that trust every client refuse such requests.
"""

from quarterdeck.kit.http.message import Request

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", ""})


def find_cross_site_header(request: Request) -> str:
    """The header that shows a cross-site request, as `Name "value"`; empty for other requests."""
    host = request.headers.get("Host") or ""
    if _parse_host_name(host) not in _LOOPBACK:
        return f'Host "{host}"'
    site = request.headers.get("Sec-Fetch-Site")
    if site not in (None, "same-origin", "none"):
        return f'Sec-Fetch-Site "{site}"'
    origin = request.headers.get("Origin")
    if origin and origin.partition("://")[2] != host:
        return f'Origin "{origin}"'
    return ""


def _parse_host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
