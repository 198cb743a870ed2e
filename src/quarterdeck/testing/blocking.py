"""Finds calls that block an event loop, as they happen.

    detector = BlockingCallDetector(packages=("shop",))
    with detector.install():
        ...
    assert detector.calls == []

A call is reported if it waits for something outside the process (sleep, a blocking socket, a name
server, a child process, another thread, a disk that has to sync) in a thread whose event loop
runs. Nothing is timed, so a loaded machine gives no false alarm, and a quick machine hides nothing:
a call blocks by what it is, not by how long it took. Reads of ordinary files are not reported,
because programs read small files while they start.

Only calls whose nearest caller outside the standard library is in one of `packages` are reported;
a test that blocks its own loop is its own affair. Calls are recorded, not refused, because code
under test may handle whatever is raised.
"""

import asyncio
import concurrent.futures
import contextlib
import functools
import os
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

_STDLIB = (sysconfig.get_paths()["stdlib"], "<frozen")
_LOOP_FILES = (asyncio.events.__file__, asyncio.runners.__file__)
_SHOWN_FRAMES = 6
_GRPC_POLLER = "(_poll_wrapper)"


class BlockingCall(NamedTuple):
    """One call that blocked an event loop."""

    name: str
    stack: str

    def __str__(self) -> str:
        return f"{self.name} blocks the event loop:\n{self.stack}"


class _Target(NamedTuple):
    """A function to observe, and the condition under which a call of it blocks."""

    owner: Any
    name: str
    may_block: Callable[..., bool] = lambda *_, **__: True


def _is_blocking_socket(connection: socket.socket, *_: object, **__: object) -> bool:
    return connection.gettimeout() != 0.0


def _is_pending(future: "concurrent.futures.Future[object]", *_: object, **__: object) -> bool:
    return not future.done()


def _is_running_long(thread: threading.Thread, *_: object, **__: object) -> bool:
    """Whether joining a thread blocks; gRPC's poller does not, as it is woken before."""
    return thread.is_alive() and not thread.name.endswith(_GRPC_POLLER)


def _is_positive(seconds: float) -> bool:
    return seconds > 0


_TARGETS = (
    _Target(time, "sleep", _is_positive),
    *(
        _Target(socket.socket, name, _is_blocking_socket)
        for name in ("connect", "accept", "recv", "recv_into", "send", "sendall")
    ),
    _Target(socket, "getaddrinfo"),
    _Target(socket, "gethostbyname"),
    _Target(subprocess.Popen, "wait"),
    _Target(subprocess.Popen, "communicate"),
    _Target(threading.Thread, "join", _is_running_long),
    _Target(concurrent.futures.Future, "result", _is_pending),
    _Target(os, "fsync"),
    _Target(os, "fdatasync"),
)


class BlockingCallDetector:
    """Records blocking calls made by some packages on threads with a running event loop."""

    def __init__(self, packages: Sequence[str] = (), *, allowed: Sequence[str] = ()) -> None:
        """`packages` are names of top-level packages; without any, all callers are reported.

        `allowed` are functions that may block, with all they call: `shop.store.open_store`.
        """
        self._packages = tuple(packages)
        self._allowed = frozenset(allowed)
        self.calls: list[BlockingCall] = []

    @contextlib.contextmanager
    def install(self) -> Iterator["BlockingCallDetector"]:
        """Record calls inside the block."""
        with contextlib.ExitStack() as stack:
            for target in _TARGETS:
                stack.enter_context(self._replace(target))
            yield self

    @contextlib.contextmanager
    def _replace(self, target: _Target) -> Iterator[None]:
        original = getattr(target.owner, target.name)
        is_inherited = target.name not in vars(target.owner)

        @functools.wraps(original)
        def observed(*arguments: Any, **options: Any) -> Any:
            if asyncio._get_running_loop() is not None and target.may_block(*arguments, **options):
                self._record(target, sys._getframe(1))
            return original(*arguments, **options)

        setattr(target.owner, target.name, observed)
        try:
            yield
        finally:
            if is_inherited:
                delattr(target.owner, target.name)
            else:
                setattr(target.owner, target.name, original)

    def _record(self, target: _Target, frame: FrameType) -> None:
        if self._packages and _get_package(frame) not in self._packages:
            return
        if self._allowed and not self._allowed.isdisjoint(_list_callers(frame)):
            return
        owner = getattr(target.owner, "__qualname__", target.owner.__name__)
        stack = "".join(traceback.format_stack(frame)[-_SHOWN_FRAMES:])
        self.calls.append(BlockingCall(f"{owner}.{target.name}", stack))


def _list_callers(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_qualname}"
        frame = frame.f_back


def _get_package(frame: FrameType | None) -> str:
    """The top-level package of the nearest caller outside the standard library."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name in _LOOP_FILES and frame.f_code.co_name in ("_run", "run", "close"):
            return "asyncio"  # the runner of the loop has not made this call
        is_library = name.startswith(_STDLIB) and "site-packages" not in name
        if not is_library and name != __file__:
            return str(frame.f_globals.get("__name__", "")).partition(".")[0]
        frame = frame.f_back
    return ""
