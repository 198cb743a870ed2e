"""Disks that lose or change what was acknowledged: found at the start, never served."""

import asyncio
import os
import shutil
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.storage import (
    Compacted,
    Damaged,
    Locked,
    OpenFailed,
    Store,
    StoreKey,
    WritesLost,
    open_sqlite,
)
from quarterdeck.storage.sqlite.backup import restore, snapshot, verify
from quarterdeck.storage.sqlite.mark import get_mark_path, read_mark

WRITER = Path(__file__).parents[1] / "contract" / "storage" / "crash_writer.py"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def pod(number: int) -> StoreKey:
    return StoreKey("pods", "default", f"p{number:05}")


async def fill(store: Store, count: int) -> None:
    for ticket in [
        store.put(pod(each), lambda r: b'{"revision":%d,"a":"%s"}' % (r, b"x" * 200))
        for each in range(count)
    ]:
        await ticket


async def write_and_kill(database: Path, count: int) -> int:
    """Let a process write, kill it, and return the newest revision it acknowledged."""
    arguments = (sys.executable, str(WRITER), str(database), "4", "0", "7")
    process = await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    for _ in range(count):
        await process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = await process.stdout.read()
    await process.wait()
    assert rest is not None
    mark = read_mark(get_mark_path(database))
    assert mark is not None
    return mark


def overwrite_wal(wal: Path) -> None:
    with wal.open("r+b") as file:
        file.seek(32 + 24 + 4000)
        file.write(os.urandom(140))


def cut_wal(wal: Path) -> None:
    os.truncate(wal, wal.stat().st_size // 3)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(overwrite_wal, id="140 bytes overwritten"),
        pytest.param(cut_wal, id="truncated"),
        pytest.param(Path.unlink, id="missing"),
    ],
)
async def test_lost_writes_of_the_write_ahead_log_are_refused(database: Path, damage: Any) -> None:
    mark = await write_and_kill(database, 100)
    damage(Path(f"{database}-wal"))
    before = database.read_bytes()
    with pytest.raises(WritesLost, match=rf"{mark} was acknowledged.*--accept-data-loss"):
        open_sqlite(database)
    assert database.read_bytes() == before
    store = open_sqlite(database, accept_loss=True)
    assert store.revision > mark
    with pytest.raises(Compacted):
        store.watch("pods", after=mark)
    await fill(store, 3)
    assert all(store.get(pod(each)) is not None for each in range(3))
    await store.close()
    assert verify(database).problems == ""


async def test_killed_process_loses_nothing(database: Path) -> None:
    mark = await write_and_kill(database, 100)
    store = open_sqlite(database)
    assert store.revision >= mark
    await store.close()


def change_value(database: Path, revision: int) -> None:
    """Change bytes inside a value, where SQLite has nothing to check."""
    marker = b'{"revision":%d,' % revision
    data = bytearray(database.read_bytes())
    at = data.index(marker) + len(marker) + 20
    data[at] ^= 1
    database.write_bytes(data)


async def test_damage_inside_a_value_is_found(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 50)
    await store.close()
    change_value(database, 20)
    with pytest.raises(WritesLost, match="revision 20 of pods/default/p00018: wrong checksum"):
        open_sqlite(database)
    assert "revision 20" in verify(database).problems
    store = open_sqlite(database, accept_loss=True)
    assert store.get(pod(18)) is None
    assert store.snapshot().count("pods") == 49
    await store.close()
    assert verify(database).problems == ""


async def test_damage_under_a_running_server_is_not_served(database: Path) -> None:
    store = open_sqlite(database, history_events=5)
    await fill(store, 50)
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE log SET value = x'7b7d' WHERE revision = 20")
    connection.close()
    with store.watch("pods", after=10) as watcher, pytest.raises(Damaged, match="revision 20"):
        await anext(watcher)
    await store.close()


async def test_missing_row_is_found(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 10)
    await fill(store, 10)
    await store.close()
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM log WHERE revision = 5")
    connection.close()
    with pytest.raises(WritesLost, match="revision 5 of pods/default/p00003: missing"):
        open_sqlite(database)


async def test_missing_database_is_not_started_empty(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 3)
    await store.close()
    database.unlink()
    with pytest.raises(Damaged, match=r"state\.db\.revision exists but"):
        open_sqlite(database)
    assert not database.exists()


async def test_damaged_mark_is_refused(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 3)
    await store.close()
    get_mark_path(database).write_bytes(b"9" * 30)
    with pytest.raises(Damaged, match="does not hold a revision"):
        open_sqlite(database)
    store = open_sqlite(database, accept_loss=True)
    assert store.snapshot().count("pods") == 3
    await store.close()


def drop_checksums(database: Path) -> None:
    """Make the database one of format 1, which had neither checksums nor a mark."""
    with sqlite3.connect(database) as connection:
        connection.execute("ALTER TABLE log DROP COLUMN checksum")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    get_mark_path(database).unlink()


async def test_database_without_checksums_is_upgraded(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 20)
    await store.close()
    drop_checksums(database)
    store = open_sqlite(database)
    assert (store.revision, store.snapshot().count("pods")) == (21, 20)
    await store.close()
    backup = database.with_name(f"{database.name}.format-1")
    assert backup.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(backup) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (20,)
        columns = [row[1] for row in connection.execute("PRAGMA table_info(log)")]
        assert "checksum" not in columns
    connection.close()
    change_value(database, 7)
    with pytest.raises(WritesLost, match="revision 7 "):
        open_sqlite(database)


async def test_database_without_checksums_is_verified_copied_and_restored(
    database: Path, tmp_path: Path
) -> None:
    store = open_sqlite(database)
    await fill(store, 20)
    await store.close()
    drop_checksums(database)
    checked = await asyncio.to_thread(verify, database)
    assert (checked.revision, checked.objects, checked.problems) == (21, 20, "")
    copy = tmp_path / "copy.db"
    assert (await asyncio.to_thread(snapshot, database, copy)).objects == 20
    assert (await asyncio.to_thread(restore, copy, database)).revision > 21
    store = open_sqlite(database)
    assert store.snapshot().count("pods") == 20
    await store.close()


async def test_a_lost_mark_is_written_again(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 3)
    await store.close()
    get_mark_path(database).unlink()
    store = open_sqlite(database)
    assert store.snapshot().count("pods") == 3
    await store.close()
    assert read_mark(get_mark_path(database)) == 4


async def test_snapshot_of_a_running_store_is_restored(database: Path, tmp_path: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 30)
    copy = tmp_path / "copy.db"
    made = await asyncio.to_thread(snapshot, database, copy)
    assert (made.objects, made.problems) == (30, "")
    with pytest.raises(Locked):
        await asyncio.to_thread(restore, copy, database)
    for each in range(30):
        await store.delete(pod(each), lambda r: b"%d" % r)
    newest = store.revision
    await store.close()
    restored = await asyncio.to_thread(restore, copy, database)
    assert restored.revision > newest
    store = open_sqlite(database)
    assert store.snapshot().count("pods") == 30
    with pytest.raises(Compacted):
        store.watch("pods", after=newest)
    await store.close()
    assert not list(tmp_path.glob("*.new*"))


async def test_snapshot_while_the_store_writes_is_one_moment(
    database: Path, tmp_path: Path
) -> None:
    """Objects are created one after the other: the snapshot has the first of them, without gaps."""
    store = open_sqlite(database)
    await fill(store, 3)
    copying = asyncio.ensure_future(asyncio.to_thread(snapshot, database, tmp_path / "copy.db"))
    written = 3
    while not copying.done() or written < 50:
        await store.put(pod(written), lambda r: b'{"revision":%d}' % r)
        written += 1
    made = await copying
    await store.close()
    copy = open_sqlite(tmp_path / "copy.db")
    names = [entry.key.name for entry in copy.snapshot().range("pods")]
    assert names == [pod(each).name for each in range(len(names))]
    assert 3 <= len(names) == made.objects <= written
    await copy.close()


async def test_restore_replaces_a_database_that_cannot_be_read(
    database: Path, tmp_path: Path
) -> None:
    store = open_sqlite(database)
    await fill(store, 10)
    copy = tmp_path / "copy.db"
    await asyncio.to_thread(snapshot, database, copy)
    await fill(store, 10)
    newest = store.revision
    await store.close()
    database.write_bytes(b"not a database" * 1000)
    with pytest.raises(Damaged):
        open_sqlite(database)
    assert (await asyncio.to_thread(restore, copy, database)).revision > newest
    store = open_sqlite(database)
    assert store.snapshot().count("pods") == 10
    await store.close()


async def test_damaged_snapshot_is_not_restored(database: Path, tmp_path: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 10)
    await store.close()
    copy = tmp_path / "copy.db"
    await asyncio.to_thread(snapshot, database, copy)
    with pytest.raises(OpenFailed, match="exists"):
        await asyncio.to_thread(snapshot, database, copy)
    change_value(copy, 5)
    before = database.read_bytes()
    with pytest.raises(Damaged, match="revision 5 "):
        await asyncio.to_thread(restore, copy, database)
    assert database.read_bytes() == before
    broken = tmp_path / "broken.db"
    shutil.copy(copy, broken)
    with pytest.raises(WritesLost, match="cannot copy"):
        await asyncio.to_thread(snapshot, broken, tmp_path / "second.db")
    assert not (tmp_path / "second.db").exists()
