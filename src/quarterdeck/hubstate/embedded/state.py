"""The state store in the data directory: Redis' data model on the revisioned store.

One key is one entry. The writes of one commit become durable together and are seen together.
Expired keys read as absent at once and are deleted by the next commit.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from quarterdeck.hubstate.embedded import values
from quarterdeck.hubstate.embedded.broker import Broker
from quarterdeck.hubstate.embedded.deadlines import Deadlines
from quarterdeck.hubstate.embedded.values import Hash, Items, Members, Scored, Text, Value
from quarterdeck.hubstate.errors import HubStateError, StoreRefused, StoreUnavailable
from quarterdeck.hubstate.ports import Message
from quarterdeck.hubstate.writes import DeleteIfEqual, DeleteKeys, ExtendTtl, Publish, Write
from quarterdeck.kit.clock import Clock
from quarterdeck.storage import (
    Closed,
    CommitFailed,
    Entry,
    OpenFailed,
    StorageError,
    Store,
    StoreEvent,
    StoreKey,
    Ticket,
    open_memory,
    open_sqlite,
)

_RESOURCE = "hub"
_RETAIN = 16
"""Past revisions kept; few, because nothing watches or reads at a revision here."""


def open_embedded(
    path: Path | None, *, clock: Clock, max_bytes: int | None = None
) -> "EmbeddedState":
    """Open the store in a file, or in memory without a path; blocks while it loads.

    Raises:
        StoreUnavailable: if the file cannot be used.
    """
    if path is None:
        return EmbeddedState(open_memory(derive=_derive, history_events=_RETAIN), clock=clock)
    try:
        store = open_sqlite(
            path, derive=_derive, retain=_RETAIN, history_events=_RETAIN, max_bytes=max_bytes
        )
    except OpenFailed as error:
        raise StoreUnavailable(f"cannot open the state of the hub: {error}") from error
    return EmbeddedState(store, clock=clock)


def _derive(_: str, data: bytes) -> object:
    return values.decode(data)


class EmbeddedState:
    """Implements `StateStore` on a store of our own."""

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._broker = Broker()
        self._deadlines = Deadlines()
        self._entries: dict[str, Entry] = {}
        """The durable entries by key, because a dict is faster to read than the sorted store."""
        for entry in store.snapshot().range(_RESOURCE):
            self._entries[entry.key.name] = entry
            self._note_deadline(entry.key.name, _value(entry.facts))
        store.subscribe(self._on_writes)

    async def get(self, key: str) -> bytes | None:
        """Return a string value; None if it is absent."""
        found = values.check_type(self._read(key), Text, key)
        return found.value if found else None

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """String values in the order of the keys; a key of another type reads as absent."""
        now, get = self._now(), self._entries.get
        found: list[bytes | None] = []
        for key in keys:  # lists of clusters read thousands of them
            entry = get(key)
            value = entry.facts if entry is not None else None
            if type(value) is Text and (value.expires_at is None or value.expires_at > now):
                found.append(value.value)
            else:
                found.append(None)
        return found

    async def get_fields(self, key: str) -> Mapping[str, str]:
        """Return all fields of a hash."""
        found = values.check_type(self._read(key), Hash, key)
        return found.fields if found else {}

    async def get_members(self, key: str) -> frozenset[str]:
        """Return all members of a set."""
        found = values.check_type(self._read(key), Members, key)
        return found.members if found else frozenset()

    async def get_scored_members(
        self, key: str, *, lowest: float | None = None, highest: float | None = None
    ) -> list[tuple[str, float]]:
        """Members of a sorted set with a score in the range, lowest first."""
        found = values.check_type(self._read(key), Scored, key)
        low = float("-inf") if lowest is None else lowest
        high = float("inf") if highest is None else highest
        chosen = [
            each for each in (found.members if found else {}).items() if low <= each[1] <= high
        ]
        return sorted(chosen, key=lambda each: (each[1], each[0]))

    async def get_items(self, key: str, *, limit: int) -> list[bytes]:
        """Return the newest items of a list."""
        found = values.check_type(self._read(key), Items, key)
        return list(found.items[:limit]) if found else []

    async def list_keys(self, prefix: str) -> list[str]:
        """List the keys that begin with `prefix`, sorted."""
        now = self._now()
        return [name for name, value in self._iterate(prefix) if values.drop_expired(value, now)]

    async def commit(self, writes: Sequence[Write]) -> None:
        """Carry out all writes, or none."""
        now = self._now()
        expired = list(self._find_expired(now))
        try:
            await _wait_durable(self._decide(self._plan(writes, expired, now)))
        except HubStateError:
            for key in expired:  # a later commit deletes them
                self._deadlines.note(key, now)
            raise
        for write in writes:
            if isinstance(write, Publish):
                self._broker.publish(Message(write.channel, write.message))

    async def ping(self) -> None:
        """Does nothing: the store is in this process."""

    def subscribe(self, *channels: str) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """Messages published on the channels from now on."""
        return self._broker.subscribe(*channels)

    async def aclose(self) -> None:
        """Wait until decided writes are durable, and close the file."""
        self._broker.close()
        await self._store.close()

    # --- how a commit is planned and decided

    def _plan(
        self, writes: Sequence[Write], expired: Sequence[str], now: float
    ) -> dict[str, Value | None]:
        """The value of every changed key after all writes; None where it is deleted."""
        planned: dict[str, Value | None] = dict.fromkeys(expired)
        for write in writes:
            match write:
                case Publish():
                    continue
                case DeleteKeys():
                    planned.update(dict.fromkeys(write.keys))
                case DeleteIfEqual(key, value):
                    before = self._get_planned(planned, key, now)
                    if isinstance(before, Text) and before.value == value:
                        planned[key] = None
                case ExtendTtl():
                    self._plan_longer(write, planned, now)
                case _:
                    key = write.key
                    before = self._get_planned(planned, key, now)
                    planned[key] = values.apply_write(before, write, now)
        return planned

    def _plan_longer(self, write: ExtendTtl, planned: dict[str, Value | None], now: float) -> None:
        for key in write.keys:
            value = self._get_planned(planned, key, now)
            if value is not None:
                planned[key] = values.extend_ttl(value, now + write.ttl_s)

    def _get_planned(
        self, planned: Mapping[str, Value | None], key: str, now: float
    ) -> Value | None:
        """The value of a key after the writes that are planned so far."""
        return planned[key] if key in planned else self._get_pending(key, now)

    def _decide(self, planned: Mapping[str, Value | None]) -> list[Ticket]:
        try:
            with self._store.transaction():
                return list(self._put(planned))
        except StorageError as error:
            raise _translate(error) from error

    def _put(self, planned: Mapping[str, Value | None]) -> Iterator[Ticket]:
        for key, value in planned.items():
            where = StoreKey(_RESOURCE, "", key)
            if value is not None:
                data = values.encode(value)
                yield self._store.put(where, _build_encoder(data), facts=value)
                self._note_deadline(key, value)
            elif self._store.get_pending(where) is not None:
                yield self._store.delete(where, lambda _: b"")

    def _find_expired(self, now: float) -> Iterator[str]:
        for key in self._deadlines.take_due(now):
            entry = self._store.get_pending(StoreKey(_RESOURCE, "", key))
            value = _value(entry.facts) if entry is not None else None
            if value is None:
                continue
            if values.drop_expired(value, now) is None:
                yield key
            else:
                self._note_deadline(key, value)

    def _note_deadline(self, key: str, value: Value) -> None:
        if value.expires_at is not None:
            self._deadlines.note(key, value.expires_at)

    # --- reads

    def _get_pending(self, key: str, now: float) -> Value | None:
        entry = self._store.get_pending(StoreKey(_RESOURCE, "", key))
        return values.drop_expired(_value(entry.facts), now) if entry is not None else None

    def _read(self, key: str) -> Value | None:
        entry = self._entries.get(key)
        return values.drop_expired(_value(entry.facts), self._now()) if entry is not None else None

    def _on_writes(self, events: Sequence[StoreEvent]) -> None:
        """Update the entries; the store calls this in order, before a commit returns."""
        for event in events:
            if event.after is not None:
                self._entries[event.key.name] = event.after
            else:
                self._entries.pop(event.key.name, None)

    def _iterate(self, prefix: str) -> Iterator[tuple[str, Value]]:
        snapshot = self._store.snapshot()
        first = snapshot.get(StoreKey(_RESOURCE, "", prefix))
        if first is not None:
            yield prefix, _value(first.facts)
        for entry in snapshot.range(_RESOURCE, after=("", prefix)):
            if not entry.key.name.startswith(prefix):
                return
            yield entry.key.name, _value(entry.facts)

    def _now(self) -> float:
        return self._clock.now().timestamp()


async def _wait_durable(tickets: Sequence[Ticket]) -> None:
    try:
        for ticket in tickets:
            await ticket
    except StorageError as error:
        raise _translate(error) from error


def _build_encoder(data: bytes) -> Callable[[int], bytes]:
    return lambda _: data


def _value(facts: object) -> Value:
    assert isinstance(facts, Text | Hash | Members | Scored | Items)
    return facts


def _translate(error: StorageError) -> HubStateError:
    if isinstance(error, CommitFailed):
        return StoreRefused(f"cannot write the state of the hub: {error}")
    if isinstance(error, Closed):
        return StoreUnavailable("the state of the hub is closed")
    return StoreUnavailable(f"cannot write the state of the hub now: {error}")
