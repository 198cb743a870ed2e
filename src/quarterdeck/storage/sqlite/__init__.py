"""The log on SQLite: what is acknowledged is on the disk.

One append-only table. A row is one write, keyed by its revision, and names the row it replaced; the
state is the fold of all rows. A value is therefore written once, no index but the key is kept, and
compaction finds what is superseded by walking the newer rows: it deletes by key, a few hundred rows
at a time, and gives pages back. All statements run on one thread; readers of the present never come
here. The write-ahead log is copied back by ourselves, between commits, when it has grown.

A new database is made complete under another name and then renamed, so a file of the right name is
always one of ours; an existing one is read in full before anything opens it for writing.

Each row has a checksum, and the newest acknowledged revision is also in a file of its own (`mark`):
what the disk lost or changed is found when the database is opened, and refused (`repair`).

Here is how a database is opened; then read `log` (what is done with it), `file` and `loader`.
`backup` copies, checks and replaces databases.
"""

from pathlib import Path
from typing import Final

from quarterdeck.storage.encryption import Cipher
from quarterdeck.storage.errors import Damaged, OpenFailed
from quarterdeck.storage.history import History
from quarterdeck.storage.lockfile import LockFile
from quarterdeck.storage.sqlite import file
from quarterdeck.storage.sqlite.errors import translate_open_errors
from quarterdeck.storage.sqlite.file import Durability
from quarterdeck.storage.sqlite.loader import Loaded, load
from quarterdeck.storage.sqlite.log import SqliteLog
from quarterdeck.storage.sqlite.mark import Mark, get_mark_path, read_mark
from quarterdeck.storage.sqlite.repair import check_complete, drop_lost_writes, find_problems
from quarterdeck.storage.sqlite.rotation import reencrypt_values
from quarterdeck.storage.store import Store
from quarterdeck.storage.types import Derive, defer_facts

__all__ = ["Durability", "open_sqlite"]

HISTORY_EVENTS: Final = 10_000
HISTORY_BYTES: Final = 32 * 1024 * 1024
RETAIN: Final = 20_000
"""How many of the newest events are kept in the log, at least."""


def open_sqlite(
    path: Path | str,
    *,
    durability: Durability = "full",
    derive: Derive | None = None,
    retain: int = RETAIN,
    max_bytes: int | None = None,
    accept_loss: bool = False,
    history_events: int = HISTORY_EVENTS,
    history_bytes: int = HISTORY_BYTES,
    cipher: Cipher | None = None,
) -> Store:
    """Open a database, or make a new one. Blocks while it loads; may run on another thread.

    `retain` newest events at least can be watched and read at. With `max_bytes` a file of that size
    counts as a full disk. With a `cipher` values are encrypted on the disk, and stored values that
    are not encrypted as it requires are rewritten now. With `accept_loss` the store opens without
    acknowledged writes that are lost.

    Raises:
        Locked: if another process has it open.
        Damaged: if it is not one of ours, or broken. It is left as it is.
        WritesLost: if acknowledged writes are gone or damaged. It is left as it is.
        NewerFormat: if a newer version wrote it. It is left as it is.
        OpenFailed: if the file system refuses.
    """
    path = Path(path)
    lock = _lock_file(path)
    try:
        with translate_open_errors(path):
            _prepare_file(path)
            loaded = load(path, derive, keep=history_events, cipher=cipher)
            loaded = _keep_complete(path, loaded, durability=durability, accept_loss=accept_loss)
            connection = file.connect(path, durability, max_bytes=max_bytes)
            if cipher is not None:
                reencrypt_values(connection, cipher)
            writer = Mark(get_mark_path(path), loaded.revision)
    except BaseException:
        lock.release()
        raise
    recent = History(floor=loaded.floor, max_events=history_events, max_bytes=history_bytes)
    recent.extend(loaded.events)
    return Store(
        SqliteLog(connection, lock, mark=writer, facts=defer_facts(derive), cipher=cipher),
        state=loaded.state,
        history=recent,
        revision=loaded.revision,
        compacted=loaded.compacted,
        retain=retain,
        derive=derive,
    )


def _lock_file(path: Path) -> LockFile:
    try:
        return LockFile(path.with_name(f"{path.name}.lock"))
    except OSError as error:
        raise OpenFailed(f"cannot lock {path}: {error.strerror}") from error


def _prepare_file(path: Path) -> None:
    """Create the file if it is missing, and upgrade one of an older format."""
    if not path.exists():
        file.create(path)
    file.check_header(path)
    file.upgrade(path)


def _keep_complete(
    path: Path, loaded: Loaded, *, durability: Durability, accept_loss: bool
) -> Loaded:
    """The loaded state, repaired by `drop_lost_writes` if lost writes are acceptable.

    Raises:
        WritesLost: if acknowledged writes are lost and that is not accepted.
    """
    mark = _read_mark(path, accept_loss=accept_loss)
    if accept_loss:
        is_complete = not find_problems(loaded, mark)
    else:
        is_complete = check_complete(path, loaded, mark, durability=durability)
    return loaded if is_complete else drop_lost_writes(path, loaded, mark)


def _read_mark(path: Path, *, accept_loss: bool) -> int | None:
    try:
        return read_mark(get_mark_path(path))
    except Damaged:
        if accept_loss:
            return None
        raise
