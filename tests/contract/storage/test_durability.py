"""What is acknowledged is on the disk, whatever happens to the process."""

import asyncio
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.storage import Store, StoreKey, open_sqlite
from quarterdeck.storage.sqlite import file
from quarterdeck.storage.sqlite.mark import Mark

WRITER = Path(__file__).with_name("crash_writer.py")
KILLS = int(os.environ.get("QUARTERDECK_KILLS", "25"))
KEY = StoreKey("pods", "default", "a")


def start(database: Path, *arguments: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(WRITER), str(database), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def kill_after(process: subprocess.Popen[bytes], lines: int) -> list[bytes]:
    """Read some acknowledgements, kill, and read what was still under way."""
    assert process.stdout is not None
    read = []
    for line in process.stdout:
        read.append(line)
        if len(read) >= lines:
            break
    process.send_signal(signal.SIGKILL)
    read += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    return [line for line in read if line.endswith(b"\n")]


def remember(acknowledged: dict[StoreKey, tuple[str, int]], lines: list[bytes]) -> int:
    newest = 0
    for line in lines:
        what, revision, *key = line.decode().split()
        newest = max(newest, int(revision))
        if what != "open":
            acknowledged[StoreKey("pods", *key)] = (what, int(revision))
    return newest


async def deleted_after(store: Store, revision: int) -> set[StoreKey]:
    gone: set[StoreKey] = set()
    with store.watch(None, after=max(revision, store.compacted)) as watcher:
        while watcher.position < store.revision:
            gone |= {event.key for event in await anext(watcher) if event.after is None}
    return gone


@pytest.mark.slow
async def test_acknowledged_writes_survive_kills(database: Path) -> None:
    generator = random.Random()
    acknowledged: dict[StoreKey, tuple[str, int]] = {}
    total = 0
    for number in range(KILLS):
        seed = generator.randrange(10**6)
        lines = kill_after(start(database, 8, 0, seed), generator.choice((2, 20, 200, 1500)))
        newest = remember(acknowledged, lines)
        total += len(lines)
        store = open_sqlite(database)
        why = f"kill {number}, seed {seed}"
        assert store.revision >= newest, why
        for key, (what, revision) in acknowledged.items():
            entry = store.get(key)
            if entry is None:
                assert what == "delete" or key in await deleted_after(store, revision), why
            else:
                # A newer write may be durable though its acknowledgement did not get out.
                assert entry.revision > revision or (what, entry.revision) == ("put", revision), why
                assert entry.value.startswith(b"%d " % entry.revision), why
        # What was found once has to be found from now on.
        found = store.snapshot().range("pods")
        acknowledged = {entry.key: ("put", entry.revision) for entry in found}
        await store.close()
    assert total > KILLS


async def test_nothing_is_visible_before_the_disk_has_it(database: Path) -> None:
    store = open_sqlite(database)
    told: list[object] = []
    store.subscribe(told.extend)
    watcher = store.watch(None, after=store.revision)
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    tickets = [store.put(KEY, lambda r: b"%d" % r) for _ in range(3)]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await tickets[0]
    assert not told and not watcher.buffered and store.get(KEY) is None
    other.execute("ROLLBACK")
    other.close()
    assert [await ticket for ticket in tickets][-1] is store.get(KEY)
    assert len(told) == 3
    await store.close()


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_reply_follows_the_sync(database: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    calls = "trace=write,pwrite64,fsync,fdatasync"
    strace = ["strace", "-f", "-y", "-o", str(trace), "-e", calls]
    program = [sys.executable, str(WRITER), str(database), "1", "30", "1"]
    run = subprocess.run([*strace, *program], capture_output=True, check=False)
    if b"ptrace" in run.stderr.lower():
        pytest.skip("strace may not trace here")
    assert run.returncode == 0, run.stderr
    is_synced = True
    replies = 0
    for line in trace.read_text(errors="replace").splitlines():
        # A call cut in two by another thread counts as a write from its beginning, as a sync
        # from its end.
        if re.search(r"pwrite64\(.*state\.db-wal>", line):
            is_synced = False
        elif re.search(r"sync(\(.*state\.db-wal>| resumed>)\)\s+= 0", line):
            is_synced = True
        elif re.search(r'write\(1<.*"(put|delete) ', line):
            replies += 1
            assert is_synced, line
    assert replies == 30


class Killed(BaseException):
    """The process ends at a call of the file system."""


@pytest.mark.parametrize("call", ["write", "pwrite", "fsync", "ftruncate"])
async def test_a_new_database_opens_after_its_first_start_was_killed(
    database: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    await asyncio.to_thread(file.create, database)

    def die(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Mark.__module__ + ".os", FakeOs(**{call: die}))
        with pytest.raises(Killed):
            open_sqlite(database)
    store = open_sqlite(database)
    await store.put(KEY, lambda _: b"1")
    await store.close()


class FakeOs:
    """The module `os` with some calls replaced."""

    def __init__(self, **replaced: Callable[..., None]) -> None:
        self.__dict__.update(vars(os) | replaced)
