"""Answers to requests that fail: one form for all, and no detail that helps an attacker."""

from quarterdeck.kit import http, json


class CallError(Exception):
    """Raised when a request is answered by an error; the texts are for the caller."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


ATTESTATION_FAILED = (401, "attestation_failed", "the attestation was refused")
LIMITED = (429, "too_many_requests", "too many requests; try again later")
BUSY = (503, "unavailable", "the service is busy; try again later")
FORBIDDEN = (403, "forbidden", "the machine is not allowed to do this")
UNAUTHENTICATED = (401, "unauthenticated", "a valid client certificate is required")


def respond_error(error: CallError, request_id: str) -> http.Response:
    """The uniform body."""
    body = {"code": error.code, "message": error.message, "requestId": request_id}
    headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    if error.status in (429, 503):
        headers.append(("Retry-After", "5"))
    return http.Response(error.status, headers, json.encode(body))
