"""The log on SQLite: what is acknowledged is on the disk.

One append-only table. A row is one write, keyed by its revision, and names the row it replaced; the
state is the fold of all rows. A value is therefore written once, no index but the key is kept, and
compaction finds what is superseded by walking the newer rows: it deletes by key, a few hundred rows
at a time, and gives pages back. All statements run on one thread; readers of the present never come
here. The write-ahead log is copied back by ourselves, between commits, when it has grown.

A new database is made complete under another name and then renamed, so a file of the right name is
always one of ours; an existing one is read in full before anything opens it for writing.
"""

import gc
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple

from quarterdeck.storage.errors import (
    CommitFailed,
    Damaged,
    DiskFull,
    NewerFormat,
    OpenFailed,
    StorageError,
)
from quarterdeck.storage.history import History
from quarterdeck.storage.lockfile import LockFile
from quarterdeck.storage.log import Compacting, Done
from quarterdeck.storage.state import State
from quarterdeck.storage.store import Store
from quarterdeck.storage.types import Derive, Entry, StoreEvent, StoreKey, lazy_facts
from quarterdeck.storage.worker import Worker

__all__ = ["Durability", "open_sqlite"]

Durability = Literal["full", "normal"]
"""`full`: an acknowledged write survives power loss. `normal`: it survives the process only."""

MAGIC: Final = b"SQLite format 3\0"
APPLICATION: Final = 0x51444B31
FORMAT: Final = 1
PAGE: Final = 8192

HISTORY_EVENTS: Final = 10_000
HISTORY_BYTES: Final = 32 * 1024 * 1024
RETAIN: Final = 20_000
"""How many of the newest events are kept in the log, at least."""

COMPACT_ROWS: Final = 200
READ_BYTES: Final = 4 * 1024 * 1024
CHECKPOINT_PAGES: Final = 1000
VACUUM_PAGES: Final = 256
BUSY_S: Final = 30.0

SCHEMA: Final = """
CREATE TABLE log(
  revision  INTEGER PRIMARY KEY,
  resource  TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name      TEXT NOT NULL,
  created   INTEGER NOT NULL,
  replaced  INTEGER NOT NULL,
  value     BLOB NOT NULL
);
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('compacted', 1);
"""
"""`created` is 0 for a deletion; `replaced` is the revision before, 0 for a creation."""

INSERT: Final = "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)"
LOAD: Final = "SELECT revision, resource, namespace, name, created, value FROM log ORDER BY 1"
READ: Final = """
SELECT new.*, old.created, old.value FROM log AS new
LEFT JOIN log AS old ON old.revision = new.replaced
WHERE new.revision > ? ORDER BY new.revision LIMIT ?
"""
SUPERSEDED: Final = """
SELECT revision, created, replaced FROM log
WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?
"""


def open_sqlite(
    path: Path | str,
    *,
    durability: Durability = "full",
    derive: Derive | None = None,
    retain: int = RETAIN,
    max_bytes: int | None = None,
    history_events: int = HISTORY_EVENTS,
    history_bytes: int = HISTORY_BYTES,
) -> Store:
    """Open a database, or make a new one. Blocks while it loads; may run on another thread.

    `retain` newest events at least can be watched and read at. With `max_bytes` a file of that size
    counts as a full disk.

    Raises:
        Locked: if another process has it open.
        Damaged: if it is not one of ours, or broken. It is left as it is.
        NewerFormat: if a newer version wrote it. It is left as it is.
        OpenFailed: if the file system refuses.
    """
    path = Path(path)
    history = partial(History, max_events=history_events, max_bytes=history_bytes)
    try:
        lock = LockFile(path.with_name(f"{path.name}.lock"))
    except OSError as error:
        raise OpenFailed(f"{path} cannot be locked: {error.strerror}") from error
    try:
        with _refusing(path):
            if not path.exists():
                _create(path)
            _check_header(path)
            loaded = _load(path, derive, keep=history_events)
            connection = _connect(path, durability, max_bytes=max_bytes)
    except BaseException:
        lock.release()
        raise
    recent = history(floor=loaded.floor)
    recent.extend(loaded.events)
    return Store(
        SqliteLog(connection, lock, facts=lazy_facts(derive)),
        state=loaded.state,
        history=recent,
        revision=loaded.revision,
        compacted=loaded.compacted,
        retain=retain,
        derive=derive,
    )


class SqliteLog:
    """Implements `Log`. The connection is used by the worker's thread alone."""

    def __init__(self, connection: sqlite3.Connection, lock: LockFile, *, facts: object) -> None:
        self._connection = connection
        self._lock = lock
        self._facts = facts
        self._worker = Worker("quarterdeck-storage")
        self._grown = 0
        """About how many pages the write-ahead log has grown since it was copied back."""

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        """Append rows in one transaction."""

        def finished(_: None, error: Exception | None) -> None:
            done(None if error is None else _translate(error))
            if self._grown > CHECKPOINT_PAGES:
                self._grown = 0
                self._worker.submit(self._checkpoint, lambda _result, _error: None)

        self._worker.submit(partial(self._append, events), finished)

    async def read(self, after: int, limit: int) -> list[StoreEvent]:
        """Read a page of older events, bounded in bytes too."""
        try:
            return await self._worker.call(partial(self._page, after, limit))
        except sqlite3.Error as error:
            raise _translate(error) from error

    def compact(self, after: int, upto: int, done: Compacting) -> None:
        """Delete a few superseded rows."""

        def finished(reached: int | None, error: Exception | None) -> None:
            done(reached or after, None if error is None else _translate(error))

        self._worker.submit(partial(self._delete_superseded, after, upto), finished)

    async def close(self) -> None:
        """Copy the write-ahead log back and let go of the file, the lock and the thread."""
        try:
            await self._worker.call(self._shut)
        finally:
            self._worker.stop()
            self._lock.release()

    def _append(self, events: Sequence[StoreEvent]) -> None:
        rows = [_row(event) for event in events]
        with self._transaction() as connection:
            connection.executemany(INSERT, rows)
        self._grown += 2 + len(rows) // 16 + sum(len(row[-1]) for row in rows) // PAGE

    def _page(self, after: int, limit: int) -> list[StoreEvent]:
        events: list[StoreEvent] = []
        size = 0
        with closing(self._connection.execute(READ, (after, limit))) as rows:
            for row in rows:
                event = _event(row, self._facts)
                events.append(event)
                size += event.size
                if size > READ_BYTES:
                    break
        return events

    def _delete_superseded(self, after: int, upto: int) -> int:
        rows = self._connection.execute(SUPERSEDED, (after, upto, COMPACT_ROWS)).fetchall()
        reached: int = rows[-1][0] if len(rows) == COMPACT_ROWS else upto
        doomed = [(replaced,) for _, _, replaced in rows if replaced]
        doomed += [(revision,) for revision, created, _ in rows if not created]
        with self._transaction() as connection:
            connection.executemany("DELETE FROM log WHERE revision = ?", doomed)
            connection.execute("UPDATE meta SET value = ? WHERE key = 'compacted'", (reached,))
        self._grown += 2 + len(doomed)
        self._give_back()
        return reached

    def _give_back(self) -> None:
        """Return free pages to the file system when a good part of the file is free."""
        free, total = (self._pragma(f"{what}_count") for what in ("freelist", "page"))
        if free > VACUUM_PAGES // 4 and free * 4 > total:
            # One page is returned per step, and only a script steps to the end.
            self._connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    def _checkpoint(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _shut(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            pass  # all of it is in the write-ahead log, the next start reads it there
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


class _Loaded(NamedTuple):
    state: State
    events: list[StoreEvent]
    floor: int
    revision: int
    compacted: int


def _row(event: StoreEvent) -> tuple[int, str, str, str, int, int, bytes]:
    after, before = event.after, event.before
    created = after.created_revision if after is not None else 0
    value = after.value if after is not None else event.tombstone or b""
    replaced = before.revision if before is not None else 0
    key = event.key
    return event.revision, key.resource, key.namespace, key.name, created, replaced, value


def _event(
    row: tuple[int, str, str, str, int, int, bytes, int, bytes], facts: object
) -> StoreEvent:
    revision, resource, namespace, name, created, replaced, value, old_created, old_value = row
    key = StoreKey(sys.intern(resource), sys.intern(namespace), name)
    before = None
    if replaced:
        if old_value is None:
            raise Damaged(f"revision {replaced}, which {revision} replaced, is missing in the log")
        before = Entry(key, replaced, created_revision=old_created, value=old_value, _facts=facts)
    if not created:
        return StoreEvent(revision, key, before=before, after=None, tombstone=value)
    after = Entry(key, revision, created_revision=created, value=value, _facts=facts)
    return StoreEvent(revision, key, before=before, after=after)


def _create(path: Path) -> None:
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and wal.stat().st_size:
        raise Damaged(f"{wal} is there but {path} is not: restore it, or move the first away")
    draft = path.with_name(f"{path.name}.new")
    for leftover in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-journal"))):
        leftover.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        # Nobody looks at a draft: one sync at the end is enough.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
            f"{SCHEMA} COMMIT;"
        )
    _sync(draft)
    draft.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_header(path: Path) -> None:
    """Look at the first bytes, before SQLite may decide to repair anything."""
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(MAGIC):
        raise Damaged(f"{path} is not a database: restore it from a backup, or move it away")
    version, application = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    if application != APPLICATION:
        raise Damaged(f"{path} belongs to another program: choose another data directory")
    if version > FORMAT:
        raise NewerFormat(
            f"{path} has format {version}, this version knows {FORMAT}: use a newer version"
        )


def _load(path: Path, derive: Derive | None, *, keep: int) -> _Loaded:
    """Fold the log into the state, read-only, with the newest events kept as history."""
    facts = lazy_facts(derive)
    entries: dict[StoreKey, Entry] = {}
    events: list[StoreEvent] = []
    intern = sys.intern
    with closing(_connect_read_only(path)) as connection, _without_collection():
        compacted, newest = connection.execute(
            "SELECT value, (SELECT max(revision) FROM log) FROM meta WHERE key = 'compacted'"
        ).fetchone() or (None, None)
        if not isinstance(compacted, int):
            raise Damaged(f"{path} does not say up to where it is compacted")
        revision = max(newest or 0, compacted)
        floor = max(compacted, revision - keep)
        for number, resource, namespace, name, created, value in connection.execute(LOAD):
            key = StoreKey(intern(resource), intern(namespace), name)
            if created:
                after = Entry(key, number, created_revision=created, value=value, _facts=facts)
                if number > floor:
                    before = entries.get(key)
                    events.append(StoreEvent(number, key, before=before, after=after))
                entries[key] = after
            else:
                before = entries.pop(key, None)
                if number > floor:
                    gone = StoreEvent(number, key, before=before, after=None, tombstone=value)
                    events.append(gone)
        state = State.load(entries.values())
    return _Loaded(state, events, floor, revision, compacted)


def _connect_read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _connect(path: Path, durability: Durability, *, max_bytes: int | None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=BUSY_S
    )
    connection.execute(f"PRAGMA synchronous = {durability}")
    connection.execute(f"PRAGMA fullfsync = {int(durability == 'full')}")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA journal_size_limit = {2 * CHECKPOINT_PAGES * PAGE}")
    if max_bytes is not None:
        connection.execute(f"PRAGMA max_page_count = {max(1, max_bytes // PAGE)}")
    return connection


@contextmanager
def _without_collection() -> Iterator[None]:
    """Loading makes many objects and no garbage; searching for it would take half the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say what is wrong with a database that cannot be opened."""
    try:
        yield
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorname in _ENVIRONMENT:
            raise OpenFailed(f"{path} cannot be opened: {error}") from error
        raise Damaged(
            f"{path} is damaged ({error}): restore it from a backup, or move it away"
        ) from error
    except OSError as error:
        raise OpenFailed(f"{path} cannot be opened: {error.strerror}") from error


_ENVIRONMENT: Final = frozenset(
    {"SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_BUSY"}
)


def _translate(error: Exception) -> StorageError:
    """Name what the disk said in our own words."""
    if isinstance(error, StorageError):
        return error
    if isinstance(error, sqlite3.Error) and error.sqlite_errorname == "SQLITE_FULL":
        failure: StorageError = DiskFull("no space is left on the disk, the write was undone")
    else:
        failure = CommitFailed(f"the write was undone, the database refused it: {error}")
    failure.__cause__ = error
    return failure
