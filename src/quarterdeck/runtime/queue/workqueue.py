"""The workqueue: decides the next key. Pure and synchronous; the clock is passed in.

One entry per key, however often it is added. A key handed out is *processing* until `done`;
adding it meanwhile makes it due once more, never to a second worker at the same time. Delayed
keys wait in a heap; the earliest deadline wins, and an add without a delay cancels the delay.

`ready_keys` has the order among those that are ready.
"""

import heapq
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialFailureRateLimiter, RateLimiter
from quarterdeck.runtime.queue.ready_keys import Item, ReadyKeys, State

if TYPE_CHECKING:
    from quarterdeck.runtime.queue.observer import QueueObserver

K = TypeVar("K", bound=Hashable)

LOW_PRIORITY = -100
"""For objects of an initial list and for resyncs: live changes go first."""

_KEPT_CAUSES = 4
_SPARE_DELAYS = 64
"""Outdated deadlines that are always kept: removing them one by one would take longer."""
_READY, _HELD, _DELAYED = State.READY, State.HELD, State.DELAYED
"""Looked up once: a look-up in an enum takes as long as three calls."""


class QueueItem(msgspec.Struct, Generic[K], frozen=True):
    """A key handed to a worker."""

    key: K
    priority: int
    waited_s: float
    causes: tuple[object, ...]


class WorkQueue(Generic[K]):
    """The decisions of the queue; `dispatcher.Dispatcher` lets coroutines wait on it."""

    def __init__(
        self,
        clock: Clock,
        *,
        rate_limiter: RateLimiter | None = None,
        tenant: Callable[[K], Hashable] | None = None,
        observer: "QueueObserver | None" = None,
        aging_s: float = 0.1,
        max_aging_s: float = 10.0,
    ) -> None:
        """`tenant` maps a key to its tenant; without it all keys share one line.

        A key rises by one point of priority for each `aging_s` it is ready, and to the next
        priority in use after `max_aging_s` at the latest.
        """
        self._clock = clock
        self.rate_limiter = (
            rate_limiter if rate_limiter is not None else ItemExponentialFailureRateLimiter()
        )
        self._observer = observer
        self._items: dict[K, Item[K]] = {}
        self._processing: dict[K, float] = {}
        self._delayed: list[tuple[float, int, Item[K]]] = []
        self._ready_keys = ReadyKeys(tenant, aging_s=aging_s, max_aging_s=max_aging_s)
        self._sequence = 0
        self.ready = 0
        """How many keys can be handed out; do not change it."""
        self._held = 0
        self._last_causes: tuple[object, ...] = ()
        self.closed = False
        """No longer takes keys."""

    # --- state, for metrics, health and tests

    def __len__(self) -> int:
        """Keys ready to be handed out."""
        return self.ready

    @property
    def depth(self) -> int:
        """Keys due, including those that wait for their own processing to end."""
        return self.ready + self._held

    @property
    def processing(self) -> dict[K, float]:
        """Keys being worked on, with the time they were handed out. Do not change it."""
        return self._processing

    def due_at(self, key: K) -> float | None:
        """When a delayed key becomes ready; None if it has no delay."""
        item = self._items.get(key)
        return item.ready_at if item is not None and item.state is _DELAYED else None

    def next_delay_s(self) -> float | None:
        """Seconds until the first delayed key is ready; None if there is none."""
        while self._delayed:
            ready_at, _, item = self._delayed[0]
            if self._is_current(ready_at, item):
                return max(0.0, ready_at - self._clock.monotonic())
            heapq.heappop(self._delayed)
        return None

    # --- what producers do

    def add(
        self,
        key: K,
        *,
        priority: int = 0,
        after_s: float = 0.0,
        rate_limited: bool = False,
        cause: object = None,
    ) -> bool:
        """Make `key` due, now or after a delay; False when the queue is closed.

        With `rate_limited` the limiter is charged and its delay taken, unless `after_s` is sooner.
        """
        if self.closed:
            return False
        now = self._clock.monotonic()
        if rate_limited:
            limit_s = self.rate_limiter.when(key, now)
            after_s = min(after_s, limit_s) if after_s > 0 else limit_s
        if self._observer is not None and (rate_limited or after_s > 0):
            self._observer.on_retry()
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(key, priority, priority)
            if cause is not None:
                item.causes = self._build_causes(cause)
            if after_s > 0:
                self._delay(item, now + after_s)
            else:
                self._make_due(item, now)
            return True
        self._merge(item, priority, cause)
        if item.state is _DELAYED:
            if after_s <= 0:
                self._make_due(item, now)
            elif now + after_s < item.ready_at:
                self._delay(item, now + after_s)
        return True

    def close(self) -> None:
        """Take no more keys; those due are still handed out, delayed ones are dropped."""
        self.closed = True
        for key in [k for k, item in self._items.items() if item.state is _DELAYED]:
            del self._items[key]
        self._delayed.clear()

    # --- what workers do

    def pop(self) -> QueueItem[K] | None:
        """The next key, or None when nothing is ready now."""
        now = self._clock.monotonic()
        if self._delayed:
            self.release()
        item = self._ready_keys.pop(now)
        return self._hand_out(item, now) if item is not None else None

    def done(self, key: K) -> None:
        """The worker finished; a key added meanwhile is ready again. Idempotent."""
        started = self._processing.pop(key, None)
        if started is None:
            return
        if self._observer is not None:
            self._observer.on_done(self._clock.monotonic() - started)
        item = self._items.get(key)
        if item is not None and item.state is _HELD:
            item.state = _READY
            self._held -= 1
            self.ready += 1
            self._ready_keys.push(item, self._clock.monotonic())

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure waits the shortest delay again."""
        self.rate_limiter.forget(key)

    # --- inside

    def _build_causes(self, cause: object) -> tuple[object, ...]:
        """A tuple with one cause; the keys of an initial list have the same cause and share it."""
        if not self._last_causes or self._last_causes[0] is not cause:
            self._last_causes = (cause,)
        return self._last_causes

    def _merge(self, item: Item[K], priority: int, cause: object) -> None:
        if cause is not None and len(item.causes) < _KEPT_CAUSES:
            item.causes = (*item.causes, cause)
        if priority <= item.priority:
            return
        if item.state is not _DELAYED and self._observer is not None:
            self._observer.on_priority_change(item.priority, priority)
        item.priority = priority
        if item.state is _READY and priority > item.rank:
            self._ready_keys.withdraw(item)
            item.rank = priority
            self._ready_keys.push(item, self._clock.monotonic())
        else:
            item.rank = max(item.rank, priority)

    def _delay(self, item: Item[K], ready_at: float) -> None:
        item.ready_at = ready_at
        self._sequence += 1
        heapq.heappush(self._delayed, (ready_at, self._sequence, item))
        if len(self._delayed) > 2 * len(self._items) + _SPARE_DELAYS:
            self._drop_outdated()

    def _drop_outdated(self) -> None:
        """Remove the deadlines of keys that became due earlier, as by an event.

        They would be removed when they expire. Until then, a key that is requeued for an hour
        after each of its events would leave one for every event.
        """
        self._delayed = [each for each in self._delayed if self._is_current(each[0], each[2])]
        heapq.heapify(self._delayed)

    def _is_current(self, ready_at: float, item: Item[K]) -> bool:
        return (
            item.state is _DELAYED
            and item.ready_at == ready_at
            and self._items.get(item.key) is item
        )

    def release(self) -> None:
        """Make delayed keys ready that are due; `pop` does it, too."""
        now = self._clock.monotonic()
        while self._delayed and self._delayed[0][0] <= now:
            ready_at, _, item = heapq.heappop(self._delayed)
            if self._is_current(ready_at, item):
                self._make_due(item, now)

    def _make_due(self, item: Item[K], now: float) -> None:
        item.added_at = now
        if self._observer is not None:
            self._observer.on_add(item.priority)
        if item.key in self._processing:
            item.state = _HELD
            self._held += 1
        else:
            item.state = _READY
            self.ready += 1
            self._ready_keys.push(item, now)

    def _hand_out(self, item: Item[K], now: float) -> QueueItem[K]:
        del self._items[item.key]
        self._processing[item.key] = now
        self.ready -= 1
        waited_s = now - item.added_at
        if self._observer is not None:
            self._observer.on_get(item.priority, waited_s)
        return QueueItem(item.key, item.priority, waited_s, item.causes)
