"""How a reconcile ended and what follows from it: the retry policy on one screen.

Succeeded        not requeued; the next event enqueues it
Requeued         runs again after a time, which the reconciler chose
AwaitingObject   runs again when another object changes, or after a time-out
Deferred         runs again after a time, because something outside is not ready
StalledOutcome   runs again only when something changes: the user has to act
Conflicted, TimedOut, Failed
                 run again after the delay of the rate limiter
"""

from typing import ClassVar

import msgspec

from quarterdeck.client.errors import ClientError
from quarterdeck.kit.backoff import bound_retry_after
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


class _Ending(msgspec.Struct, frozen=True, gc=False):
    """The base of all outcomes."""

    NAME: ClassVar[str]
    """Shown by explain."""
    RESULT: ClassVar[str]
    """The label `result` of `controller_runtime_reconcile_total`."""

    @property
    def detail(self) -> str:
        """Reason and message for people; empty if there is nothing to say."""
        return ""


class _Explained(_Ending, frozen=True, gc=False):
    """An outcome with a reason for conditions and events, and a message for people."""

    reason: str
    message: str

    @property
    def detail(self) -> str:
        """Reason and message."""
        return f"{self.reason}: {self.message}"


class Succeeded(_Ending, frozen=True, gc=False):
    """The object is as desired."""

    NAME: ClassVar[str] = "done"
    RESULT: ClassVar[str] = "success"


class Requeued(_Ending, frozen=True, gc=False):
    """The reconciler asked to run again after a time."""

    NAME: ClassVar[str] = "requeue"
    RESULT: ClassVar[str] = "requeue_after"
    after_s: float
    priority: int | None = None


class AwaitingObject(_Ending, frozen=True, gc=False):
    """The reconciler asked to run again when another object changes."""

    NAME: ClassVar[str] = "wait for object"
    RESULT: ClassVar[str] = "requeue_after"
    wait: WaitFor


class Deferred(_Explained, frozen=True, gc=False):
    """Something outside is not ready yet."""

    NAME: ClassVar[str] = "waiting"
    RESULT: ClassVar[str] = "requeue_after"
    after_s: float


class StalledOutcome(_Explained, frozen=True, gc=False):
    """The user has to change something first."""

    NAME: ClassVar[str] = "stalled"
    RESULT: ClassVar[str] = "error"


class Conflicted(_Explained, frozen=True, gc=False):
    """A write met a newer version of its object."""

    NAME: ClassVar[str] = "conflict"
    RESULT: ClassVar[str] = "error"


class TimedOut(_Explained, frozen=True, gc=False):
    """The reconcile took longer than its time limit and was cancelled."""

    NAME: ClassVar[str] = "timeout"
    RESULT: ClassVar[str] = "error"


class Failed(_Explained, frozen=True, gc=False):
    """The reconcile raised an error."""

    NAME: ClassVar[str] = "error"
    RESULT: ClassVar[str] = "error"
    retry_after_s: float | None = None
    """The delay that the server requested, which takes precedence over the rate limiter."""
    is_unexpected: bool = False
    """Neither the API server nor the connection failed: probably a bug of the reconciler."""


Retried = Conflicted | TimedOut | Failed
"""The outcomes that are tried again with the delay of the rate limiter."""
Failure = Deferred | StalledOutcome | Retried
"""The outcomes of a reconcile that raised."""
Outcome = Succeeded | Requeued | AwaitingObject | Failure

_SUCCEEDED = Succeeded()


def classify_result(result: Result | None) -> Outcome:
    """The outcome of a reconcile that returned."""
    match result:
        case None | Done():
            return _SUCCEEDED
        case RequeueAfter(seconds, priority):
            if seconds <= 0:
                raise ValueError(f"RequeueAfter.seconds must be positive, got {seconds}")
            return Requeued(seconds, priority)
        case WaitFor():
            return AwaitingObject(result)
    raise TypeError(
        f"reconcile returned {result!r}: return None, Done(), RequeueAfter(seconds) or "
        "WaitFor(kind, key)"
    )


def classify_error(error: Exception, *, is_timeout: bool = False) -> Failure:
    """The outcome of a reconcile that raised."""
    message = redact(str(error))
    match error:
        case Stalled():
            return StalledOutcome(error.reason, redact(error.message))
        case Waiting():
            return Deferred(error.reason, redact(error.message), error.after_s)
        case TimeoutError() if is_timeout:
            return TimedOut("TimedOut", "the reconcile exceeded its time limit and was cancelled")
        case Conflict():
            return Conflicted("Conflict", message)
        case ApiError():
            after_s = bound_retry_after(error.retry_after_s) or None
            return Failed(error.reason or "ApiError", message, after_s)
        case ClientError():
            return Failed("Unreachable", message)
        case _:
            text = f"{type(error).__name__}: {message}"
            return Failed("ReconcileFailed", text, is_unexpected=True)
