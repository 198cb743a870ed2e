"""Credentials in requests to the plain port.

The port acts with rights of its own. Whoever sends credentials means to act with others, so they
are honoured by the API server or refused here, and never ignored.
"""

from quarterdeck.kit.http import Request
from quarterdeck.wire.status import Forbidden

_AUTHORIZATION = "authorization"
_IMPERSONATION = "impersonate-"


def are_given(request: Request) -> bool:
    """Whether a request says who it is from."""
    return bool(_find(request))


def build_refusal(request: Request) -> Forbidden:
    """The 403 that names the headers and says what to do."""
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
