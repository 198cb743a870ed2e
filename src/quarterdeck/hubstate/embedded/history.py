"""The history in the data directory: raw samples, which are replaced by roll-ups, then deleted.

Queries are answered from memory; the store makes the data durable. Each write is one durable entry.
Once an hour is over, its roll-ups are written together, and raw entries that no query needs any
more are deleted. Hourly roll-ups are deleted by a time that a day of samples confirms, because a
clock that is set months ahead by mistake would delete them all at once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import msgspec

from quarterdeck.hubstate.embedded.tiers import (
    FINE_S,
    HOUR_S,
    RAW_S,
    Column,
    Point,
    Tiers,
    reduce_points,
)
from quarterdeck.hubstate.errors import HistoryUnavailable
from quarterdeck.hubstate.ports import RangeQuery, Sample, Series
from quarterdeck.kit.clock import Clock
from quarterdeck.storage import (
    Entry,
    OpenFailed,
    StorageError,
    Store,
    StoreKey,
    Ticket,
    open_memory,
    open_sqlite,
)

RETENTION_S = 30 * 24 * HOUR_S
SETTLED_HOURS = 24
"""How many hours must have samples before the clock is trusted to delete."""
GRACE_S = 300.0
"""How long the roll-ups of an hour wait for late samples; later ones are added an hour later."""
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
    """Open the history in a file, or in memory without a path; blocks while it loads.

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
        """The time up to which roll-ups exist."""
        self._coarse_from = 0.0
        """The time before which hourly roll-ups are deleted."""
        self._late: set[float] = set()
        """The beginnings of hours that got samples after they were rolled up."""
        self._load()

    async def write(self, samples: Sequence[Sample]) -> None:
        """Keep samples; NaN, infinities and what is older than the raw samples are skipped."""
        self._reopen()
        wanted = [each for each in samples if math.isfinite(each.value)]
        rows: dict[Key, list[float]] = {}
        for each in wanted:
            at = each.at.timestamp()
            if at >= self._raw_from:
                rows.setdefault((each.name, each.labels), []).extend((at, each.value))
        if not rows:
            return
        sealed, late = self._sealed, frozenset(self._late)
        try:
            for ticket in self._decide(rows):
                await ticket
        except StorageError as error:
            # roll-ups that were not stored are made again, of samples that are still there
            self._sealed = min(self._sealed, sealed)
            self._late |= late
            raise HistoryUnavailable(f"cannot write the history: {error}") from error
        if self._sealed > sealed:
            self._trim()
        for key, numbers in rows.items():
            self._get_tiers(key).add_all(numbers)
            self._late.update(_find_hour(at) for at in numbers[::2] if at < self._sealed)

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
                self._series[key].list_points(start - step_s, end + 1e-6),
                start=start,
                end=end,
                step_s=step_s,
                reduction=query.reduction,
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

    def _get_tiers(self, key: Key) -> Tiers:
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = Tiers()
            self._names.setdefault(key[0], set()).add(key)
        return found

    # --- what is written

    def _decide(self, rows: Mapping[Key, list[float]]) -> list[Ticket]:
        newest = max(numbers[-2] for numbers in rows.values())
        self._sequence += 1
        name = f"{int(newest // HOUR_S):010d}-{self._sequence:010d}"
        with self._store.transaction():
            return [*self._seal(), self._put(_BATCH, name, rows)]

    def _reopen(self) -> None:
        """Mark hours as not sealed that are not over by the clock.

        The clock was ahead and was corrected: samples of these hours are still to come.
        """
        self._sealed = min(self._sealed, self._find_over())

    def _find_over(self) -> float:
        """The end of the last hour that is over."""
        return _find_hour(self._clock.now().timestamp() - GRACE_S)

    def _seal(self) -> Iterator[Ticket]:
        """Roll up every hour that is over, and delete what is not needed any more."""
        over = self._find_over()
        if over <= self._sealed:
            return
        hours = {
            hour
            for tiers in self._series.values()
            for hour in tiers.list_raw_hours(self._sealed, over)
        }
        for hour in sorted(hours | self._late):
            yield from self._seal_hour(hour)
        self._sealed = over
        self._late.clear()
        yield from self._delete_old()

    def _seal_hour(self, hour: float) -> Iterator[Ticket]:
        fine: dict[Key, list[float]] = {}
        coarse: dict[Key, list[float]] = {}
        for key, tiers in self._series.items():
            fine_points, coarse_points = tiers.seal(hour, hour + HOUR_S)
            if fine_points:
                fine[key] = list(chain.from_iterable(fine_points))
            if coarse_points:
                coarse[key] = list(chain.from_iterable(coarse_points))
        name = f"{int(hour // HOUR_S):010d}"
        if fine:
            yield self._put(_FINE, name, fine)
        if coarse:
            yield self._put(_COARSE, name, coarse)

    def _put(self, kind: str, name: str, rows: Mapping[Key, list[float]]) -> Ticket:
        data = _encoder.encode([(key[0], key[1], numbers) for key, numbers in rows.items()])
        return self._store.put(StoreKey(kind, "", name), lambda _: data)

    def _trim(self) -> None:
        for key, tiers in list(self._series.items()):
            tiers.drop_raw_before(self._raw_from)
            tiers.fine.drop_before(self._fine_from)
            tiers.coarse.drop_before(self._coarse_from)
            if tiers.is_empty:
                del self._series[key]
                self._names[key[0]].discard(key)

    def _delete_old(self) -> Iterator[Ticket]:
        snapshot = self._store.snapshot()
        hours = [_find_end(entry) for entry in snapshot.range(_COARSE)]
        self._coarse_from = find_settled(hours, before=self._sealed) - self._retention_s
        limits = (
            (_BATCH, self._raw_from),
            (_FINE, self._fine_from),
            (_COARSE, self._coarse_from),
        )
        for kind, moment in limits:
            for entry in snapshot.range(kind):
                if _find_end(entry) > moment:
                    break
                yield self._store.delete(entry.key, lambda _: b"")

    def _load(self) -> None:
        snapshot = self._store.snapshot()
        for entry in snapshot.range(_COARSE):
            self._sealed = _find_end(entry)
        for kind, column in ((_FINE, "fine"), (_COARSE, "coarse")):
            for entry in snapshot.range(kind):
                for name, labels, numbers in _rows.decode(entry.value):
                    target: Column = getattr(self._get_tiers((name, labels)), column)
                    for at in range(0, len(numbers), 6):
                        target.append(Point(*numbers[at : at + 6]))
        for entry in snapshot.range(_BATCH):
            self._sequence = max(self._sequence, int(entry.key.name[11:]))
            for name, labels, numbers in _rows.decode(entry.value):
                self._get_tiers((name, labels)).add_all(numbers)
        oldest = (each.raw_times[0] for each in self._series.values() if each.raw_times)
        first = min(oldest, default=self._sealed)
        # Hours that have samples are sealed once more; if they were before, nothing changes.
        self._sealed = min(self._sealed, _find_hour(first))
        self._reopen()


def find_settled(hours: Sequence[float], *, before: float) -> float:
    """The newest time with enough hours of samples since then; 0 if there is none.

    `hours` are the ends of the hours with samples, in order; those after `before` do not count.
    """
    over = [each for each in hours if each <= before]
    return over[-SETTLED_HOURS] if len(over) >= SETTLED_HOURS else 0.0


def _find_end(entry: Entry) -> float:
    """The end of the hour of an entry, which its name begins with."""
    return (int(entry.key.name[:10]) + 1) * HOUR_S


def _find_hour(at: float) -> float:
    """The beginning of the hour of a time."""
    return math.floor(at / HOUR_S) * HOUR_S


def _matches(labels: Labels, wanted: Mapping[str, tuple[str, ...]]) -> bool:
    have = dict(labels)
    return all(have.get(name, "") in values for name, values in wanted.items())
