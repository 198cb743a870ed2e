"""Keys that are ready, in the order in which they are handed out.

Higher priority first; inside one priority the tenants (namespaces) take turns, so that ten thousand
objects of one tenant delay another tenant by one turn; inside one tenant first come, first served.
A key that has waited long enough rises to the next priority in use (*aging*), so that none starves
while keys of higher priority keep arriving.
"""

import bisect
import enum
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)


class State(enum.Enum):
    """The state of a key before it is handed out."""

    READY = "ready"
    HELD = "held"  # due, but its key is being processed
    DELAYED = "delayed"


class Item(msgspec.Struct, Generic[K], eq=False, gc=False):
    """One key between its first add and the moment it is handed out.

    An initial list creates very many at once, so they are hidden from the garbage collector. The
    reference cycle with the slot is broken when the item leaves the slot.
    """

    key: K
    priority: int
    rank: int
    """Its current priority class: rises by aging."""
    added_at: float = 0.0
    ready_at: float = 0.0
    state: State = State.DELAYED
    slot: "_Slot[K] | None" = None
    causes: tuple[object, ...] = ()


class _Slot(msgspec.Struct, Generic[K], eq=False, gc=False):
    """A position in the queue; skipped as soon as its item refers to another slot or to none."""

    item: Item[K]
    since: float

    @property
    def alive(self) -> bool:
        """Whether its item still refers to this slot."""
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

    def pop(self) -> Item[K] | None:
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
                by_age = self.by_age  # without this it would grow until the queue is empty
                while by_age and by_age[0].item.slot is not by_age[0]:
                    by_age.popleft()
                return item
        return None

    def remove(self, slot: _Slot[K]) -> None:
        slot.item.slot = None
        self.size -= 1

    def oldest(self) -> _Slot[K] | None:
        while self.by_age and not self.by_age[0].alive:
            self.by_age.popleft()
        return self.by_age[0] if self.by_age else None


class ReadyKeys(Generic[K]):
    """Ready keys of every priority."""

    __slots__ = ("_aging_s", "_max_aging_s", "_order", "_ranks", "_tenant")

    def __init__(
        self,
        tenant: Callable[[K], Hashable] | None,
        *,
        aging_s: float,
        max_aging_s: float,
    ) -> None:
        self._tenant = tenant
        self._aging_s = aging_s
        self._max_aging_s = max_aging_s
        self._ranks: dict[int, _Rank[K]] = {}
        self._order: list[int] = []  # effective priorities in use, ascending

    def push(self, item: Item[K], now: float) -> None:
        """Put an item last in the line of its tenant, at its rank."""
        rank = self._ranks.get(item.rank)
        if rank is None:
            rank = self._ranks[item.rank] = _Rank()
            bisect.insort(self._order, item.rank)
        item.slot = _Slot(item, now)
        rank.push(item.slot, self._tenant(item.key) if self._tenant is not None else None)

    def pop(self, now: float) -> Item[K] | None:
        """Take the next item; None when there is none."""
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
                return item
        return None

    def withdraw(self, item: Item[K]) -> None:
        """Take an item out of its line."""
        rank = self._ranks[item.rank]
        assert item.slot is not None
        rank.remove(item.slot)
        if rank.size == 0:
            del self._ranks[item.rank]
            self._order.remove(item.rank)

    def _age(self, now: float) -> None:
        """Move keys that waited too long to the next priority in use, highest priorities first."""
        for index in range(len(self._order) - 2, -1, -1):
            below, above = self._order[index], self._order[index + 1]
            limit_s = min((above - below) * self._aging_s, self._max_aging_s)
            rank = self._ranks[below]
            while (slot := rank.oldest()) is not None and slot.since + limit_s <= now:
                rank.remove(slot)
                slot.item.rank = above
                self.push(slot.item, now)
        for below in [p for p in self._order if self._ranks[p].size == 0]:
            del self._ranks[below]
            self._order.remove(below)
