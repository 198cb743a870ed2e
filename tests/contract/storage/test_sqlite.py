"""What only a database on a disk has: restarts, other openers, damage, full disks."""

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quarterdeck.storage import (
    CommitFailed,
    Compacted,
    Damaged,
    DiskFull,
    Locked,
    NewerFormat,
    OpenFailed,
    Store,
    StoreKey,
    open_sqlite,
)
from quarterdeck.storage.sqlite.log import INSERT_ROWS


def pod(number: int) -> StoreKey:
    return StoreKey("pods", "default", f"p{number:05}")


async def fill(store: Store, count: int, *, size: int = 100) -> None:
    tickets = [
        store.put(pod(number), lambda r: b"%d " % r + b"x" * size) for number in range(count)
    ]
    for ticket in tickets:
        await ticket


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


async def test_everything_is_there_after_a_restart(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 300)
    await fill(store, 100)
    await store.delete(pod(7), lambda r: b"%d gone" % r)
    before = store.snapshot()
    await store.close()
    store = open_sqlite(database, derive=lambda name, value: (name, len(value)))
    assert store.revision == before.revision
    for old, new in zip(before.range("pods"), store.snapshot().range("pods"), strict=True):
        assert (old.key, old.value, old.revision) == (new.key, new.value, new.revision)
        assert old.created_revision == new.created_revision
        assert new.facts == ("pods", len(new.value))
    with store.watch("pods", after=300) as watcher:
        events = await anext(watcher)
    assert [event.revision for event in events] == list(range(301, 403))
    assert events[-1].tombstone == b"402 gone"
    await store.close()


@pytest.mark.parametrize("size", [100, 100_000], ids=["small values", "large values"])
async def test_watches_older_than_memory_are_read_from_the_log(database: Path, size: int) -> None:
    store = open_sqlite(database, history_events=10)
    await fill(store, 150, size=size)
    await fill(store, 150, size=size)
    seen = []
    with store.watch("pods", after=1) as watcher:
        while watcher.position < store.revision:
            if watcher.position == 1:
                await store.put(pod(999), lambda r: b"%d" % r)
            seen += await anext(watcher)
    assert [event.revision for event in seen] == list(range(2, 303))
    assert all(event.before is not None for event in seen[150:300])
    assert (await store.snapshot_at(100)).count("pods") == 99
    with pytest.raises(Compacted):
        store.snapshot(99)
    await store.close()


@pytest.mark.parametrize("page", [7, 500], ids=["small pages", "usual pages"])
async def test_every_kept_revision_can_be_read_and_watched(
    database: Path, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also across the borders between memory, log and restart."""
    monkeypatch.setattr("quarterdeck.storage.store.READ_PAGE", page)
    store = open_sqlite(database, history_events=20)
    states: dict[int, dict[str, bytes]] = {1: {}}
    for step in range(90):
        key, state = pod(step * 7 % 11), dict(states[store.revision])
        if step % 5 == 4 and store.get(key) is not None:
            await store.delete(key, lambda r: b"%d gone" % r)
            del state[key.name]
        else:
            await store.put(key, lambda r: b"%d" % r)
            state[key.name] = b"%d" % store.revision
        states[store.revision] = state
    for round_ in range(2):
        await store.compact(25 + 5 * round_)
        for revision in range(store.compacted, store.revision + 1):
            snapshot = await store.snapshot_at(revision)
            found = {entry.key.name: entry.value for entry in snapshot.range("pods")}
            assert found == states[revision]
            seen = []
            with store.watch("pods", after=revision) as watcher:
                while watcher.position < store.revision:
                    seen += await anext(watcher)
            assert [event.revision for event in seen] == [*range(revision + 1, store.revision + 1)]
            for event in seen:
                name = event.key.name
                before = event.before.value if event.before else None
                assert before == states[event.revision - 1].get(name)
                assert (event.after and event.after.value) == states[event.revision].get(name)
        await store.close()
        store = open_sqlite(database, history_events=20)
    await store.close()


async def test_history_is_bounded_by_itself(database: Path) -> None:
    store = open_sqlite(database, retain=200, durability="normal")
    for _ in range(40):
        await fill(store, 50)
    await store.compact(store.compacted)
    assert store.revision - store.compacted <= 250
    await store.close()
    with sqlite3.connect(database) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM log").fetchone()
    connection.close()
    assert 200 <= rows <= 350
    store = open_sqlite(database)
    assert store.snapshot().count("pods") == 50
    await store.close()


async def test_compaction_gives_space_back(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 400, size=10_000)
    full = store.revision
    for number in range(400):
        ticket = store.delete(pod(number), lambda r: b"%d" % r)
    await ticket
    await store.close()
    size = database.stat().st_size
    store = open_sqlite(database)
    for step in range(full, store.revision + 1, 10):
        await store.compact(step)
    await store.compact(store.revision)
    await store.close()
    assert database.stat().st_size < size / 2
    store = open_sqlite(database)
    assert store.revision == full + 400
    assert (await store.put(pod(1), lambda r: b"%d" % r)) is not None
    assert store.revision == full + 401
    await store.close()


async def test_the_write_ahead_log_stays_small(database: Path) -> None:
    store = open_sqlite(database, durability="normal")
    largest = 0
    for _ in range(30):
        await fill(store, 100, size=10_000)
        largest = max(largest, Path(f"{database}-wal").stat().st_size)
    await store.close()
    assert largest < 24 * 1024 * 1024
    assert not Path(f"{database}-wal").exists()


async def test_a_second_opener_is_refused(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 3)
    with pytest.raises(Locked, match=str(os.getpid())):
        open_sqlite(database)
    await fill(store, 3)
    await store.close()
    await open_sqlite(database).close()


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        pytest.param(lambda data: b"", Damaged, id="empty"),
        pytest.param(lambda data: b"not a database " * 1000, Damaged, id="something else"),
        pytest.param(lambda data: data[:50], Damaged, id="cut in the header"),
        pytest.param(lambda data: data[: len(data) // 2], Damaged, id="cut in half"),
        pytest.param(
            lambda data: data[:16384] + bytes(8192) + data[24576:], Damaged, id="zero page"
        ),
        pytest.param(lambda data: data[:68] + b"HOME" + data[72:], Damaged, id="another program's"),
        pytest.param(lambda data: data[:60] + b"\0\0\0\x09" + data[64:], NewerFormat, id="newer"),
    ],
)
async def test_what_cannot_be_used_is_refused_and_left_alone(
    database: Path, damage: object, error: type[OpenFailed]
) -> None:
    store = open_sqlite(database)
    await fill(store, 500)
    await store.close()
    database.write_bytes(damage(database.read_bytes()))  # type: ignore[operator]
    before = contents(database.parent)
    with pytest.raises(error, match=r"state\.db"):
        open_sqlite(database)
    after = contents(database.parent)
    assert after["state.db"] == before["state.db"]
    assert {name for name in after if not name.endswith(("-shm", "-wal"))} == set(before)


async def test_a_log_without_its_database_is_not_adopted(database: Path) -> None:
    Path(f"{database}-wal").write_bytes(b"something")
    with pytest.raises(Damaged, match="restore"):
        open_sqlite(database)
    assert not database.exists()


@pytest.mark.parametrize("where", ["missing/state.db", "a-file/state.db"])
async def test_an_unusable_folder_is_named(tmp_path: Path, where: str) -> None:
    (tmp_path / "a-file").write_text("")
    with pytest.raises(OpenFailed, match="cannot lock"):
        open_sqlite(tmp_path / where)


async def test_a_full_disk_undoes_and_recovers(database: Path) -> None:
    store = open_sqlite(database, max_bytes=400_000)
    await fill(store, 20)
    told: list[object] = []
    store.subscribe(told.extend)
    before = store.snapshot()
    key = StoreKey("pods", "default", "big")
    large = store.put(key, lambda _: b"x" * 1_000_000)
    together = store.put(key, lambda _: b"small", expected=large.revision)
    await asyncio.sleep(0)  # the batch is with the disk now, the next one gathers
    on_top = store.put(key, lambda _: b"small", expected=together.revision)
    assert not large.is_done
    for ticket in (large, together, on_top):
        with pytest.raises(DiskFull, match="no space"):
            await ticket
    assert store.get_pending(key) is None
    assert store.snapshot() is before and store.revision == before.revision
    assert not told
    entry = await store.put(key, lambda r: b"%d" % r, expected=0)
    assert entry is not None and entry.revision > on_top.revision
    revision = store.revision
    await store.close()
    store = open_sqlite(database)
    assert store.revision == revision and store.snapshot().count("pods") == 21
    await store.close()


@pytest.mark.parametrize("count", [1, INSERT_ROWS, INSERT_ROWS + 1, 2 * INSERT_ROWS, 100])
async def test_a_batch_of_any_length_is_committed_whole(database: Path, count: int) -> None:
    store = open_sqlite(database)
    await fill(store, count)
    await store.close()
    store = open_sqlite(database)
    kept = [(entry.key, entry.value) for entry in store.snapshot().range("pods")]
    assert kept == [(pod(n), b"%d " % (n + 2) + b"x" * 100) for n in range(count)]
    await store.close()


async def test_a_batch_of_several_statements_is_undone_whole(database: Path) -> None:
    store = open_sqlite(database, max_bytes=400_000)
    with store.transaction():
        tickets = [
            store.put(pod(number), lambda r: b"x" * (10 if number < INSERT_ROWS else 60_000))  # noqa: B023
            for number in range(INSERT_ROWS + 10)
        ]
    for ticket in tickets:
        with pytest.raises(DiskFull):
            await ticket
    await store.close()
    store = open_sqlite(database)
    assert not list(store.snapshot().range("pods"))
    await store.close()


async def test_a_refusing_file_system_undoes_and_recovers(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 20)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        tickets = [store.put(pod(number), lambda r: b"%d " % r * 20_000) for number in range(9)]
        for ticket in tickets:
            with pytest.raises(CommitFailed):
                await ticket
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert store.revision == 21
    await fill(store, 30)
    assert store.snapshot().count("pods") == 30
    await store.close()
    store = open_sqlite(database)
    assert store.snapshot().count("pods") == 30
    await store.close()


FULL_DISK = """
import asyncio, sys
from quarterdeck.storage import DiskFull, StoreKey, open_sqlite
from pathlib import Path

async def main(folder):
    filler = folder / "filler"
    filler.write_bytes(bytes(1_000_000))
    store = open_sqlite(folder / "state.db")
    done = failed = 0
    for number in range(400):
        try:
            await store.put(StoreKey("pods", "", f"p{number}"), lambda r: b"x" * 10_000)
            done += 1
        except DiskFull:
            failed += 1
    assert done and failed, (done, failed)
    assert store.snapshot().count("pods") == done
    filler.unlink()
    await store.put(StoreKey("pods", "", "last"), lambda r: b"x" * 10_000)
    await store.close()
    store = open_sqlite(folder / "state.db")
    assert store.snapshot().count("pods") == done + 1
    await store.close()

asyncio.run(main(Path(sys.argv[1])))
"""


NO_ROOM = """
import sys
from pathlib import Path
from quarterdeck.storage import OpenFailed, open_sqlite

try:
    open_sqlite(Path(sys.argv[1]) / "state.db")
except OpenFailed as error:
    print(error)
"""


def run_on_disk(folder: Path, size: str, program: str) -> str:
    """Run a program on a disk of that size; returns what it prints. Skips if none can be made."""
    unshare = shutil.which("unshare")
    mount = f"mount -t tmpfs -o size={size} none {folder}"
    if (
        unshare is None
        or subprocess.run([unshare, "-Urm", "sh", "-c", mount], check=False).returncode
    ):
        pytest.skip("may not mount a small file system here")
    command = f'{mount} && exec {sys.executable} -c "$PROGRAM" {folder}'
    run = subprocess.run(
        [unshare, "-Urm", "sh", "-c", command],
        env={**os.environ, "PROGRAM": program},
        capture_output=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode()


async def test_a_write_to_a_full_disk_is_refused(tmp_path: Path) -> None:
    run_on_disk(tmp_path, "4m", FULL_DISK)


@pytest.mark.parametrize("size", ["16k", "40k", "100k"])
async def test_a_full_disk_is_not_reported_as_damage(tmp_path: Path, size: str) -> None:
    told = run_on_disk(tmp_path, size, NO_ROOM)
    assert "the disk is full; free space" in told
    assert "damaged" not in told


async def test_files_are_private(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 1)
    modes = {path.name: path.stat().st_mode & 0o077 for path in database.parent.iterdir()}
    await store.close()
    assert set(modes.values()) == {0}, modes


async def test_dozens_of_stores_leak_nothing(tmp_path: Path) -> None:
    threads = set(threading.enumerate())  # those of other tests may end meanwhile
    descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for number in range(30):
        store = open_sqlite(tmp_path / f"{number}.db", durability="normal")
        await fill(store, 1)
        await store.close()
    assert set(threading.enumerate()) <= threads
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= descriptors + 1


async def test_an_idle_store_uses_no_processor_time(database: Path) -> None:
    store = open_sqlite(database)
    await fill(store, 100)
    loop = asyncio.get_running_loop()
    await asyncio.sleep(0)
    assert not loop._ready and not loop._scheduled  # type: ignore[attr-defined]
    await store.close()
