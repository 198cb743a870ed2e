"""Names and values of cookies.

Browsers share cookies between the ports of a host, so the name of a cookie holds the port.
"""

from quarterdeck.kit.http import Request

_HTTP_PORTS = ("", "80", "443")


def build_cookie_name(request: Request, name: str) -> str:
    """The name of a cookie on the port that a request was sent to."""
    port = (request.headers.get("host") or "").rpartition("]")[2].rpartition(":")[2]
    return name if port in _HTTP_PORTS or not port.isdigit() else f"{name}-{port}"


def read_cookie(request: Request, name: str) -> str:
    """The value of a cookie; empty without one."""
    wanted = build_cookie_name(request, name)
    for header in request.headers.get_all("cookie"):
        for pair in header.split(";"):
            key, _, value = pair.strip().partition("=")
            if key == wanted:
                return value
    return ""
