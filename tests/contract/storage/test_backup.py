"""A snapshot of a database, and a database from a snapshot."""

import asyncio
import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from quarterdeck.storage import StoreKey, open_sqlite
from quarterdeck.storage.sqlite.backup import restore, snapshot, verify

KEY = StoreKey("pods", "a", "x")


def _ignore_revision(value: bytes, _: int) -> bytes:
    return value


async def test_a_restored_database_has_what_the_snapshot_had(
    database: Path, tmp_path: Path
) -> None:
    store = open_sqlite(database)
    await store.put(KEY, lambda _: b"before")
    revision = store.revision
    report = await asyncio.to_thread(snapshot, database, tmp_path / "copy.db")
    await store.put(KEY, lambda _: b"after")
    await store.close()
    assert report.revision == revision
    place = tmp_path / "new" / "state.db"
    await asyncio.to_thread(restore, tmp_path / "copy.db", place)
    assert place.parent.stat().st_mode & 0o777 == 0o700, "nobody else may look into the folder"
    again = open_sqlite(place)
    entry = again.get(KEY)
    assert entry is not None and entry.value == b"before"
    await again.close()


async def test_a_restore_keeps_the_database_that_it_replaces(
    database: Path, tmp_path: Path
) -> None:
    store = open_sqlite(database)
    await store.put(KEY, lambda _: b"before")
    copy = tmp_path / "copy.db"
    assert (await asyncio.to_thread(snapshot, database, copy)).objects == 1
    await store.put(KEY, lambda _: b"after")
    newest = store.revision
    await store.close()
    report = await asyncio.to_thread(restore, copy, database)
    assert (report.objects, report.revision) == (1, newest + 1), "above what was acknowledged"
    kept = database.with_name(f"{database.name}.replaced")
    assert report.kept == kept
    for path, value in ((database, b"before"), (kept, b"after")):
        again = open_sqlite(path)
        entry = again.get(KEY)
        assert entry is not None and entry.value == value
        await again.close()


async def test_every_restore_keeps_the_database_that_it_replaces(
    database: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    kept: list[Path | None] = []
    await open_sqlite(database).close()
    await asyncio.to_thread(snapshot, database, copy)
    for value in (b"1", b"2", b"3"):
        store = open_sqlite(database)
        await store.put(KEY, partial(_ignore_revision, value))
        await store.close()
        log = database.with_name(f"{database.name}-wal")
        log.write_bytes(value)  # an unreadable rest of a log goes along with its database
        kept.append((await asyncio.to_thread(restore, copy, database)).kept)
    ends = (".replaced", ".replaced.2", ".replaced.3")
    assert kept == [database.with_name(database.name + end) for end in ends]
    for path, value in zip(filter(None, kept), (b"1", b"2", b"3"), strict=True):
        assert path.with_name(f"{path.name}-wal").read_bytes() == value
        again = open_sqlite(path)
        entry = again.get(KEY)
        assert entry is not None and entry.value == value
        await again.close()


async def test_a_snapshot_on_a_read_only_file_system_is_restored(
    database: Path, tmp_path: Path
) -> None:
    store = open_sqlite(database)
    await store.put(KEY, lambda _: b"before")
    folder = tmp_path / "backups"
    folder.mkdir()
    await asyncio.to_thread(snapshot, database, folder / "copy.db")
    await store.close()
    folder.chmod(0o500)
    is_mounted = False
    if os.access(folder, os.W_OK):  # root may write anyway
        mount = ["mount", "--bind", "-o", "ro", str(folder), str(folder)]
        is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
    try:
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
        assert (await asyncio.to_thread(verify, folder / "copy.db")).problems == ""
        place = tmp_path / "new" / "state.db"
        assert (await asyncio.to_thread(restore, folder / "copy.db", place)).objects == 1
        assert [each.name for each in folder.iterdir()] == ["copy.db"]
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)
        folder.chmod(0o700)
