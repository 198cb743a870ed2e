"""The workqueue: which key is worked on next. Pure and synchronous; time comes from a clock.

One entry per key, however often it is added. A key handed out is *processing* until `done`;
adding it meanwhile makes it due once more, never to a second worker at the same time. Delayed
keys wait in a heap; the earliest deadline wins, and an add without a delay cancels the delay.

Order among ready keys: higher priority first; inside one priority the tenants (namespaces) take
turns, so that ten thousand objects of one tenant delay another tenant by one turn; inside
one tenant first come, first served. What waits long enough rises to the next priority in use
(*aging*), so nothing starves under a steady stream of more urgent work.
"""

import bisect
import enum
import heapq
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.queue.rate_limiter import ItemExponentialRateLimiter, RateLimiter

K = TypeVar("K", bound=Hashable)

LOW_PRIORITY = -100
"""For objects of an initial list and for resyncs: live changes go first."""

_KEPT_CAUSES = 4


class QueueObserver(Protocol):
    """Sees what the metrics of client-go's workqueue count."""

    def on_add(self, priority: int) -> None:
        """A key became due (the depth rises)."""
        ...

    def on_get(self, priority: int, waited_s: float) -> None:
        """A key was handed out (the depth falls)."""
        ...

    def on_priority_change(self, before: int, after: int) -> None:
        """A waiting key changed its priority."""
        ...

    def on_done(self, worked_s: float) -> None:
        """A worker is done with a key."""
        ...

    def on_retry(self) -> None:
        """A key was added with a delay."""
        ...


class QueueItem(NamedTuple, Generic[K]):
    """A key handed to a worker."""

    key: K
    priority: int
    waited_s: float
    causes: tuple[object, ...]


class _State(enum.Enum):
    READY = "ready"
    HELD = "held"  # due, but its key is being processed
    DELAYED = "delayed"


class _Item(msgspec.Struct, Generic[K], eq=False, gc=False):
    """What is known of one key between its first add and its hand-over.

    An initial list makes very many at once, so the garbage collector does not see them: the circle
    with a slot is opened when the item leaves its place.
    """

    key: K
    priority: int
    rank: int
    """The class it stands in: rises by aging."""
    added_at: float = 0.0
    ready_at: float = 0.0
    state: _State = _State.DELAYED
    slot: "_Slot[K] | None" = None
    causes: tuple[object, ...] = ()


class _Slot(msgspec.Struct, Generic[K], eq=False, gc=False):
    """A place in line. Dead as soon as its item points elsewhere, and skipped then."""

    item: _Item[K]
    since: float

    @property
    def alive(self) -> bool:
        return self.item.slot is self


class _Rank(Generic[K]):
    """All ready keys of one effective priority; tenants take turns."""

    __slots__ = ("by_age", "lines", "size", "turns")

    def __init__(self) -> None:
        self.turns: deque[Hashable] = deque()
        self.lines: dict[Hashable, deque[_Slot[K]]] = {}
        self.by_age: deque[_Slot[K]] = deque()
        self.size = 0

    def push(self, slot: _Slot[K], tenant: Hashable) -> None:
        line = self.lines.get(tenant)
        if line is None:
            line = self.lines[tenant] = deque()
            self.turns.append(tenant)
        line.append(slot)
        self.by_age.append(slot)
        self.size += 1

    def pop(self) -> _Item[K] | None:
        while self.turns:
            tenant = self.turns.popleft()
            line = self.lines[tenant]
            slot = line.popleft()
            while slot.item.slot is not slot and line:
                slot = line.popleft()
            if line:
                self.turns.append(tenant)
            else:
                del self.lines[tenant]
            item = slot.item
            if item.slot is slot:
                item.slot = None
                self.size -= 1
                return item
        return None

    def remove(self, slot: _Slot[K]) -> None:
        slot.item.slot = None
        self.size -= 1

    def oldest(self) -> _Slot[K] | None:
        while self.by_age and not self.by_age[0].alive:
            self.by_age.popleft()
        return self.by_age[0] if self.by_age else None


class WorkQueue(Generic[K]):
    """The decisions of the queue; `dispatcher.Dispatcher` lets coroutines wait on it."""

    def __init__(
        self,
        clock: Clock,
        *,
        limiter: RateLimiter | None = None,
        tenant: Callable[[K], Hashable] | None = None,
        observer: QueueObserver | None = None,
        aging_s: float = 0.1,
        max_aging_s: float = 10.0,
    ) -> None:
        """`tenant` maps a key to its tenant; without it all keys share one line.

        A key rises by one point of priority for each `aging_s` it is ready, and to the next
        priority in use after `max_aging_s` at the latest.
        """
        self._clock = clock
        self.limiter = limiter if limiter is not None else ItemExponentialRateLimiter()
        self._tenant = tenant
        self._observer = observer
        self._aging_s = aging_s
        self._max_aging_s = max_aging_s
        self._items: dict[K, _Item[K]] = {}
        self._processing: dict[K, float] = {}
        self._delayed: list[tuple[float, int, _Item[K]]] = []
        self._ranks: dict[int, _Rank[K]] = {}
        self._order: list[int] = []  # effective priorities in use, ascending
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
        return item.ready_at if item is not None and item.state is _State.DELAYED else None

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
            limit_s = self.limiter.when(key, now)
            after_s = min(after_s, limit_s) if after_s > 0 else limit_s
        if self._observer is not None and (rate_limited or after_s > 0):
            self._observer.on_retry()
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = _Item(key, priority, priority)
            if cause is not None:
                item.causes = self._alone(cause)
            if after_s > 0:
                self._delay(item, now + after_s)
            else:
                self._make_due(item, now)
            return True
        self._merge(item, priority, cause)
        if item.state is _State.DELAYED:
            if after_s <= 0:
                self._make_due(item, now)
            elif now + after_s < item.ready_at:
                self._delay(item, now + after_s)
        return True

    def close(self) -> None:
        """Take no more keys; those due are still handed out, delayed ones are dropped."""
        self.closed = True
        for key in [k for k, item in self._items.items() if item.state is _State.DELAYED]:
            del self._items[key]
        self._delayed.clear()

    # --- what workers do

    def pop(self) -> QueueItem[K] | None:
        """The next key, or None when nothing is ready now."""
        now = self._clock.monotonic()
        if self._delayed:
            self.release()
        if len(self._order) > 1:
            self._age(now)
        while self._order:
            top = self._order[-1]
            rank = self._ranks[top]
            item = rank.pop()
            if rank.size == 0:
                del self._ranks[top]
                self._order.pop()
            if item is not None:
                return self._hand_out(item, now)
        return None

    def done(self, key: K) -> None:
        """The worker finished; a key added meanwhile is ready again. Idempotent."""
        started = self._processing.pop(key, None)
        if started is None:
            return
        if self._observer is not None:
            self._observer.on_done(self._clock.monotonic() - started)
        item = self._items.get(key)
        if item is not None and item.state is _State.HELD:
            item.state = _State.READY
            self._held -= 1
            self.ready += 1
            self._push(item, self._clock.monotonic())

    def forget(self, key: K) -> None:
        """The key succeeded: its next failure waits the shortest delay again."""
        self.limiter.forget(key)

    # --- inside

    def _alone(self, cause: object) -> tuple[object, ...]:
        """One cause; an initial list has the same for all its keys, and they share the tuple."""
        if not self._last_causes or self._last_causes[0] is not cause:
            self._last_causes = (cause,)
        return self._last_causes

    def _merge(self, item: _Item[K], priority: int, cause: object) -> None:
        if cause is not None and len(item.causes) < _KEPT_CAUSES:
            item.causes = (*item.causes, cause)
        if priority <= item.priority:
            return
        if item.state is not _State.DELAYED and self._observer is not None:
            self._observer.on_priority_change(item.priority, priority)
        item.priority = priority
        if item.state is _State.READY and priority > item.rank:
            self._withdraw(item)
            item.rank = priority
            self._push(item, self._clock.monotonic())
        else:
            item.rank = max(item.rank, priority)

    def _delay(self, item: _Item[K], ready_at: float) -> None:
        item.ready_at = ready_at
        self._sequence += 1
        heapq.heappush(self._delayed, (ready_at, self._sequence, item))

    def _is_current(self, ready_at: float, item: _Item[K]) -> bool:
        return (
            item.state is _State.DELAYED
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

    def _make_due(self, item: _Item[K], now: float) -> None:
        item.added_at = now
        if self._observer is not None:
            self._observer.on_add(item.priority)
        if item.key in self._processing:
            item.state = _State.HELD
            self._held += 1
        else:
            item.state = _State.READY
            self.ready += 1
            self._push(item, now)

    def _push(self, item: _Item[K], now: float) -> None:
        rank = self._ranks.get(item.rank)
        if rank is None:
            rank = self._ranks[item.rank] = _Rank()
            bisect.insort(self._order, item.rank)
        item.slot = _Slot(item, now)
        rank.push(item.slot, self._tenant(item.key) if self._tenant is not None else None)

    def _withdraw(self, item: _Item[K]) -> None:
        rank = self._ranks[item.rank]
        assert item.slot is not None
        rank.remove(item.slot)
        if rank.size == 0:
            del self._ranks[item.rank]
            self._order.remove(item.rank)

    def _age(self, now: float) -> None:
        """Lift what waited too long into the next priority in use, best ranks first."""
        for index in range(len(self._order) - 2, -1, -1):
            below, above = self._order[index], self._order[index + 1]
            limit_s = min((above - below) * self._aging_s, self._max_aging_s)
            rank = self._ranks[below]
            while (slot := rank.oldest()) is not None and slot.since + limit_s <= now:
                rank.remove(slot)
                slot.item.rank = above
                self._push(slot.item, now)
        for below in [p for p in self._order if self._ranks[p].size == 0]:
            del self._ranks[below]
            self._order.remove(below)

    def _hand_out(self, item: _Item[K], now: float) -> QueueItem[K]:
        del self._items[item.key]
        self._processing[item.key] = now
        self.ready -= 1
        waited_s = now - item.added_at
        if self._observer is not None:
            self._observer.on_get(item.priority, waited_s)
        return QueueItem(item.key, item.priority, waited_s, item.causes)
