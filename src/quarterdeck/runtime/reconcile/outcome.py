"""How a reconcile ended and what follows from it: the retry policy on one screen."""

from typing import NamedTuple, assert_never

from quarterdeck.client.errors import ClientError
from quarterdeck.kit.redaction import redact
from quarterdeck.runtime.reconcile.result import (
    Done,
    RequeueAfter,
    Result,
    Stalled,
    WaitFor,
    Waiting,
)
from quarterdeck.wire.status import ApiError, Conflict


class Outcome(NamedTuple):
    """What is reported and what happens next."""

    result: str
    """The `result` label of `controller_runtime_reconcile_total`."""
    kind: str
    """Shown by explain: done, requeue, wait, stalled, waiting, conflict, timeout, error."""
    reason: str = ""
    message: str = ""
    after_s: float | None = None
    """Come back after this long."""
    is_retry: bool = False
    """Come back after the limiter's delay."""
    priority: int | None = None
    wait: WaitFor | None = None

    @property
    def is_failure(self) -> bool:
        """Whether it counts as an error."""
        return self.result == "error"


_DONE = Outcome("success", "done")


def of_result(result: Result | None) -> Outcome:
    """The consequence of a reconcile that returned."""
    match result:
        case None | Done():
            return _DONE
        case RequeueAfter(seconds, priority):
            if seconds <= 0:
                raise ValueError(f"RequeueAfter needs a positive time, got {seconds}")
            return Outcome("requeue_after", "requeue", after_s=seconds, priority=priority)
        case WaitFor():
            return Outcome("requeue_after", "wait", after_s=result.timeout_s, wait=result)
        case _:
            assert_never(result)


def of_error(error: Exception, *, is_timeout: bool = False) -> Outcome:
    """The consequence of a reconcile that raised."""
    message = redact(str(error))
    match error:
        case Stalled():
            return Outcome("error", "stalled", error.reason, redact(error.message))
        case Waiting():
            reason, text = error.reason, redact(error.message)
            return Outcome("requeue_after", "waiting", reason, text, after_s=error.after_s)
        case TimeoutError() if is_timeout:
            text = "the reconcile took longer than its time limit"
            return Outcome("error", "timeout", "TimedOut", text, is_retry=True)
        case Conflict():
            return Outcome("error", "conflict", "Conflict", message, is_retry=True)
        case ApiError():
            reason = error.reason or "ApiError"
            after_s = float(error.retry_after_s) if error.retry_after_s else None
            return Outcome("error", "error", reason, message, after_s=after_s, is_retry=True)
        case ClientError():
            return Outcome("error", "error", "Unreachable", message, is_retry=True)
        case _:
            text = f"{type(error).__name__}: {message}"
            return Outcome("error", "error", "ReconcileFailed", text, is_retry=True)
