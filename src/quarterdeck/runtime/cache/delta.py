"""What a reflector learnt from the server, for the cache."""

from collections.abc import Sequence
from typing import NamedTuple

from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot


class Upsert(NamedTuple):
    """An object is as the snapshot says."""

    snapshot: Snapshot
    metadata: Metadata


class Remove(NamedTuple):
    """An object is gone; the snapshot is its last state."""

    snapshot: Snapshot
    metadata: Metadata


class Progress(NamedTuple):
    """Everything up to a version has been told."""

    version: int


class Replace(NamedTuple):
    """The whole truth at a version: what is not in it does not exist (R2)."""

    snapshots: Sequence[Snapshot]
    version: int
    is_reset: bool = False
    """The server's history went back: older versions than ours are the truth now."""


Delta = Upsert | Remove | Progress | Replace
