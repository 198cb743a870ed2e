"""Work on a database that no server has open."""

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from quarterdeck.storage.errors import Damaged, OpenFailed
from quarterdeck.storage.lockfile import LockFile
from quarterdeck.storage.sqlite import file
from quarterdeck.storage.sqlite.errors import translate_open_errors
from quarterdeck.storage.sqlite.loader import describe_findings, load_sealed
from quarterdeck.storage.sqlite.repair import CHOICES

_SUPERSEDED = """
DELETE FROM log WHERE created = 0 OR revision NOT IN
(SELECT max(revision) FROM log GROUP BY resource, namespace, name)
"""


class Compaction(NamedTuple):
    """What a compaction did."""

    revision: int
    """The oldest revision that can be read or watched now."""
    rows_deleted: int
    bytes_before: int
    bytes_after: int


def compact_file(path: Path) -> Compaction:
    """Drop the history of a database, keep its state, and give free space back.

    Raises:
        Locked: if a server has it open.
        Damaged: if it is not one of ours, or broken. It is left as it is.
        OpenFailed: if the file system refuses.
    """
    if not path.is_file():
        raise OpenFailed(f"{path} does not exist")
    try:
        lock = LockFile(path.with_name(f"{path.name}.lock"))
    except OSError as error:
        raise OpenFailed(f"cannot lock {path}: {error.strerror}") from error
    try:
        with translate_open_errors(path):
            file.check_header(path)
            file.upgrade(path)
            _check_rows(path)
            return _compact(path)
    finally:
        lock.release()


def _check_rows(path: Path) -> None:
    """Refuse damaged rows: the older version of an object may be the only one that is readable."""
    if findings := load_sealed(path).findings:
        raise Damaged(
            f"cannot compact {path}: it is damaged: {describe_findings(findings)}; {CHOICES}"
        )


def _compact(path: Path) -> Compaction:
    before = path.stat().st_size
    with closing(file.connect(path, "full", max_bytes=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        revision: int = connection.execute(
            "SELECT max(value, coalesce((SELECT max(revision) FROM log), 0)) FROM meta"
            " WHERE key = 'compacted'"
        ).fetchone()[0]
        deleted = connection.execute(_SUPERSEDED).rowcount
        connection.execute("UPDATE meta SET value = ? WHERE key = 'compacted'", (revision,))
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return Compaction(revision, deleted, before, path.stat().st_size)
