"""Errors of requests, with the HTTP status of the response.

HubApiError
├── BadRequest        400  a parameter is missing, wrong or out of its limits
├── Unauthenticated   401  no credentials, or invalid ones
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
    """Raised when a request is not authenticated."""

    status = 401


class AccessDenied(HubApiError):
    """Raised when the policies do not allow what was asked."""

    status = 403


class NotFound(HubApiError):
    """Raised when an object does not exist."""

    status = 404


class BackendFailed(HubApiError):
    """Raised when the history does not answer."""

    status = 502


class Unavailable(HubApiError):
    """Raised when the store or the API server does not answer."""

    status = 503


def deny_cluster(name: str) -> AccessDenied:
    """Build the error for a hidden cluster; it is the same whether the cluster exists or not."""
    return AccessDenied(f"Access denied to cluster '{name}'")
