"""The process behind `quarterdeck server`: store, certificates, listeners, and a clean end."""

import asyncio
import contextlib
import errno
import random
import signal
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from quarterdeck.app import certificates
from quarterdeck.app.cluster import DATABASE
from quarterdeck.app.kubeconfig import write_certificate
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.server.api import ApiServer
from quarterdeck.server.facts import derive
from quarterdeck.server.options import ServerOptions
from quarterdeck.storage import Store
from quarterdeck.storage.errors import OpenFailed

_HOST = "127.0.0.1"
_DRAIN_S = 5.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ServeError(Exception):
    """Raised when the server cannot start; the message is one line for the user."""


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What `quarterdeck server` is told."""

    data_dir: Path | None = None
    """Where everything is kept; None keeps nothing."""
    port: int = 6443
    """HTTPS; 0 takes any free port."""
    http_port: int | None = None
    """Plain HTTP on loopback; None listens on none."""
    kubeconfig: Path | None = None
    """Where the kubeconfig goes; by default beside the data."""
    options: ServerOptions = ServerOptions()


Say = Callable[[str], None]
"""Tells the user a line."""


async def serve(settings: ServeSettings, *, say: Say, started: float) -> None:
    """Serve until a signal asks to stop; `started` is when the process began, for the log.

    Raises:
        ServeError: if a port is taken or the data cannot be used; nothing was touched then.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        async with contextlib.AsyncExitStack() as stack:
            await _start(settings, stack, say=say, started=started)
            await stop.wait()
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _start(
    settings: ServeSettings, stack: contextlib.AsyncExitStack, *, say: Say, started: float
) -> None:
    clock = SystemClock()
    _check_port(settings.port, "--port")
    if settings.http_port is not None:
        _check_port(settings.http_port, "--http-port")
    store = _open(settings)
    stack.push_async_callback(store.close)
    folder = _folder(settings, stack)
    authority = certificates.ensure(folder / "pki", clock.now())
    tasks = await stack.enter_async_context(Supervisor("server"))
    api = ApiServer(store, settings.options, clock=clock, rng=random.Random())
    await api.start()
    tasks.spawn(api.run(), name="api-server")
    server = http.Server(api.handle, clock=clock)
    stack.push_async_callback(_shut_down, api, server)
    listener = await _listen(server, settings.port, "--port", authority=authority)
    say(f"listening on https://{_HOST}:{listener.port}")
    if settings.http_port is not None:
        plain = await _listen(server, settings.http_port, "--http-port", authority=None)
        say(f"listening on http://{_HOST}:{plain.port}")
    kubeconfig = settings.kubeconfig or folder / "kubeconfig"
    _write_kubeconfig(kubeconfig, f"https://{_HOST}:{listener.port}", authority)
    say(f"kubeconfig is {kubeconfig}")
    say(f"ready in {(clock.monotonic() - started) * 1000:.0f} ms")


async def _shut_down(api: ApiServer, server: http.Server) -> None:
    api.stop()
    await server.drain(_DRAIN_S)


def _check_port(port: int, flag: str) -> None:
    """Find out before anything is touched."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise _port_error(error, port, flag) from error


def _port_error(error: OSError, port: int, flag: str) -> ServeError:
    if error.errno == errno.EADDRINUSE:
        return ServeError(f"port {port} is taken; choose another one with {flag} (0 for any)")
    if error.errno == errno.EACCES:
        return ServeError(f"port {port} needs more rights; choose one above 1023 with {flag}")
    return ServeError(f"cannot listen on port {port} ({flag}): {error.strerror or error}")


def _open(settings: ServeSettings) -> Store:
    if settings.data_dir is None:
        from quarterdeck.storage.memory import open_memory

        return open_memory(derive=derive)
    from quarterdeck.storage.sqlite import open_sqlite

    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_sqlite(settings.data_dir / DATABASE, derive=derive)
    except OpenFailed as error:
        raise ServeError(str(error)) from error
    except OSError as error:
        raise ServeError(
            f"cannot use {settings.data_dir} (--data-dir): {error.strerror or error}"
        ) from error


def _folder(settings: ServeSettings, stack: contextlib.AsyncExitStack) -> Path:
    """Where certificates live: beside the data, or in a private folder that goes at the end."""
    if settings.data_dir is not None:
        return settings.data_dir
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quarterdeck-")))


async def _listen(
    server: http.Server, port: int, flag: str, *, authority: certificates.Certificates | None
) -> http.Listener:
    tls = authority.server_context() if authority is not None else None
    try:
        return await server.listen(_HOST, port, tls=tls)
    except OSError as error:
        raise _port_error(error, port, flag) from error


def _write_kubeconfig(path: Path, url: str, authority: certificates.Certificates) -> None:
    try:
        write_certificate(
            path,
            url,
            authority=authority.encoded(authority.certificate("authority")),
            certificate=authority.encoded(authority.certificate("administrator")),
            key=authority.encoded(authority.key("administrator")),
        )
    except OSError as error:
        raise ServeError(
            f"cannot write {path} (--write-kubeconfig): {error.strerror or error}"
        ) from error
