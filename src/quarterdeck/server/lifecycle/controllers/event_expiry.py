"""Expiry of events: deletes them an hour after their last write."""

import heapq
from collections.abc import Iterator, Sequence
from datetime import timedelta

from quarterdeck.kit.clock import Clock
from quarterdeck.server.lifecycle.engine.actions import Action, Remove, Requeue
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import parse_time
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.storage import StoreEvent, StoreKey

EVENTS = "events"
TTL = timedelta(hours=1)
_MAX_ACTIONS = 500
_SWEEP = StoreKey(EVENTS, "", "")


class EventExpiry:
    """Removes events that are too old; one plan and one timer serve all events."""

    name = "event-expiry"
    manager = "kube-apiserver"
    resources: frozenset[str] | None = frozenset({EVENTS})
    initial: Sequence[StoreKey] = ()

    def __init__(self, clock: Clock, ttl: timedelta = TTL) -> None:
        self._clock = clock
        self._ttl = ttl
        self._due: list[tuple[float, int, StoreKey]] = []

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Add the deadline of an event; a plan is needed only if it is the earliest.

        After a removal the next plan continues, if more events are due.
        """
        if event.after is None:
            if self._due and self._due[0][0] <= self._clock.now().timestamp():
                yield _SWEEP
            return
        is_first = not self._due
        written = self._clock.now()
        if event.before is None:  # may have been there before the server started
            written = parse_time(get_object_meta(event.after).creation_timestamp) or written
        due = (written + self._ttl).timestamp()
        heapq.heappush(self._due, (due, event.after.revision, event.key))
        if is_first or self._due[0][1] == event.after.revision:
            yield _SWEEP

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Remove expired events, and requeue for the next deadline if none has expired.

        An event is forgotten when the view shows that it is gone: a removal may fail, or be given
        up because another one of the same plan came too late.
        """
        now = view.now.timestamp()
        expired: list[tuple[float, int, StoreKey]] = []
        while self._due and self._due[0][0] <= now and len(expired) < _MAX_ACTIONS:
            first = heapq.heappop(self._due)
            _, revision, each = first
            if view.get_revision(each) == revision:
                expired.append(first)
        for still_due in expired:
            heapq.heappush(self._due, still_due)
        if expired:
            return [Remove(key=key, revision=revision) for _, revision, key in expired]
        return [Requeue(self._due[0][0] - now)] if self._due else []
