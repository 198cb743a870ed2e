"""The result of a reconcile that ran, and the exceptions of one that could not.

Results and exceptions are named by consequence, not by cause: a reader of a reconciler sees
when it will run again.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object


class Done(msgspec.Struct, frozen=True):
    """The object is as desired; runs again when something changes."""


class RequeueAfter(msgspec.Struct, frozen=True):
    """No failure; runs again in `seconds`, or earlier when something changes."""

    seconds: float
    priority: int | None = None
    """The priority of that run; None keeps the priority of this one."""


class WaitFor(msgspec.Struct, frozen=True):
    """Run again when another object meets a condition: by its event, not by polling.

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
    """Raised when the user has to act: reported as not ready, and not tried again by itself.

    A change of the object, or of anything watched, starts another reconcile.
    """

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message or reason


class Waiting(Exception):
    """Raised when something outside is not ready yet: runs again in `after_s`, without backoff."""

    def __init__(self, reason: str, message: str = "", *, after_s: float = 30.0) -> None:
        super().__init__(message or reason)
        self.reason = reason
        self.message = message or reason
        self.after_s = after_s
