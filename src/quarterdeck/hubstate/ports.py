"""The two ports of the hub: the current state, and samples over time."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Literal, Protocol

import msgspec

from quarterdeck.hubstate.writes import Write

Reduction = Literal["avg", "min", "max", "last"]
"""How the samples of one step are reduced to one point."""


class Message(msgspec.Struct, frozen=True):
    """A message that was published on a channel."""

    channel: str
    data: bytes


class StateReader(Protocol):
    """Reads the current state. An absent key reads as None or as empty.

    Raises:
        StoreUnavailable: if the store cannot be reached.
        StoreRefused: if a key holds another type.
    """

    async def get(self, key: str) -> bytes | None:
        """Return a string value; None if it is absent."""
        ...

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """String values in the order of the keys, in one round trip."""
        ...

    async def get_fields(self, key: str) -> Mapping[str, str]:
        """Return all fields of a hash."""
        ...

    async def get_members(self, key: str) -> frozenset[str]:
        """Return all members of a set."""
        ...

    async def get_scored_members(
        self, key: str, *, lowest: float | None = None, highest: float | None = None
    ) -> list[tuple[str, float]]:
        """Members of a sorted set with a score in the range, lowest first."""
        ...

    async def get_items(self, key: str, *, limit: int) -> list[bytes]:
        """Return the newest items of a list."""
        ...

    async def list_keys(self, prefix: str) -> list[str]:
        """List the keys that begin with `prefix`."""
        ...


class StateStore(StateReader, Protocol):
    """Reads and changes the current state."""

    async def commit(self, writes: Sequence[Write]) -> None:
        """Apply all writes, or none; returning means that they are durable.

        On Redis Cluster each key is written separately: if a server fails meanwhile, the writes
        to the other servers remain.

        Raises:
            StoreUnavailable: if the store cannot be reached.
            StoreRefused: if the store refuses; nothing is written.
        """
        ...

    async def ping(self) -> None:
        """Find out whether the store answers.

        Raises:
            StoreUnavailable: if it does not.
        """
        ...

    def subscribe(self, *channels: str) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """Subscribe to messages that are published on the channels from now on.

        A subscriber that is too slow loses the oldest messages: a message only says that
        something changed, and the current state is read from the store.
        """
        ...

    async def aclose(self) -> None:
        """Close connections and files."""
        ...


class Sample(msgspec.Struct, frozen=True):
    """One measured value. `labels` are sorted by name, so that equal series compare as equal."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float
    at: datetime


class Series(msgspec.Struct, frozen=True):
    """Points of one series, oldest first: (unix seconds, value)."""

    name: str
    labels: tuple[tuple[str, str], ...]
    points: tuple[tuple[float, float], ...]


class RangeQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query for series: which ones, over which time range, at which resolution.

    `labels` give the values a label may have; a label that is not named may have any.
    """

    name: str
    labels: Mapping[str, tuple[str, ...]] = {}
    start: datetime
    end: datetime
    step: timedelta
    reduction: Reduction = "avg"


class History(Protocol):
    """Samples over time."""

    async def write(self, samples: Sequence[Sample]) -> None:
        """Store samples; NaN and infinities are skipped.

        Raises:
            HistoryUnavailable: if they could not be stored after the driver's own retries.
            HistoryRefused: if some can never be stored; the others are.
        """
        ...

    async def query_range(self, query: RangeQuery) -> list[Series]:
        """Matching series, ordered by their labels.

        Raises:
            HistoryUnavailable: if the back end does not answer.
        """
        ...

    async def aclose(self) -> None:
        """Write buffered samples, then close."""
        ...
