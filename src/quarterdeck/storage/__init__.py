"""A revisioned store: append, read at a revision, watch after one, compact.

The server's handlers decide writes here, and durable writes are delivered to watchers (rows 6 and 7
of "The road of one object" in docs/explanation/architecture.md). It is independent of Kubernetes
except for the form of a key, and imports `kit` only (a contract in pyproject.toml).

Start reading at `store.py`, then `sequencer.py` (how writes become durable), `state.py` (how
snapshots share memory) and `sqlite` (how the disk is used).
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.storage.errors import (
        Closed,
        CommitFailed,
        Compacted,
        Damaged,
        DiskFull,
        FutureRevision,
        Locked,
        NewerFormat,
        OpenFailed,
        Overloaded,
        RevisionConflict,
        SlowWatcher,
        StorageError,
        WritesLost,
    )
    from quarterdeck.storage.hub import Watcher
    from quarterdeck.storage.memory import open_memory
    from quarterdeck.storage.sequencer import Ticket
    from quarterdeck.storage.sqlite import open_sqlite
    from quarterdeck.storage.state import Snapshot
    from quarterdeck.storage.store import Statistics, Store
    from quarterdeck.storage.types import ANY, Derive, Entry, StoreEvent, StoreKey

__all__ = [
    "ANY",
    "Closed",
    "CommitFailed",
    "Compacted",
    "Damaged",
    "Derive",
    "DiskFull",
    "Entry",
    "FutureRevision",
    "Locked",
    "NewerFormat",
    "OpenFailed",
    "Overloaded",
    "RevisionConflict",
    "SlowWatcher",
    "Snapshot",
    "Statistics",
    "StorageError",
    "Store",
    "StoreEvent",
    "StoreKey",
    "Ticket",
    "Watcher",
    "WritesLost",
    "open_memory",
    "open_sqlite",
]

_HOMES = {
    "errors": (
        "Closed",
        "CommitFailed",
        "Compacted",
        "Damaged",
        "DiskFull",
        "FutureRevision",
        "Locked",
        "NewerFormat",
        "OpenFailed",
        "Overloaded",
        "RevisionConflict",
        "SlowWatcher",
        "StorageError",
        "WritesLost",
    ),
    "hub": ("Watcher",),
    "memory": ("open_memory",),
    "sequencer": ("Ticket",),
    "sqlite": ("open_sqlite",),
    "state": ("Snapshot",),
    "store": ("Statistics", "Store"),
    "types": ("ANY", "Derive", "Entry", "StoreEvent", "StoreKey"),
}

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, _HOMES)
