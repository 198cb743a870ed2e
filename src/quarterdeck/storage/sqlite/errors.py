"""Translates errors of SQLite and of the file system to storage errors."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from quarterdeck.storage.errors import CommitFailed, Damaged, DiskFull, OpenFailed, StorageError

_ENVIRONMENT: Final = (
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_READONLY",
    "SQLITE_PERM",
    "SQLITE_BUSY",
)
"""Prefixes of SQLite's error names that do not mean a damaged file."""


@contextmanager
def translate_open_errors(path: Path) -> Iterator[None]:
    """Translate errors while a database is opened to `OpenFailed` or `Damaged`."""
    try:
        yield
    except sqlite3.Error as error:
        # Errors of the module itself, such as text that is not UTF-8, have no name.
        name = getattr(error, "sqlite_errorname", "")
        if isinstance(error, sqlite3.OperationalError) and name.startswith(_ENVIRONMENT):
            raise OpenFailed(f"cannot open {path}: {error}") from error
        raise Damaged(
            f"{path} is damaged ({error}): restore it from a snapshot"
            " (quarterdeck server restore), or move it away"
        ) from error
    except OSError as error:
        raise OpenFailed(f"cannot open {path}: {error.strerror}") from error


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
