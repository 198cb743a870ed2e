"""The database file: creates, checks, upgrades and opens it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

from quarterdeck.storage.errors import Damaged, NewerFormat
from quarterdeck.storage.sqlite.checksum import compute_checksum
from quarterdeck.storage.sqlite.mark import get_mark_path
from quarterdeck.storage.sqlite.syncing import sync

Durability = Literal["full", "normal"]
"""`full`: an acknowledged write survives power loss. `normal`: it survives the process only."""

MAGIC: Final = b"SQLite format 3\0"
APPLICATION: Final = 0x51444B31
FORMAT: Final = 2
UNSEALED: Final = 1
"""A format without checksums. A store upgrades it; snapshots and checks read it as it is."""
PAGE: Final = 8192
CHECKPOINT_PAGES: Final = 1000
"""How far the write-ahead log may grow before it is copied back."""
BUSY_S: Final = 30.0

SCHEMA: Final = """
CREATE TABLE log(
  revision  INTEGER PRIMARY KEY,
  resource  TEXT NOT NULL,
  namespace TEXT NOT NULL,
  name      TEXT NOT NULL,
  created   INTEGER NOT NULL,
  replaced  INTEGER NOT NULL,
  value     BLOB NOT NULL,
  checksum  INTEGER NOT NULL
);
CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('compacted', 1);
"""
"""`created` is 0 for a deletion; `replaced` is the revision before, 0 for a creation."""


def create(path: Path) -> None:
    """Create a new database under a temporary name and rename it, so that it is always complete."""
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and wal.stat().st_size:
        raise Damaged(
            f"{wal} exists but {path} does not: restore {path} from a backup, or move {wal} away"
        )
    mark = get_mark_path(path)
    if mark.exists():
        raise Damaged(
            f"{mark} exists but {path} does not: restore {path} from a backup"
            f" (quarterdeck server restore), or move {mark} away to start empty"
        )
    draft = path.with_name(f"{path.name}.new")
    for leftover in (draft, *(draft.with_name(draft.name + end) for end in ("-wal", "-journal"))):
        leftover.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        # No process reads the draft: one sync at the end is enough.
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA page_size = {PAGE}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
            f"{SCHEMA} COMMIT;"
        )
    sync(draft)
    draft.rename(path)
    sync(path.parent)


def check_header(path: Path) -> None:
    """Check the first bytes of a database, before SQLite opens and perhaps repairs it."""
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(MAGIC):
        raise Damaged(f"{path} is not a database: restore it from a backup, or move it away")
    version, application = (int.from_bytes(header[at : at + 4], "big") for at in (60, 68))
    if application != APPLICATION:
        raise Damaged(f"{path} belongs to another program: choose another data directory")
    if version > FORMAT:
        raise NewerFormat(
            f"{path} has format {version}, this version supports {FORMAT}: use a newer version"
        )


def upgrade(path: Path) -> None:
    """Add checksums to a database of format 1, in one transaction, after a copy was made of it.

    The copy is `state.db.format-1` beside `state.db`; an older version of the program can open it.
    """
    with path.open("rb") as file:
        file.seek(60)
        found = int.from_bytes(file.read(4), "big")
    if found == FORMAT:
        return
    _keep_copy(path, path.with_name(f"{path.name}.format-{found}"))
    with closing(sqlite3.connect(path, isolation_level=None, timeout=BUSY_S)) as connection:
        connection.create_function("checksum_of", 7, _checksum_columns, deterministic=True)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] < FORMAT:
            connection.execute("ALTER TABLE log ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0")
            connection.execute(
                "UPDATE log SET checksum = "
                "checksum_of(revision, resource, namespace, name, created, replaced, value)"
            )
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _keep_copy(path: Path, target: Path) -> None:
    """Copy a database as it is, its write-ahead log included; one of an earlier try is kept."""
    if target.exists():
        return
    draft = target.with_name(f"{target.name}.new")
    draft.unlink(missing_ok=True)
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    with closing(connect_read_only(path)) as source, closing(sqlite3.connect(draft)) as copy:
        source.backup(copy)
    sync(draft)
    draft.rename(target)
    sync(target.parent)


def _checksum_columns(*row: Any) -> int:
    revision, resource, namespace, name, created, replaced, value = row
    return compute_checksum(revision, (resource, namespace, name), created, replaced, value)


def connect(path: Path, durability: Durability, *, max_bytes: int | None) -> sqlite3.Connection:
    """A connection for one thread to read and write with."""
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


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that leaves the file as it is, also on a read-only file system.

    SQLite creates files beside a database with a write-ahead log, even to read it. Where it cannot,
    and no log exists, nobody writes, so that the file alone is read.
    """
    has_log = path.with_name(f"{path.name}-wal").exists()
    is_fixed = not has_log and not os.access(path.parent, os.W_OK)
    options = "mode=ro&immutable=1" if is_fixed else "mode=ro"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{options}", uri=True, isolation_level=None)
