"""Real servers as processes of a test: started on a free port, stopped at its end.

    with programs.run_program(["redis-server", "--port", str(port)], port=port):
        ...

A test that needs a program which is not installed is skipped, or fails when
`QUARTERDECK_REQUIRE_TOOLS` names it.
"""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

from quarterdeck.kit.free_port import find_free_port as find_free_port

_STEP_S = 0.02
_START_S = 60.0
_STOP_S = 10.0


def require(name: str, *, install: str = "make tools") -> str:
    """The path of a program; skips the test if it is absent and not required.

    `install` is the command that installs it, for the message.
    """
    path = shutil.which(name)
    if path is not None:
        return path
    required = os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").replace(",", " ").split()
    if name in required:
        pytest.fail(f"{name} is not installed, and QUARTERDECK_REQUIRE_TOOLS names it: {install}")
    pytest.skip(f"{name} is not installed: {install}")


def build_redis_command(port: int, *options: str) -> list[str]:
    """The command of a Redis server without persistence."""
    return [
        require("redis-server"),
        *("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"),
        *options,
    ]


@contextlib.contextmanager
def run_program(
    command: Sequence[str], *, port: int, folder: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends; entered when its port accepts connections.

    Raises:
        RuntimeError: with its output, if it ends before that.
    """
    output = folder / f"{Path(command[0]).name}-{port}.log"
    with output.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
    try:
        _await_port(process, port, output)
        yield process
    finally:
        stop(process)


@contextlib.asynccontextmanager
async def run_program_async(
    command: Sequence[str], *, port: int, folder: Path, environment: dict[str, str] | None = None
) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """As `run_program`, in a coroutine: does not block the event loop."""
    server = run_program(command, port=port, folder=folder, environment=environment)
    process = await asyncio.to_thread(server.__enter__)
    try:
        yield process
    finally:
        await asyncio.to_thread(server.__exit__, None, None, None)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process and wait for it; one that has ended is fine."""
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _await_port(process: "subprocess.Popen[bytes]", port: int, output: Path) -> None:
    pause = threading.Event()
    for _ in range(int(_START_S / _STEP_S)):
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            pause.wait(_STEP_S)
    text = output.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"{process.args!r} did not listen on port {port}: {text}")
