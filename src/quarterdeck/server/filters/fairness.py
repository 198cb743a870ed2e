"""Bounds how many requests run at once, in all and for each user.

One client that sends without end gets 429 for what is too much, and the others go on. Watches run
for long and are not counted; masters are not bounded, so that somebody can always repair things.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.wire.status import TooManyRequests

_RETRY_AFTER_S = 1


class FairnessStatistics(NamedTuple):
    """What runs now, and what was refused since the start."""

    running: int
    users: int
    refused_total: int


class Fairness:
    """Counts the requests that run."""

    def __init__(self, *, total: int, per_user: int) -> None:
        """`total` and `per_user` are the most requests at once."""
        self._total = total
        self._per_user = per_user
        self._running: dict[str, int] = {}
        self._sum = 0
        self._refused = 0

    @contextmanager
    def admit(self, user: User) -> Iterator[None]:
        """Count a request while it runs.

        Raises:
            TooManyRequests: if the user, or all together, have too many.
        """
        if MASTERS_GROUP in user.groups:
            yield
            return
        own = self._running.get(user.name, 0)
        if own >= self._per_user or self._sum >= self._total:
            self._refused += 1
            raise TooManyRequests(
                "too many requests, please try again later", retry_after_s=_RETRY_AFTER_S
            )
        self._running[user.name] = own + 1
        self._sum += 1
        try:
            yield
        finally:
            self._sum -= 1
            left = self._running[user.name] - 1
            if left:
                self._running[user.name] = left
            else:
                del self._running[user.name]

    def statistics(self) -> FairnessStatistics:
        """What runs now, and what was refused since the start."""
        return FairnessStatistics(self._sum, len(self._running), self._refused)
