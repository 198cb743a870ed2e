"""The log itself: appended to, read back, compacted, all on one thread."""

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from typing import Any, Final

from quarterdeck.storage.encryption import Cipher
from quarterdeck.storage.errors import Damaged
from quarterdeck.storage.lockfile import LockFile
from quarterdeck.storage.log import CompactDone, Done
from quarterdeck.storage.sqlite.checksum import compute_checksum
from quarterdeck.storage.sqlite.errors import translate_error
from quarterdeck.storage.sqlite.file import CHECKPOINT_PAGES, PAGE
from quarterdeck.storage.sqlite.mark import Mark
from quarterdeck.storage.types import Entry, StoreEvent, StoreKey
from quarterdeck.storage.worker import Worker

COMPACT_ROWS: Final = 200
"""Rows read in one step of compaction, so that a commit never waits long for it."""
READ_BYTES: Final = 4 * 1024 * 1024
"""Limit of the bytes in one page of events."""
VACUUM_PAGES: Final = 256
"""Pages given back to the file system at once."""

INSERT_ROWS: Final = 32
"""Rows inserted by one statement. Each statement releases the GIL and must get it back from the
event loop, so one statement per row would cost both threads more than the row itself."""
READ: Final = """
SELECT new.*, old.* FROM log AS new
LEFT JOIN log AS old ON old.revision = new.replaced
WHERE new.revision > ? ORDER BY new.revision LIMIT ?
"""
SUPERSEDED: Final = """
SELECT revision, created, replaced FROM log
WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?
"""


class SqliteLog:
    """Implements `Log`. The connection is used by the worker's thread alone."""

    is_costly = True

    def __init__(
        self,
        connection: sqlite3.Connection,
        lock: LockFile,
        *,
        mark: Mark,
        facts: object,
        cipher: Cipher | None = None,
    ) -> None:
        self._cipher = cipher
        self._connection = connection
        self._lock = lock
        self._mark = mark
        self._facts = facts
        self._worker = Worker("quarterdeck-storage")
        self._grown = 0
        """About how many pages the write-ahead log has grown since it was copied back."""

    def commit(self, events: Sequence[StoreEvent], done: Done) -> None:
        """Append rows in one transaction."""

        def finished(_: None, error: Exception | None) -> None:
            done(None if error is None else translate_error(error))
            if self._grown > CHECKPOINT_PAGES:
                self._grown = 0
                self._worker.submit(self._checkpoint, lambda _result, _error: None)

        self._worker.submit(partial(self._append, events), finished)

    async def read(self, after: int, limit: int) -> list[StoreEvent]:
        """Read a page of older events, bounded in bytes too."""
        try:
            return await self._worker.call(partial(self._read_page, after, limit))
        except sqlite3.Error as error:
            raise translate_error(error) from error

    def compact(self, after: int, upto: int, done: CompactDone) -> None:
        """Delete a few superseded rows."""

        def finished(reached: int | None, error: Exception | None) -> None:
            done(reached or after, None if error is None else translate_error(error))

        self._worker.submit(partial(self._delete_superseded, after, upto), finished)

    async def close(self) -> None:
        """Checkpoint the write-ahead log, close the file, stop the thread and release the lock."""
        try:
            await self._worker.call(self._close_connection)
        finally:
            self._worker.stop()
            self._lock.release()

    def _append(self, events: Sequence[StoreEvent]) -> None:
        cipher = self._cipher
        columns: list[object] = []
        size = 0
        for event in events:
            columns += (row := _to_row(event, cipher))
            size += len(row[6])
        if len(events) <= INSERT_ROWS:
            self._connection.execute(_build_insert(len(events)), columns)
        else:
            self._insert_in_parts(columns)
        self._mark.write(events[-1].revision)
        self._grown += 2 + len(events) // 16 + size // PAGE

    def _insert_in_parts(self, columns: list[object]) -> None:
        """Insert more rows than one statement has, all or none."""
        with self._transaction() as connection:
            for at in range(0, len(columns), INSERT_ROWS * _COLUMNS):
                part = columns[at : at + INSERT_ROWS * _COLUMNS]
                connection.execute(_build_insert(len(part) // _COLUMNS), part)

    def _read_page(self, after: int, limit: int) -> list[StoreEvent]:
        events: list[StoreEvent] = []
        size = 0
        with closing(self._connection.execute(READ, (after, limit))) as rows:
            for row in rows:
                event = _to_event(row, self._facts, self._cipher)
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
        self._vacuum()
        return reached

    def _vacuum(self) -> None:
        """Return free pages to the file system when a good part of the file is free."""
        free, total = (self._read_pragma(f"{what}_count") for what in ("freelist", "page"))
        if free > VACUUM_PAGES // 4 and free * 4 > total:
            # One page is returned per step, and only a script steps to the end.
            self._connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")

    def _read_pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value

    def _checkpoint(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _close_connection(self) -> None:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            pass  # all of it is in the write-ahead log, the next start reads it there
        self._connection.close()
        self._mark.close()

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


Row = tuple[int, str, str, str, int, int, bytes, int]
"""Revision, resource, namespace, name, created, replaced, value, checksum."""
_COLUMNS: Final = 8


@cache
def _build_insert(rows: int) -> str:
    """The statement that inserts `rows` rows; without BEGIN it is a transaction by itself."""
    row = f"({', '.join('?' * _COLUMNS)})"
    return f"INSERT INTO log VALUES {', '.join([row] * rows)}"


def _to_row(event: StoreEvent, cipher: Cipher | None) -> Row:
    after, before, key = event.after, event.before, event.key
    created = after.created_revision if after is not None else 0
    value = after.value if after is not None else event.tombstone or b""
    replaced = before.revision if before is not None else 0
    if cipher is not None:
        value = cipher.encrypt(key, value)
    where = (key.resource, key.namespace, key.name)
    checksum = compute_checksum(event.revision, where, created, replaced, value)
    return event.revision, *where, created, replaced, value, checksum


def _to_event(row: tuple[Any, ...], facts: object, cipher: Cipher | None) -> StoreEvent:
    new, old = row[:8], row[8:]
    revision, _, _, _, created, replaced, value, _ = check_row(new)
    key = StoreKey(sys.intern(new[1]), sys.intern(new[2]), new[3])
    if cipher is not None:
        value = cipher.decrypt(key, value)
    before = None
    if replaced:
        if old[0] is None:
            raise Damaged(f"revision {replaced}, which {revision} replaced, is missing in the log")
        old_value = check_row(old)[6]
        if cipher is not None:
            old_value = cipher.decrypt(key, old_value)
        before = Entry(key, replaced, created_revision=old[4], value=old_value, _facts=facts)
    if not created:
        return StoreEvent(revision, key, before=before, after=None, tombstone=value)
    after = Entry(key, revision, created_revision=created, value=value, _facts=facts)
    return StoreEvent(revision, key, before=before, after=after)


def check_row(row: tuple[Any, ...]) -> Row:
    """Verify the checksum of a row, and return the row.

    Raises:
        Damaged: if the checksum is wrong.
    """
    revision, resource, namespace, name, created, replaced, value, checksum = row
    where = (resource, namespace, name)
    if checksum != compute_checksum(revision, where, created, replaced, value):
        key = "/".join(str(part) for part in where if part)
        raise Damaged(f"revision {revision} of {key} is damaged in the log: its checksum is wrong")
    return row
