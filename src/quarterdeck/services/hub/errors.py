"""What can go wrong with a request, as the answer it becomes.

HubApiError
├── BadRequest        400  a parameter is missing, wrong or out of its limits
├── Unauthenticated   401  nobody, or somebody who cannot be verified
├── AccessDenied      403  the policies do not allow it
├── NotFound          404
├── BackendFailed     502  the history does not answer
└── Unavailable       503  the store does not answer
"""

from typing import ClassVar


class HubApiError(Exception):
    """Root of everything an endpoint raises; the message is shown to the caller."""

    status: ClassVar[int] = 500

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadRequest(HubApiError):
    """Raised when a parameter is missing, wrong or out of its limits."""

    status = 400


class Unauthenticated(HubApiError):
    """Raised when it is not known who asks."""

    status = 401


class AccessDenied(HubApiError):
    """Raised when the policies do not allow what was asked."""

    status = 403


class NotFound(HubApiError):
    """Raised when there is no such thing."""

    status = 404


class BackendFailed(HubApiError):
    """Raised when the history does not answer."""

    status = 502


class Unavailable(HubApiError):
    """Raised when the store or the API server does not answer."""

    status = 503


def deny_cluster(name: str) -> AccessDenied:
    """The refusal of a cluster; the same whether it exists or not."""
    return AccessDenied(f"Access denied to cluster '{name}'")
