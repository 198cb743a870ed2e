"""Programs that tests start: what is told about one that is absent or does not listen."""

import sys
from pathlib import Path

import pytest

from quarterdeck.testing import programs

SERVER = """
import signal, socket, sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    signal.pause()
"""


def test_a_test_is_skipped_without_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUARTERDECK_REQUIRE_TOOLS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed"):
        programs.require("no-such-program")


def test_a_test_fails_without_a_program_that_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTERDECK_REQUIRE_TOOLS", "git,no-such-program")
    with pytest.raises(pytest.fail.Exception, match="QUARTERDECK_REQUIRE_TOOLS names it"):
        programs.require("no-such-program")


def test_a_program_that_ends_at_once_is_shown_with_its_output(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no space left'); raise SystemExit(3)"]
    port = programs.find_free_port()
    with (
        pytest.raises(RuntimeError, match=rf"did not listen on port {port}: no space left"),
        programs.run_program(command, port=port, folder=tmp_path),
    ):
        pass


async def test_a_program_beside_a_coroutine_ends_with_the_block(tmp_path: Path) -> None:
    port = programs.find_free_port()
    command = [sys.executable, "-c", SERVER.replace("SIG_IGN", "SIG_DFL"), str(port)]
    async with programs.run_program_async(command, port=port, folder=tmp_path) as process:
        assert process.poll() is None
    assert process.poll() is not None


def test_a_program_that_ignores_the_request_to_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_STOP_S", 0.01)
    port = programs.find_free_port()
    command = [sys.executable, "-c", SERVER, str(port)]
    with programs.run_program(command, port=port, folder=tmp_path) as process:
        assert process.poll() is None
    assert process.returncode == -9
