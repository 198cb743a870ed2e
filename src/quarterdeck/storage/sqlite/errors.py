"""Translates errors of SQLite and of the file system to storage errors."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from quarterdeck.kit.full_disk import is_full_disk
from quarterdeck.storage.errors import (
    CommitFailed,
    Damaged,
    DiskFull,
    NoSpace,
    OpenFailed,
    StorageError,
)

_FULL_BYTES: Final = 1 << 20
"""A disk with less free space counts as full when SQLite reports a failed write as an I/O error."""
_ENVIRONMENT: Final = (
    "SQLITE_CANTOPEN",
    "SQLITE_READONLY",
    "SQLITE_PERM",
    "SQLITE_BUSY",
)
"""Prefixes of SQLite's error names that do not mean a damaged file."""


@contextmanager
def translate_open_errors(path: Path) -> Iterator[None]:
    """Translate errors while a database is opened to `OpenFailed`, `NoSpace` or `Damaged`."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if _is_full(error, path.parent):
            text = f"cannot open {path}: the disk is full; free space and start again"
            raise NoSpace(text) from error
        raise _translate_open_error(error, path) from error


def _translate_open_error(error: sqlite3.Error | OSError, path: Path) -> OpenFailed:
    if isinstance(error, OSError):
        return OpenFailed(f"cannot open {path}: {error.strerror}")
    # Errors of the module itself, such as text that is not UTF-8, have no name.
    name = getattr(error, "sqlite_errorname", "")
    if isinstance(error, sqlite3.OperationalError) and name.startswith(_ENVIRONMENT):
        return OpenFailed(f"cannot open {path}: {error}")
    return Damaged(
        f"{path} is damaged ({error}): restore it from a snapshot"
        " (quarterdeck server restore), or move it away"
    )


def _is_full(error: Exception, folder: Path) -> bool:
    """Whether an error comes from a full disk, which is no damage."""
    if isinstance(error, OSError):
        return is_full_disk(error)
    name = getattr(error, "sqlite_errorname", "")
    if not name.startswith("SQLITE_IOERR"):
        return bool(name == "SQLITE_FULL")
    try:
        return shutil.disk_usage(folder).free < _FULL_BYTES
    except OSError:
        return False


def translate_error(error: Exception) -> StorageError:
    """Translate an error of a write or a read to a storage error."""
    if isinstance(error, StorageError):
        return error
    if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
        failure: StorageError = DiskFull(
            "write failed: no space left on the disk; nothing was stored"
        )
    else:
        failure = CommitFailed(f"write failed: {error}; nothing was stored")
    failure.__cause__ = error
    return failure
