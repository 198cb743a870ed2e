"""Backups survive a power failure: contents reach the disk before a name, names before success."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.storage import Damaged, NewerFormat
from quarterdeck.storage.sqlite import file
from quarterdeck.storage.sqlite.backup import restore, snapshot, verify


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What the file system was asked for, in this order: a name of a call and of its files."""
    recorded: list[tuple[str, ...]] = []
    sync, link, replace = os.fsync, os.link, os.replace

    def record_sync(descriptor: int) -> None:
        recorded.append(("sync", _describe(os.readlink(f"/proc/self/fd/{descriptor}"))))
        sync(descriptor)

    def record_link(source: Any, target: Any) -> None:
        recorded.append(("link", _describe(source), _describe(target)))
        link(source, target)

    def record_replace(source: Any, target: Any) -> None:
        recorded.append(("replace", _describe(source), _describe(target)))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", record_sync)
    monkeypatch.setattr(os, "link", record_link)
    monkeypatch.setattr(os, "replace", record_replace)
    return recorded


def _describe(path: str | Path) -> str:
    return Path(path).name.replace(f".{os.getpid()}.", ".PID.")


def test_a_snapshot_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, calls: list[tuple[str, ...]]
) -> None:
    database, folder = tmp_path / "state.db", tmp_path / "copies"
    file.create(database)
    folder.mkdir()
    calls.clear()
    snapshot(database, folder / "copy.db")
    assert calls == [
        ("sync", "copy.db.PID.new"),
        ("link", "copy.db.PID.new", "copy.db"),
        ("sync", "copies"),
    ]


def test_a_restored_database_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, calls: list[tuple[str, ...]]
) -> None:
    source, place = tmp_path / "copy.db", tmp_path / "data" / "state.db"
    place.parent.mkdir()
    file.create(source)
    file.create(place)
    calls.clear()
    restore(source, place)
    synced, kept, renamed = (
        calls.index(call)
        for call in (
            ("sync", "state.db.PID.new"),
            ("replace", "state.db", "state.db.replaced"),
            ("replace", "state.db.PID.new", "state.db"),
        )
    )
    assert synced < kept < renamed
    assert calls[-1] == ("sync", "data"), "the last call makes all names last"


@pytest.mark.parametrize(
    ("pragma", "error", "message"),
    [
        pytest.param("application_id = 7", Damaged, "belongs to another program", id="foreign"),
        pytest.param("user_version = 99", NewerFormat, "has format 99", id="newer"),
    ],
)
def test_a_refusal_names_the_database_and_leaves_no_draft(
    tmp_path: Path, pragma: str, error: type[Exception], message: str
) -> None:
    database = tmp_path / "state.db"
    file.create(database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA {pragma}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for refuse in (verify, lambda path: snapshot(path, tmp_path / "copy.db")):
        with pytest.raises(error) as raised:
            refuse(database)
        assert str(raised.value).startswith(f"{database} {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.db"], "no draft is left"
