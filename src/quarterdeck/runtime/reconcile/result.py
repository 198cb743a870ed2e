"""What a reconcile says to the runtime: a result when it ran, an exception when it could not.

Results and exceptions are named by consequence, not by cause: whoever reads a reconciler sees
when it will run again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object


class Done(NamedTuple):
    """The object is as desired; come back when something changes."""


class RequeueAfter(NamedTuple):
    """All went well; come back in `seconds`, or earlier when something changes."""

    seconds: float
    priority: int | None = None
    """The priority of that visit; None keeps the one this visit had."""


class WaitFor(NamedTuple):
    """Come back when another object meets a condition: woken by its event, not by polling.

    The kind must be among what the controller watches or owns. `until` gets the object, or None
    while it is absent; without it any change of that object wakes. After `timeout_s` the
    reconcile runs in any case.
    """

    kind: type[Object]
    key: Key
    until: Callable[[Any], bool] | None = None
    timeout_s: float = 600.0


Result = Done | RequeueAfter | WaitFor

DONE = Done()


class Stalled(Exception):
    """Raised when only the user can help: reported as not ready, and not tried again by itself.

    A change of the object, or of anything watched, runs the reconcile anew.
    """

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message or reason


class Waiting(Exception):
    """Raised when something outside is not there yet: come back in `after_s`, without backoff."""

    def __init__(self, reason: str, message: str = "", *, after_s: float = 30.0) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message or reason
        self.after_s = after_s
