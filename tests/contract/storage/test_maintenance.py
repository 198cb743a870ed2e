"""Work on a database beside the server: compaction of a stopped one, checks of a running one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quarterdeck.storage import Damaged, StoreKey, open_sqlite
from quarterdeck.storage.sqlite.maintenance import compact_file

KEY = StoreKey("pods", "default", "a")


async def write_versions(database: Path, count: int) -> None:
    store = open_sqlite(database)
    for _ in range(count):
        await store.put(KEY, lambda revision: b"%d" % revision)
    await store.close()


def execute(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        for each in statements:
            connection.execute(each)


async def test_a_damaged_database_is_not_compacted(database: Path) -> None:
    await write_versions(database, 5)
    execute(database, "UPDATE log SET value = x'00' WHERE revision = 6")
    with pytest.raises(Damaged, match="revision 6 of pods/default/a: wrong checksum"):
        compact_file(database)
    store = open_sqlite(database, accept_loss=True)
    entry = store.get(KEY)
    assert entry is not None and entry.value == b"5", "the newest version that is readable"
    await store.close()
