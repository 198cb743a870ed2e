"""Random damage to the files of a store: it is refused, or it made no difference.

`QUARTERDECK_SEEDS` is how many seeds are run; the number of a failing one is in its name.
"""

import functools
import os
import random
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from quarterdeck.storage import StorageError, Store, StoreKey, open_sqlite

SEEDS = range(int(os.environ.get("QUARTERDECK_SEEDS", "3")))
DAMAGES = 12
BLOCK = 4096

Written = dict[StoreKey, set[bytes]]
"""Every value that a key ever had."""


async def write(store: Store, chance: random.Random) -> tuple[dict[StoreKey, bytes], Written]:
    """Some creates, updates and deletions; what is there at the end, and what ever was."""
    state: dict[StoreKey, bytes] = {}
    history: Written = {}
    for _ in range(chance.randrange(20, 120)):
        key = StoreKey("pods", "default", f"p{chance.randrange(30):02}")
        if key in state and chance.random() < 0.2:
            await store.delete(key, lambda revision: b"%d" % revision)
            del state[key]
            continue
        text = chance.randbytes(chance.randrange(400)).hex().encode()
        entry = await store.put(key, functools.partial(_encode, text))
        assert entry is not None
        state[key] = entry.value
        history.setdefault(key, set()).add(entry.value)
    return state, history


def _encode(text: bytes, revision: int) -> bytes:
    return b"%d %s" % (revision, text)


def damage(folder: Path, chance: random.Random) -> str:
    """Damage one file as disks and people do; returns what was done."""
    path = chance.choice([each for each in sorted(folder.iterdir()) if each.stat().st_size])
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    match chance.randrange(6):
        case 0:
            data[at] ^= 1 << chance.randrange(8)
            done = f"bit {at}"
        case 1:
            data[at : at + 100] = chance.randbytes(len(data[at : at + 100]))
            done = f"noise at {at}"
        case 2:
            data[at : at + BLOCK] = bytes(len(data[at : at + BLOCK]))
            done = f"zeros at {at}"
        case 3:
            del data[at:]
            done = f"cut at {at}"
        case 4:
            pages = len(data) // BLOCK or 1
            a, b = (chance.randrange(pages) * BLOCK for _ in range(2))
            data[a : a + BLOCK], data[b : b + BLOCK] = data[b : b + BLOCK], data[a : a + BLOCK]
            done = f"blocks {a} and {b} exchanged"
        case _:
            path.unlink()
            return f"{path.name} deleted"
    path.write_bytes(data)
    return f"{path.name}: {done}"


def read(store: Store) -> dict[StoreKey, bytes]:
    return {entry.key: entry.value for entry in store.snapshot().range("pods")}


@pytest.mark.parametrize("seed", SEEDS)
async def test_damage_is_refused_or_makes_no_difference(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    original = tmp_path / "original"
    original.mkdir()
    store = open_sqlite(original / "state.db")
    state, history = await write(store, chance)
    await store.close()
    for number in range(DAMAGES):
        folder = tmp_path / str(number)
        shutil.copytree(original, folder)
        done = damage(folder, chance)
        await check_opened(folder / "state.db", state, done)
        await check_accepted(folder / "state.db", history, done)


async def check_opened(database: Path, state: Mapping[StoreKey, bytes], done: str) -> None:
    """A start refuses what was damaged, or has all of it."""
    try:
        store = open_sqlite(database)
    except StorageError:
        return
    found = read(store)
    await store.close()
    if not state.items() <= found.items() or len(found) != len(state):
        pytest.fail(f"damage was served: {done}")


async def check_accepted(database: Path, history: Written, done: str) -> None:
    """Whoever accepts the loss gets nothing that was never written."""
    try:
        store = open_sqlite(database, accept_loss=True)
    except StorageError:
        return
    for key, value in read(store).items():
        if value not in history.get(key, ()):
            pytest.fail(f"{key} has a value that nobody wrote: {done}")
    await store.close()
