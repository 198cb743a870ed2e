"""Credentials in requests to the plain port.

The port uses the credentials of its process. A client that sends its own credentials expects to act
with those, so they are passed to the API server or refused, never ignored.
"""

from quarterdeck.kit.http import Request
from quarterdeck.wire.status import Forbidden

_AUTHORIZATION = "authorization"
_IMPERSONATION = "impersonate-"


def has_credentials(request: Request) -> bool:
    """Whether a request has credentials."""
    return bool(_find(request))


def build_forbidden(request: Request) -> Forbidden:
    """Build the 403 that names the headers and the fix."""
    names = ", ".join(_find(request))
    return Forbidden(
        f"this port uses the credentials of its own process and accepts no others ({names}): "
        "remove these headers, or send the request to the API server"
    )


def _find(request: Request) -> list[str]:
    return sorted(
        {
            name.title()
            for name in request.headers
            if name == _AUTHORIZATION or name.startswith(_IMPERSONATION)
        }
    )
