"""Keys on the disk: what opening with another key rewrites, and what it leaves."""

import sqlite3
from pathlib import Path

import pytest

from quarterdeck.storage import OpenFailed, StoreKey, open_sqlite
from quarterdeck.storage.encryption import MARK, Cipher, EncryptionKey
from quarterdeck.storage.sqlite.rotation import reencrypt_values

OLD, NEW = EncryptionKey("old", b"o" * 32), EncryptionKey("new", b"n" * 32)
SECRET, POD = StoreKey("secrets", "a", "x"), StoreKey("pods", "a", "x")


def stored(database: Path) -> dict[str, bytes]:
    """The newest value of each resource as it is on the disk."""
    connection = sqlite3.connect(database)
    try:
        rows = connection.execute("SELECT resource, value FROM log ORDER BY revision")
        return {resource: bytes(value) for resource, value in rows}
    finally:
        connection.close()


async def write(database: Path, cipher: Cipher | None) -> None:
    store = open_sqlite(database, cipher=cipher)
    for key in (SECRET, POD):
        await store.put(key, lambda _: b"plain text")
    await store.close()


async def reopen(database: Path, cipher: Cipher) -> int:
    """Open and close with a cipher; returns the revision, which does not change."""
    store = open_sqlite(database, cipher=cipher)
    entry = store.get(SECRET)
    assert entry is not None and entry.value == b"plain text"
    revision = store.revision
    await store.close()
    return revision


async def test_only_values_under_another_key_are_rewritten(database: Path) -> None:
    old = Cipher({"secrets": OLD}, [OLD])
    await write(database, old)
    first = stored(database)
    assert first["secrets"].startswith(MARK + b"aesgcm:v1:old:")
    assert first["pods"] == b"plain text"
    revision = await reopen(database, old)
    assert stored(database) == first, "what is sealed by the key in force stays"
    assert await reopen(database, Cipher({"secrets": NEW}, [NEW, OLD])) == revision
    assert stored(database)["secrets"].startswith(MARK + b"aesgcm:v1:new:")
    assert stored(database)["pods"] == b"plain text"
    with pytest.raises(OpenFailed, match="key 'new'"):
        open_sqlite(database, cipher=old)


async def test_plain_values_are_sealed_and_sealed_ones_opened_again(database: Path) -> None:
    await write(database, None)
    await reopen(database, Cipher({"secrets": OLD}, [OLD]))
    assert b"plain text" not in stored(database)["secrets"]
    await reopen(database, Cipher({"secrets": None}, [OLD]))
    assert stored(database)["secrets"] == b"plain text"
    assert b"aesgcm" not in database.read_bytes(), "what stood there is overwritten"


async def test_sealing_counts_rows_and_overwrites_what_stood_there(database: Path) -> None:
    await write(database, None)
    connection = sqlite3.connect(database, isolation_level=None)
    cipher = Cipher({"secrets": OLD, "pods": OLD}, [OLD])
    try:
        assert reencrypt_values(connection, cipher) == 2
        log = database.with_name(f"{database.name}-wal")
        for file in (database, log):  # still open: nothing waits for the end of the connection
            assert not file.exists() or b"plain text" not in file.read_bytes()
        assert reencrypt_values(connection, cipher) == 0
    finally:
        connection.close()


async def test_sealing_that_fails_changes_nothing(database: Path) -> None:
    await write(database, None)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON log WHEN old.resource = 'secrets' "
        "BEGIN SELECT RAISE(ABORT, 'refused'); END"
    )
    try:
        with pytest.raises(sqlite3.IntegrityError, match="refused"):
            reencrypt_values(connection, Cipher({"pods": OLD, "secrets": OLD}, [OLD]))
        assert not connection.in_transaction
    finally:
        connection.close()
    assert stored(database) == {"secrets": b"plain text", "pods": b"plain text"}
