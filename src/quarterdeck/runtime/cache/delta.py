"""What a reflector received from the server, for the cache."""

from collections.abc import Sequence

import msgspec

from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot


class Upsert(msgspec.Struct, frozen=True):
    """An object was added or changed; the snapshot is its new state."""

    snapshot: Snapshot
    metadata: Metadata


class Remove(msgspec.Struct, frozen=True):
    """An object was deleted; the snapshot is its last state."""

    snapshot: Snapshot
    metadata: Metadata


class Progress(msgspec.Struct, frozen=True):
    """All events up to a version have been received."""

    version: int


class Replace(msgspec.Struct, frozen=True):
    """All objects at a version: an object that is not listed does not exist (R2)."""

    snapshots: Sequence[Snapshot]
    version: int
    is_reset: bool = False
    """Whether the server lost its history, or no longer serves the kind: this list then replaces
    also stored states that have a newer version."""


Delta = Upsert | Remove | Progress | Replace
