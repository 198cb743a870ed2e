"""Snapshots of the API server's database: made, checked and restored."""

from pathlib import Path

from quarterdeck.app.cluster import DATABASE
from quarterdeck.app.errors import StartError
from quarterdeck.storage import StorageError
from quarterdeck.storage.sqlite import backup
from quarterdeck.storage.sqlite.backup import Report

__all__ = ["Report", "restore", "snapshot", "verify"]

_NAMESPACES = "namespaces"
"""A resource of which every API server has objects, from its first start on."""


def snapshot(data_dir: Path, target: Path) -> Report:
    """Copy the database to a new file; the server may run.

    Raises:
        StartError: if it cannot be copied, or lost writes.
    """
    try:
        return backup.snapshot(data_dir / DATABASE, target)
    except StorageError as error:
        raise StartError(str(error)) from error


def restore(data_dir: Path, source: Path) -> Report:
    """Replace the database by a snapshot; the server must not run.

    Raises:
        StartError: if the server runs, or the snapshot is damaged or not one of an API server:
            hub.db and history.db in the data folder have the same format.
    """
    try:
        return backup.restore(source, data_dir / DATABASE, requires=_NAMESPACES)
    except StorageError as error:
        raise StartError(str(error)) from error


def verify(data_dir: Path, file: Path | None = None) -> Report:
    """Check the database, or a snapshot; the server may run.

    Raises:
        StartError: if it cannot be read at all.
    """
    try:
        return backup.verify(file or data_dir / DATABASE)
    except StorageError as error:
        raise StartError(str(error)) from error
