"""Errors of fleet server calls, translated for the runtime: stall, wait or retry. Pure.

Decided by the Connect code alone: a proxy's 404 is not `not_found`.
"""

from quarterdeck.operators.pipelines.conditions import Reason
from quarterdeck.operators.pipelines.ports import CallFailed, Paused
from quarterdeck.runtime import Stalled, Waiting
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.wire.status import ServiceUnavailable

AUTH_RETRY_S = 300.0
"""Retry interval for rejected credentials; changed credentials are tried at once."""
PRECONDITION_RETRY_S = 600.0
RATE_RETRY_S = 10.0
_INVALID = (Code.INVALID_ARGUMENT, Code.OUT_OF_RANGE)
_AUTH = (Code.UNAUTHENTICATED, Code.PERMISSION_DENIED)


def to_reconcile_error(error: CallFailed | Paused) -> Exception:
    """What a reconcile raises for a failed call."""
    if isinstance(error, Paused):
        return Waiting(
            Reason.RATE_LIMITED, _describe_pause(error.left_s), after_s=error.left_s + 0.01
        )
    if error.code in _INVALID:
        return Stalled(Reason.VALIDATION_ERROR, error.message)
    if error.code in _AUTH:
        return Waiting(Reason.AUTH_FAILED, _describe_auth_failure(error), after_s=AUTH_RETRY_S)
    if error.code is Code.RESOURCE_EXHAUSTED:
        after_s = error.retry_after_s if error.retry_after_s is not None else RATE_RETRY_S
        return Waiting(Reason.RATE_LIMITED, _describe_pause(after_s), after_s=max(0.01, after_s))
    if error.code is Code.FAILED_PRECONDITION:
        return Waiting(Reason.SYNC_FAILED, str(error), after_s=PRECONDITION_RETRY_S)
    return to_unavailable(error)


def hide_message(error: CallFailed, origin: str) -> CallFailed:
    """The same error without the server's message, which may repeat contents of a Secret."""
    if not error.is_quoted:
        return error
    return CallFailed(
        error.code,
        f"the fleet server rejected the contents of {origin}; "
        "its message is hidden, because it may contain them",
        operation=error.operation,
        retry_after_s=error.retry_after_s,
    )


def to_unavailable(error: CallFailed) -> ServiceUnavailable:
    """An error that is retried with exponential backoff."""
    after_s = None if error.retry_after_s is None else max(1, round(error.retry_after_s))
    return ServiceUnavailable(str(error), retry_after_s=after_s)


def _describe_pause(seconds: float) -> str:
    return f"rate limited by the fleet server; next request in {seconds:.0f} s"


def _describe_auth_failure(error: CallFailed) -> str:
    if error.code is Code.UNAUTHENTICATED:
        return f"the fleet server rejected the credentials: {error.message}"
    return (
        f"the credentials do not allow {error.operation}: {error.message}; "
        "the token needs the scopes fleet-management:read and fleet-management:write"
    )
