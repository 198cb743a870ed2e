"""What storage raises.

```
StorageError
├── RevisionConflict   the key is not at the revision the writer expected
├── Compacted          the revision asked for is older than the history kept
├── FutureRevision     the revision asked for has not happened yet
├── SlowWatcher        a watcher did not keep up and was dropped
├── Overloaded         more writes wait for the disk than may wait
├── Closed             the store is closed
├── CommitFailed       the disk refused a write; nothing of it was published
│   └── DiskFull       because no space is left
└── OpenFailed         the database cannot be used; it was left as it is
    ├── Locked         another process has it open
    ├── NoSpace        the disk is full
    ├── Damaged        it is not a database of ours, or a broken one
    │   └── WritesLost acknowledged writes are gone; the rest can be used if that is accepted
    └── NewerFormat    a newer version of the program wrote it
```
"""

__all__ = [
    "Closed",
    "CommitFailed",
    "Compacted",
    "Damaged",
    "DiskFull",
    "FutureRevision",
    "Locked",
    "NewerFormat",
    "NoSpace",
    "OpenFailed",
    "Overloaded",
    "RevisionConflict",
    "SlowWatcher",
    "StorageError",
    "WritesLost",
]


class StorageError(Exception):
    """Root of everything this layer raises."""


class RevisionConflict(StorageError):
    """Raised when a key is not at the revision the writer expected; `current` 0 means absent."""

    def __init__(self, key: object, expected: int | None, current: int) -> None:
        wanted = "any existing revision" if expected is None else f"revision {expected}"
        found = f"revision {current}" if current else "absent"
        super().__init__(f"{key}: expected {wanted}, but it is {found}")
        self.key = key
        self.expected = expected
        self.current = current


class Compacted(StorageError):
    """Raised when a revision is older than the history kept; `oldest` is the oldest readable."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} was compacted, the oldest kept is {oldest}")
        self.requested = requested
        self.oldest = oldest


class FutureRevision(StorageError):
    """Raised when a revision has not happened yet; `current` is the newest there is."""

    def __init__(self, requested: int, current: int) -> None:
        super().__init__(f"revision {requested} is in the future, the newest is {current}")
        self.requested = requested
        self.current = current


class SlowWatcher(StorageError):
    """Raised from a watcher that was dropped: resume after the last revision received."""

    def __init__(self, buffer: int) -> None:
        super().__init__(f"the watcher fell more than {buffer} events behind and was dropped")
        self.buffer = buffer


class Overloaded(StorageError):
    """Raised when too many writes wait for the disk already; try again shortly."""


class Closed(StorageError):
    """Raised when a closed store is used."""


class CommitFailed(StorageError):
    """Raised from a ticket whose write did not become durable; it was undone everywhere."""


class DiskFull(CommitFailed):
    """Raised from a ticket whose write found no space left on the disk."""


class OpenFailed(StorageError):
    """Raised when a database cannot be used; it was left untouched."""


class Locked(OpenFailed):
    """Raised when another process has the database open."""


class NoSpace(OpenFailed):
    """Raised when a database cannot be opened because the disk is full."""


class Damaged(OpenFailed):
    """Raised when a file is not a database of ours, or a broken one."""


class WritesLost(Damaged):
    """Raised when acknowledged writes are gone or damaged, and the other ones can be read."""


class NewerFormat(OpenFailed):
    """Raised when a newer version of the program wrote the database."""
