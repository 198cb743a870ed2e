"""What an embedded server makes of the files it finds."""

import contextlib
import io
import stat
from pathlib import Path
from typing import Any

import pytest
from free_ports import FREE_SETTINGS

from quarterdeck.app import embedded
from quarterdeck.app.all_in_one import up
from quarterdeck.app.console import Console
from quarterdeck.app.embedded import Plan
from quarterdeck.app.errors import StartError
from quarterdeck.app.fleet import ensure_token
from quarterdeck.app.settings import Settings
from quarterdeck.kit.clock import SystemClock

FREE: dict[str, Any] = dict(FREE_SETTINGS)


async def started(folder: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        await embedded.start(Plan(data_dir=folder, port=0), stack, clock=SystemClock())


@pytest.mark.parametrize("name", ["authority.crt", "server.crt", "server.key"])
@pytest.mark.parametrize("content", [b"", b"junk", b"\xff\xfe"], ids=["empty", "junk", "binary"])
async def test_certificates_that_cannot_be_used_are_one_line_with_the_fix(
    tmp_path: Path, name: str, content: bytes
) -> None:
    await started(tmp_path)
    (tmp_path / "pki" / name).write_bytes(content)
    with pytest.raises(StartError, match="move the folder away") as refusal:
        await started(tmp_path)
    assert str(tmp_path / "pki") in str(refusal.value)


async def test_a_start_that_was_killed_leaves_no_half_key(tmp_path: Path) -> None:
    await started(tmp_path)
    (tmp_path / "pki" / "server.key").rename(tmp_path / "pki" / ".server.key.4711")
    await started(tmp_path)
    assert stat.S_IMODE((tmp_path / "pki" / "server.key").stat().st_mode) == 0o600


async def test_the_token_is_private_even_where_a_readable_file_was(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    token.chmod(0o644)
    settings = Settings(**FREE, data_dir=tmp_path)
    (tmp_path / "fleet.db").write_text("not a database")  # ends the start behind the token
    with pytest.raises(StartError, match="fleet"):
        await up(settings, console=Console(io.StringIO()), started=0.0)
    assert token.read_text() != "old"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_a_fleet_token_of_no_letters_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "fleet-token").write_bytes(b"\xff\xfe\n")
    made = ensure_token(tmp_path / "fleet-token").reveal()
    assert len(made) > 30
    assert ensure_token(tmp_path / "fleet-token").reveal() == made
