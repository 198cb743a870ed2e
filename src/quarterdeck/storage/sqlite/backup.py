"""Copies of a database: taken while it is in use, checked, and put in its place."""

import itertools
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from quarterdeck.storage.errors import Damaged, OpenFailed, WritesLost
from quarterdeck.storage.lockfile import LockFile
from quarterdeck.storage.sqlite import file
from quarterdeck.storage.sqlite.errors import translate_open_errors
from quarterdeck.storage.sqlite.loader import load_sealed
from quarterdeck.storage.sqlite.mark import Mark, get_mark_path, read_mark
from quarterdeck.storage.sqlite.repair import find_problems
from quarterdeck.storage.sqlite.syncing import sync

COPY_PAGES: Final = 256
"""Pages copied in one step, so that a server that writes meanwhile is not held up."""


class Report(NamedTuple):
    """What a check found in a database."""

    revision: int
    compacted: int
    objects: int
    problems: str
    """What is wrong, in one line; empty if every acknowledged write is there."""
    resources: tuple[str, ...] = ()
    """The resources that have objects."""
    kept: Path | None = None
    """Where a restore left the database that it replaced; None if there was none."""


def verify(path: Path) -> Report:
    """Read all of a database and check it; changes nothing, and works while it is in use.

    Raises:
        Damaged: if it cannot be read at all.
        OpenFailed: if the file system refuses.
    """
    if not path.exists():
        raise OpenFailed(f"{path} does not exist: nothing to verify")
    with translate_open_errors(path):
        file.check_header(path)
        # Read before the log: a server that runs meanwhile only moves the log further ahead.
        mark = read_mark(get_mark_path(path))
        _check_pages(path)
        loaded = load_sealed(path)
    state = loaded.state.snapshot(loaded.revision)
    resources = tuple(state.resources())
    objects = sum(state.count(name) for name in resources)
    problems = find_problems(loaded, mark)
    return Report(loaded.revision, loaded.compacted, objects, problems, resources)


def snapshot(path: Path, target: Path) -> Report:
    """Copy a database to a new file, also while a server writes to it, and check the copy.

    Raises:
        WritesLost: if the database lost acknowledged writes; no snapshot is made.
        OpenFailed: if a file cannot be read or made, or the target exists.
    """
    if not path.exists():
        raise OpenFailed(f"{path} does not exist: nothing to copy")
    if target.exists():
        raise OpenFailed(f"{target} already exists: choose another name for the snapshot")
    draft = _create_draft(target)
    try:
        with translate_open_errors(path):
            file.check_header(path)
            mark = read_mark(get_mark_path(path))
            _copy(path, draft)
        report = verify(draft)
        if mark is not None and mark > report.revision:
            problem = f"the newest revision is {report.revision}, but {mark} was acknowledged"
            report = report._replace(problems=report.problems or problem)
        if report.problems:
            raise WritesLost(f"cannot copy {path}: it lost acknowledged writes: {report.problems}")
        with translate_open_errors(target):
            os.link(draft, target)
            sync(target.parent)
    finally:
        _remove(draft)
    return report


def restore(source: Path, path: Path, *, requires: str = "") -> Report:
    """Replace a database that no server uses by a snapshot.

    With `requires`, a snapshot without an object of this resource is refused.

    The replaced database is kept under a new name, with `.replaced` at its end, or `.replaced.2` if
    an earlier restore left one there. Revisions continue above every one that was acknowledged
    before, so that clients with older watches have to list again.

    Raises:
        Locked: if a server uses the database.
        Damaged: if the snapshot is not one, or is damaged; nothing was changed.
    """
    report = verify(source)
    if report.problems:
        raise Damaged(f"cannot restore {source}: it is damaged: {report.problems}")
    if requires and requires not in report.resources:
        raise Damaged(
            f"cannot restore {source}: it has no {requires}, so another program made it; "
            "give a file of `quarterdeck server snapshot`"
        )
    with translate_open_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = LockFile(path.with_name(f"{path.name}.lock"))
        try:
            report = _replace(source, path, report)
        finally:
            lock.release()
    return report


def _replace(source: Path, path: Path, report: Report) -> Report:
    draft = _create_draft(path)
    try:
        _copy(source, draft)
        revision = max(report.revision, _find_newest(path)) + 1
        with closing(file.connect(draft, "full", max_bytes=None)) as connection:
            _start_history(connection, revision)
        kept = _move_away(path)
        os.replace(draft, path)
        Mark(get_mark_path(path), revision).close()
        sync(path.parent)
    finally:
        _remove(draft)
    return report._replace(revision=revision, compacted=revision, kept=kept)


def _move_away(path: Path) -> Path | None:
    """Rename a database and its log; returns the new path, or None if there are none.

    Nothing is overwritten: an older database would be lost, or SQLite would read its log as part
    of this one.
    """
    existing = _list_files(path)
    if not existing:
        return None
    kept = path.with_name(f"{path.name}.replaced")
    for number in itertools.count(2):
        if not _list_files(kept):
            break
        kept = path.with_name(f"{path.name}.replaced.{number}")
    for old in existing:
        os.replace(old, kept.with_name(kept.name + old.name.removeprefix(path.name)))
    return kept


def _list_files(path: Path) -> list[Path]:
    """The files of a database that exist: itself, its log and the index of that."""
    files = (path.with_name(path.name + end) for end in ("", "-wal", "-shm"))
    return [each for each in files if each.exists()]


def _start_history(connection: sqlite3.Connection, revision: int) -> None:
    """Keep the state, drop the history, and continue at a revision."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(
        "DELETE FROM log WHERE created = 0 OR revision IN (SELECT replaced FROM log)"
    )
    connection.execute("UPDATE meta SET value = ? WHERE key = 'compacted'", (revision,))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _find_newest(path: Path) -> int:
    """The newest revision of the database that is replaced, as far as it can be read."""
    newest = 0
    try:
        newest = read_mark(get_mark_path(path)) or 0
        if path.exists():
            newest = max(newest, load_sealed(path).revision)
    except (Damaged, sqlite3.Error):
        pass  # it is replaced because it is damaged
    return newest


def _check_pages(path: Path) -> None:
    with closing(file.connect_read_only(path)) as connection:
        (result,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise Damaged(f"{path} is damaged: {' '.join(str(result).split())}")


def _copy(source: Path, draft: Path) -> None:
    with (
        closing(file.connect_read_only(source)) as reader,
        closing(sqlite3.connect(draft, isolation_level=None)) as writer,
    ):
        reader.execute("BEGIN")  # one state, whatever is committed meanwhile
        reader.execute("SELECT count(*) FROM meta").fetchone()
        reader.backup(writer, pages=COPY_PAGES)
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    sync(draft)


def _create_draft(path: Path) -> Path:
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    with translate_open_errors(path):
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        os.close(os.open(draft, flags, 0o600))
    return draft


def _remove(draft: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        draft.with_name(draft.name + end).unlink(missing_ok=True)
