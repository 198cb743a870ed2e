"""The detector of calls that block an event loop."""

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from quarterdeck.testing.blocking import BlockingCallDetector


def sleep(folder: Path) -> None:
    time.sleep(0.0001)  # noqa: TID251  # what is to be detected


def talk(folder: Path) -> None:
    near, far = socket.socketpair()
    with near, far:
        near.sendall(b"x")


def resolve(folder: Path) -> None:
    socket.getaddrinfo("127.0.0.1", 80)


def run_child(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)


def join(folder: Path) -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, daemon=True)
    thread.start()
    thread.join(0.0001)
    release.set()
    while thread.is_alive():
        os.sched_yield()


def sync(folder: Path) -> None:
    with (folder / "file").open("wb") as file:
        os.fsync(file.fileno())


@pytest.mark.parametrize(
    ("block", "name"),
    [
        pytest.param(sleep, "time.sleep", id="sleep"),
        pytest.param(talk, "socket.sendall", id="socket"),
        pytest.param(resolve, "socket.getaddrinfo", id="name server"),
        pytest.param(run_child, "Popen.communicate", id="child process"),
        pytest.param(join, "Thread.join", id="thread"),
        pytest.param(sync, "os.fsync", id="disk"),
    ],
)
async def test_a_blocking_call_on_a_loop_is_recorded(
    block: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    with BlockingCallDetector().install() as detector:
        block(tmp_path)
    assert name in [call.name for call in detector.calls]
    assert block.__name__ in detector.calls[0].stack
    assert "blocks the event loop" in str(detector.calls[0])


def test_without_a_running_loop_nothing_is_recorded(tmp_path: Path) -> None:
    with BlockingCallDetector().install() as detector:
        for block in (sleep, talk, resolve, join, sync):
            block(tmp_path)
    assert detector.calls == []


async def test_calls_in_other_threads_are_not_recorded(tmp_path: Path) -> None:
    with BlockingCallDetector().install() as detector:
        await asyncio.to_thread(sleep, tmp_path)
        await asyncio.to_thread(join, tmp_path)
    assert detector.calls == []


async def test_what_asyncio_does_by_itself_is_not_recorded() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()
        await writer.wait_closed()

    with BlockingCallDetector().install() as detector:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"hello\n")
            assert await reader.readline() == b"hello\n"
            writer.close()
            await writer.wait_closed()
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
        assert await child.wait() == 0
        await asyncio.sleep(0)
    assert detector.calls == []


async def test_only_callers_in_the_packages_are_recorded(tmp_path: Path) -> None:
    with BlockingCallDetector(packages=("quarterdeck",)).install() as detector:
        sleep(tmp_path)
    assert detector.calls == []
    own = BlockingCallDetector(packages=(__name__.partition(".")[0],))
    with own.install():
        sleep(tmp_path)
    assert [call.name for call in own.calls] == ["time.sleep"]


async def test_allowed_functions_may_block(tmp_path: Path) -> None:
    with BlockingCallDetector(allowed=[f"{__name__}.sleep"]).install() as detector:
        sleep(tmp_path)
        sync(tmp_path)
    assert [call.name for call in detector.calls] == ["os.fsync"]


def test_everything_is_restored_at_the_end() -> None:
    before = os.fsync, socket.socket.connect, socket.socket.recv, subprocess.Popen.wait
    with BlockingCallDetector().install():
        assert os.fsync is not before[0]
    after = os.fsync, socket.socket.connect, socket.socket.recv, subprocess.Popen.wait
    assert after == before


async def test_the_poller_that_grpc_wakes_before_it_joins_it_is_not_reported() -> None:
    release = threading.Event()
    poller = threading.Thread(target=release.wait, name="Thread-1 (_poll_wrapper)", daemon=True)
    detector = BlockingCallDetector()
    poller.start()
    with detector.install():
        poller.join(0.0001)
    release.set()
    while poller.is_alive():
        os.sched_yield()
    assert detector.calls == []
