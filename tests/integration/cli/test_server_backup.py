"""`quarterdeck server snapshot|restore|verify` on a data folder."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from quarterdeck.app.cluster import DATABASE
from quarterdeck.cli.main import run
from quarterdeck.hubstate.embedded.history import open_history
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.kit.clock import SystemClock
from quarterdeck.storage import StoreKey, open_sqlite
from quarterdeck.storage.sqlite.mark import encode_mark


async def fill(database: Path) -> None:
    store = open_sqlite(database)
    await store.put(StoreKey("namespaces", "", "default"), lambda r: b'{"rv":%d}' % r)
    for number in range(1, 5):
        await store.put(StoreKey("pods", "default", f"p{number}"), lambda r: b'{"rv":%d}' % r)
    await store.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    asyncio.run(fill(tmp_path / DATABASE))
    return tmp_path


def test_snapshot_is_restored_and_verified(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--data-dir", str(data_dir)]
    copy = str(data_dir / "copy.db")
    assert run(["server", "snapshot", copy, *where]) == 0
    assert "has 5 objects at revision 6" in capsys.readouterr().out
    assert run(["server", "restore", copy, *where]) == 0
    assert "restored 5 objects; the next revision is 8" in capsys.readouterr().out
    assert run(["server", "verify", *where]) == 0
    assert run(["server", "verify", copy]) == 0
    assert "5 objects at revision 6, all undamaged" in capsys.readouterr().out


def test_damage_is_named_and_fails(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = data_dir / DATABASE
    database.write_bytes(database.read_bytes().replace(b'{"rv":3}', b'{"rv":8}'))
    assert run(["server", "verify", "--data-dir", str(data_dir)]) == 1
    assert "revision 3 of pods/default/p1: wrong checksum" in capsys.readouterr().err


def test_a_database_of_the_hub_is_not_restored_over_the_objects(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def keep() -> None:
        state = open_embedded(data_dir / "hub.db", clock=SystemClock())
        await state.aclose()
        history = open_history(data_dir / "history.db", clock=SystemClock())
        await history.aclose()

    asyncio.run(keep())
    before = (data_dir / DATABASE).read_bytes()
    for name in ("hub.db", "history.db"):
        source = str(data_dir / name)
        assert run(["server", "restore", source, "--data-dir", str(data_dir)]) == 2
        assert f"{name}: it has no namespaces" in capsys.readouterr().err
    assert (data_dir / DATABASE).read_bytes() == before


def test_nothing_to_verify_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["server", "verify", "--data-dir", str(tmp_path)]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_server_refuses_to_start_without_lost_writes(data_dir: Path) -> None:
    (data_dir / f"{DATABASE}.revision").write_bytes(encode_mark(400))
    command = [sys.executable, "-m", "quarterdeck.cli", "server", "--port", "0"]
    done = subprocess.run(
        [*command, "--data-dir", str(data_dir)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "the newest revision is 6, but 400 was acknowledged" in done.stderr
    assert "--accept-data-loss" in done.stderr
