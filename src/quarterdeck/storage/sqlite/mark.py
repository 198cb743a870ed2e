"""The high-water mark: the newest acknowledged revision, in a file apart from the database.

SQLite ends a damaged write-ahead log at the first frame with a wrong checksum without an error, so
the database alone does not show that acknowledged writes are lost. The mark is written after each
commit and before its acknowledgement, so it survives a crash of the process. It is synced every few
commits, so after a power failure it may be a little behind the log, but never ahead of a log with
durability `full`.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from quarterdeck.storage.errors import Damaged
from quarterdeck.storage.sqlite.syncing import sync

SYNC_COMMITS: Final = 64
"""Commits between two syncs of the file."""
_DIGITS: Final = 20
_SIZE: Final = _DIGITS + 1 + 8 + 1


def get_mark_path(database: Path) -> Path:
    """The file beside a database that holds its mark."""
    return database.with_name(f"{database.name}.revision")


def read_mark(path: Path) -> int | None:
    """The newest acknowledged revision; None if there is no such file.

    Raises:
        Damaged: if the file holds something else.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    digits = data[:_DIGITS]
    if len(data) != _SIZE or not digits.isdigit() or data != encode_mark(int(digits)):
        raise Damaged(f"{path} is damaged: it does not hold a revision and its checksum")
    return int(digits)


class Mark:
    """Writes the file; used by the thread of the log alone."""

    def __init__(self, path: Path, revision: int) -> None:
        if not path.exists():
            _create(path, revision)
        self._descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        self._unsynced = 0
        try:
            self.write(revision)
            os.ftruncate(self._descriptor, _SIZE)
            self.sync()
        except BaseException:
            os.close(self._descriptor)
            raise

    def write(self, revision: int) -> None:
        """Note that a revision is in the log.

        A failure is not reported: the commit is durable, and the mark is only behind it.
        """
        with suppress(OSError):
            os.pwrite(self._descriptor, encode_mark(revision), 0)
            self._unsynced += 1
            if self._unsynced >= SYNC_COMMITS:
                self.sync()

    def sync(self) -> None:
        """Make the mark survive a power failure."""
        os.fsync(self._descriptor)
        self._unsynced = 0

    def close(self) -> None:
        """Sync and close the file."""
        with suppress(OSError):
            self.sync()
        os.close(self._descriptor)


def _create(path: Path, revision: int) -> None:
    """Write the first mark under another name, so that the file is complete when it has its own."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, encode_mark(revision))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    draft.rename(path)
    sync(path.parent)


def encode_mark(revision: int) -> bytes:
    """What the file holds: a revision and its checksum, in readable digits."""
    digits = b"%0*d" % (_DIGITS, revision)
    return b"%s %08x\n" % (digits, crc32(digits))
