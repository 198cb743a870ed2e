"""Which events are worth a request: aggregation, counting and a spam filter, as client-go has them.

Pure. `Correlator` serves core/v1: similar messages are combined, repeated ones counted, floods
about one object cut. `SeriesTracker` serves events.k8s.io/v1: repetitions become a series.
"""

import random
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

V = TypeVar("V")

COMBINED = "(combined from similar events): "


class EventRecord(msgspec.Struct, frozen=True):
    """An occurrence that is reported as an event about an object."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    type: str
    reason: str
    message: str
    action: str = ""
    resource_version: str = ""

    @property
    def object(self) -> tuple[str, ...]:
        """The object it is about."""
        return (self.api_version, self.kind, self.namespace, self.name, self.uid)


class Limits(msgspec.Struct, frozen=True):
    """The numbers of the correlator."""

    cache_size: int = 4096
    similar_limit: int = 10
    similar_window_s: float = 600.0
    burst: int = 25
    refill_s: float = 300.0


class Send(msgspec.Struct, frozen=True):
    """An event to create, or to patch when `name` is known already."""

    message: str
    times: int
    first_at: float
    name: str
    is_update: bool


class _Lru(OrderedDict[Hashable, V], Generic[V]):
    """A dictionary that drops the least recently used entry."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def touch(self, key: Hashable, make: Callable[[], V]) -> V:
        """Get the value of a key, made if missing, and mark it as the most recently used."""
        if key in self:
            self.move_to_end(key)
        else:
            self[key] = make()
            if len(self) > self._size:
                self.popitem(last=False)
        return self[key]


class _Similar:
    __slots__ = ("at", "messages")

    def __init__(self) -> None:
        self.at = float("-inf")
        self.messages: dict[str, None] = {}


class _Seen:
    __slots__ = ("count", "first_at", "name")

    def __init__(self) -> None:
        self.count = 0
        self.first_at = 0.0
        self.name = ""


class _Tokens:
    __slots__ = ("at", "left")

    def __init__(self, burst: int) -> None:
        self.left = float(burst)
        self.at: float | None = None


class Correlator:
    """core/v1: aggregate, then count, then filter; so counts rise even for what is dropped."""

    def __init__(
        self,
        new_name: Callable[[EventRecord], str],
        rng: random.Random,
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:
        self._new_name = new_name
        self._random = rng
        self._limits = limits
        self._similar: _Lru[_Similar] = _Lru(limits.cache_size)
        self._seen: _Lru[_Seen] = _Lru(limits.cache_size)
        self._tokens: _Lru[_Tokens] = _Lru(limits.cache_size)

    def correlate(self, record: EventRecord, now: float) -> Send | None:
        """What to send; None if the object exceeds its rate of events."""
        group = (*record.object, record.type, record.reason, record.action)
        message, key = self._aggregate(record, group, now)
        seen = self._seen.touch(key, _Seen)
        is_update = seen.count > 0
        if not is_update:
            seen.first_at, seen.name = now, self._new_name(record)
        seen.count += 1
        if not self._may_send((*record.object, record.type), now):
            return None
        return Send(message, seen.count, seen.first_at, seen.name, is_update)

    def _aggregate(
        self, record: EventRecord, group: tuple[str, ...], now: float
    ) -> tuple[str, tuple[str, ...]]:
        similar = self._similar.touch(group, _Similar)
        if now - similar.at > self._limits.similar_window_s:
            similar.messages = {}
        similar.at = now
        similar.messages[record.message] = None
        if len(similar.messages) < self._limits.similar_limit:
            return record.message, (*group, record.message)
        del similar.messages[self._random.choice(tuple(similar.messages))]
        return COMBINED + record.message, group

    def _may_send(self, source: tuple[str, ...], now: float) -> bool:
        limits = self._limits
        tokens = self._tokens.touch(source, lambda: _Tokens(limits.burst))
        if tokens.at is not None:
            tokens.left = min(limits.burst, tokens.left + (now - tokens.at) / limits.refill_s)
        tokens.at = now
        if tokens.left < 1.0:
            return False
        tokens.left -= 1.0
        return True


class SeriesSend(msgspec.Struct, frozen=True):
    """An events.k8s.io/v1 event to create (`times` 1) or whose series to patch."""

    record: EventRecord
    name: str
    first_at: float
    last_at: float
    times: int


class _Series:
    __slots__ = ("count", "first_at", "last_at", "name", "record", "sent_at", "sent_count")

    def __init__(self, record: EventRecord, name: str, now: float) -> None:
        self.record = record
        self.name = name
        self.first_at = self.last_at = self.sent_at = now
        self.count = self.sent_count = 1


class SeriesTracker:
    """events.k8s.io/v1: the first is created, the second begins a series, the rest are counted."""

    def __init__(
        self,
        new_name: Callable[[EventRecord], str],
        *,
        idle_s: float = 360.0,
        refresh_s: float = 1800.0,
        size: int = 4096,
    ) -> None:
        self._new_name = new_name
        self._idle_s = idle_s
        self._refresh_s = refresh_s
        self._size = size
        self._series: OrderedDict[Hashable, _Series] = OrderedDict()

    def observe(self, record: EventRecord, now: float) -> SeriesSend | None:
        """What to send for one more occurrence; usually nothing."""
        key = (record.type, record.action, record.reason, *record.object)
        series = self._series.get(key)
        if series is None or now - series.last_at > self._idle_s:
            series = self._series[key] = _Series(record, self._new_name(record), now)
            self._series.move_to_end(key)
            if len(self._series) > self._size:
                self._series.popitem(last=False)
            return self._record_send(series, now)
        series.count += 1
        series.last_at = now
        return self._record_send(series, now) if series.count == 2 else None

    def tick(self, now: float) -> list[SeriesSend]:
        """Updates due by time: series to refresh, and the final counts of ended series."""
        due = []
        for key, series in tuple(self._series.items()):
            is_over = now - series.last_at > self._idle_s
            is_stale = now - series.sent_at > self._refresh_s
            if series.count > series.sent_count and (is_over or is_stale):
                due.append(self._record_send(series, now))
            if is_over:
                del self._series[key]
        return due

    def _record_send(self, series: _Series, now: float) -> SeriesSend:
        series.sent_at, series.sent_count = now, series.count
        return SeriesSend(series.record, series.name, series.first_at, series.last_at, series.count)
