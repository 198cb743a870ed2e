"""History in the data directory: raw samples as they come, then roll-ups, then nothing.

Everything is in memory and answered from there; the store underneath makes it survive. Each write
is one durable entry. Once an hour is over, its roll-ups are written in one go, and the entries of
hours that no query needs raw any more are deleted.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from quarterdeck.hubstate.embedded.tiers import (
    FINE_S,
    HOUR_S,
    RAW_S,
    STEP_S,
    Column,
    Point,
    Tiers,
    reduce_points,
    roll_up,
)
from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series
from quarterdeck.kit.clock import Clock
from quarterdeck.storage import (
    OpenFailed,
    StorageError,
    Store,
    StoreKey,
    Ticket,
    open_memory,
    open_sqlite,
)

RETENTION_S = 30 * 24 * HOUR_S
GRACE_S = 300.0
"""How late a sample may come and still be part of its roll-up."""
_RETAIN = 16
_BATCH, _FINE, _COARSE = "batch", "fine", "coarse"

Labels: TypeAlias = tuple[tuple[str, str], ...]
Key: TypeAlias = tuple[str, Labels]
_Row: TypeAlias = tuple[str, Labels, list[float]]
_rows = msgspec.msgpack.Decoder(list[_Row])
_encoder = msgspec.msgpack.Encoder()


def open_history(
    path: Path | None, *, clock: Clock, retention_s: float = RETENTION_S
) -> "EmbeddedHistory":
    """Open the history in a file, or one that keeps nothing; blocks while it loads.

    Raises:
        HistoryUnavailable: if the file cannot be used.
    """
    try:
        store = (
            open_memory(history_events=_RETAIN)
            if path is None
            else open_sqlite(path, retain=_RETAIN, history_events=_RETAIN)
        )
    except OpenFailed as error:
        raise HistoryUnavailable(f"cannot open the history: {error}") from error
    return EmbeddedHistory(store, clock=clock, retention_s=retention_s)


class EmbeddedHistory:
    """Implements `History` on a store of our own."""

    def __init__(self, store: Store, *, clock: Clock, retention_s: float = RETENTION_S) -> None:
        self._store = store
        self._clock = clock
        self._retention_s = retention_s
        self._series: dict[Key, Tiers] = {}
        self._names: dict[str, set[Key]] = {}
        self._sequence = 0
        self._sealed = 0.0
        """Until when roll-ups exist."""
        self._load()

    async def write(self, samples: Sequence[Sample]) -> None:
        """Keep samples; NaN, infinities and what is older than the raw samples are skipped."""
        wanted = [each for each in samples if math.isfinite(each.value)]
        rows: dict[Key, list[float]] = {}
        for each in wanted:
            at = each.at.timestamp()
            if at >= self._raw_from:
                rows.setdefault((each.name, each.labels), []).extend((at, each.value))
        if not rows:
            return
        tickets = self._decide(rows)
        try:
            for ticket in tickets:
                await ticket
        except StorageError as error:
            raise HistoryUnavailable(f"cannot write the history: {error}") from error
        for key, numbers in rows.items():
            self._add_raw(key, numbers)

    async def query_range(self, query: RangeQuery) -> list[Series]:
        """Matching series, ordered by their labels."""
        start, end = query.start.timestamp(), query.end.timestamp()
        step_s = query.step.total_seconds()
        if step_s <= 0 or end < start:
            raise ValueError(
                "the step of a range must be above 0, and its end must not be before its start"
            )
        found = []
        for key in sorted(self._names.get(query.name, ())):
            if not _matches(key[1], query.labels):
                continue
            points = reduce_points(
                self._iterate_points(self._series[key], start - step_s, end),
                start=start,
                end=end,
                step_s=step_s,
                how=query.reduction,
            )
            if points:
                found.append(Series(key[0], key[1], points))
        return found

    async def aclose(self) -> None:
        """Close the file; nothing is buffered."""
        await self._store.close()

    # --- what is read

    @property
    def _raw_from(self) -> float:
        return max(0.0, self._sealed - RAW_S + HOUR_S)

    @property
    def _fine_from(self) -> float:
        return max(0.0, self._sealed - FINE_S)

    def _iterate_points(self, tiers: Tiers, start: float, end: float) -> Iterator[Point]:
        """The finest there is of each part of the range."""
        after = end + 1e-6
        yield from tiers.coarse.between(start, min(after, self._fine_from))
        yield from tiers.fine.between(max(start, self._fine_from), min(after, self._raw_from))
        yield from tiers.raw(max(start, self._raw_from), after)

    def _get_tiers(self, key: Key) -> Tiers:
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = Tiers()
            self._names.setdefault(key[0], set()).add(key)
        return found

    def _add_raw(self, key: Key, numbers: Sequence[float]) -> None:
        tiers = self._get_tiers(key)
        for at, value in zip(numbers[::2], numbers[1::2], strict=True):
            if at >= self._raw_from:
                tiers.add(at, value)

    # --- what is written

    def _decide(self, rows: Mapping[Key, list[float]]) -> list[Ticket]:
        newest = max(numbers[-2] for numbers in rows.values())
        self._sequence += 1
        name = f"{int(newest // HOUR_S):010d}-{self._sequence:010d}"
        try:
            with self._store.together():
                tickets = list(self._seal())
                tickets.append(self._put(_BATCH, name, rows))
        except StorageError as error:
            raise HistoryUnavailable(f"cannot write the history: {error}") from error
        return tickets

    def _seal(self) -> Iterator[Ticket]:
        """Roll up every hour that is over, and delete what is not needed any more."""
        over = math.floor((self._clock.now().timestamp() - GRACE_S) / HOUR_S) * HOUR_S
        if over <= self._sealed:
            return
        first = min(
            (each.raw_times[0] for each in self._series.values() if each.raw_times), default=over
        )
        hour = max(self._sealed, math.floor(first / HOUR_S) * HOUR_S)
        while hour < over:
            yield from self._seal_hour(hour)
            hour += HOUR_S
        self._sealed = over
        self._trim()
        yield from self._delete_old()

    def _seal_hour(self, hour: float) -> Iterator[Ticket]:
        fine: dict[Key, list[float]] = {}
        coarse: dict[Key, list[float]] = {}
        for key, tiers in self._series.items():
            points = roll_up(tiers.raw(hour, hour + HOUR_S), STEP_S)
            for point in points:
                tiers.fine.append(point)
                fine.setdefault(key, []).extend(point)
            for point in roll_up(points, HOUR_S):
                tiers.coarse.append(point)
                coarse.setdefault(key, []).extend(point)
        if fine:
            name = f"{int(hour // HOUR_S):010d}"
            yield self._put(_FINE, name, fine)
            yield self._put(_COARSE, name, coarse)

    def _put(self, kind: str, name: str, rows: Mapping[Key, list[float]]) -> Ticket:
        data = _encoder.encode([(key[0], key[1], numbers) for key, numbers in rows.items()])
        return self._store.put(StoreKey(kind, "", name), lambda _: data)

    def _trim(self) -> None:
        oldest = self._sealed - self._retention_s
        for key, tiers in list(self._series.items()):
            tiers.drop_raw_before(self._raw_from)
            tiers.fine.drop_before(self._fine_from)
            tiers.coarse.drop_before(oldest)
            if tiers.is_empty:
                del self._series[key]
                self._names[key[0]].discard(key)

    def _delete_old(self) -> Iterator[Ticket]:
        snapshot = self._store.snapshot()
        limits = (
            (_BATCH, self._raw_from),
            (_FINE, self._fine_from),
            (_COARSE, self._sealed - self._retention_s),
        )
        for kind, moment in limits:
            for entry in snapshot.range(kind):
                if (int(entry.key.name[:10]) + 1) * HOUR_S > moment:
                    break
                yield self._store.delete(entry.key, lambda _: b"")

    def _load(self) -> None:
        snapshot = self._store.snapshot()
        for entry in snapshot.range(_COARSE):
            self._sealed = (int(entry.key.name) + 1) * HOUR_S
        for kind, column in ((_FINE, "fine"), (_COARSE, "coarse")):
            for entry in snapshot.range(kind):
                for name, labels, numbers in _rows.decode(entry.value):
                    target: Column = getattr(self._get_tiers((name, labels)), column)
                    for at in range(0, len(numbers), 6):
                        target.append(Point(*numbers[at : at + 6]))
        for entry in snapshot.range(_BATCH):
            self._sequence = max(self._sequence, int(entry.key.name[11:]))
            for name, labels, numbers in _rows.decode(entry.value):
                self._add_raw((name, labels), numbers)


def _matches(labels: Labels, wanted: Mapping[str, tuple[str, ...]]) -> bool:
    have = dict(labels)
    return all(have.get(name, "") in values for name, values in wanted.items())
