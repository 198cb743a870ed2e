"""Work on a database beside the server: compaction of a stopped one, checks of a running one."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from quarterdeck.storage import Damaged, StoreKey, open_sqlite
from quarterdeck.storage.sqlite import loader
from quarterdeck.storage.sqlite.backup import verify
from quarterdeck.storage.sqlite.file import connect_read_only
from quarterdeck.storage.sqlite.loader import LOAD
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


class Meanwhile:
    """A connection of a reader; something else happens before it reads the log."""

    def __init__(self, connection: sqlite3.Connection, act: Callable[[], None]) -> None:
        self._connection = connection
        self._act = act

    def execute(self, statement: str) -> sqlite3.Cursor:
        if statement == LOAD:
            self._act()
        return self._connection.execute(statement)

    def close(self) -> None:
        self._connection.close()


async def test_a_compaction_meanwhile_is_not_reported_as_damage(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await write_versions(database, 5)

    def compact() -> None:
        execute(
            database,
            "DELETE FROM log WHERE revision IN (SELECT replaced FROM log)",
            "UPDATE meta SET value = (SELECT max(revision) FROM log)",
        )

    def connect(path: Path) -> Meanwhile:
        return Meanwhile(connect_read_only(path), compact)

    monkeypatch.setattr(loader, "connect_read_only", connect)
    report = verify(database)
    assert (report.revision, report.problems) == (6, "")
