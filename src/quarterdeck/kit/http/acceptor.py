"""Accepting connections: sockets, a bound on their number, and TLS handshakes under control.

The loop's own server accepts without limit, and counts a TLS connection only after its handshake.
Here a connection is accepted only below the limit, and the others wait in the kernel. At the limit
an idle connection, or a handshake that takes too long, is closed for a new connection.
"""

import asyncio
import errno
import logging
import os
import socket
import ssl
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from quarterdeck.kit.http.plain_request import answer_plain_request
from quarterdeck.kit.http.state import ServerState

_log = logging.getLogger(__name__)
_BACKLOG = 1024
_PORT_TRIES = 20
_PAUSE_S = 0.1
_LEAST_HANDSHAKE_S = 0.001
_QUIET_S = 1.0
"""The shortest time between two log lines about refused certificates."""
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _Opening(NamedTuple):
    """The peer of a connection, and the time it was accepted."""

    host: str
    since: float


class Acceptor:
    """Accepts on some sockets until it is closed."""

    def __init__(
        self,
        sockets: list[socket.socket],
        state: ServerState,
        *,
        protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._state = state
        self._protocol = protocol
        self._tls = tls
        self._opening: dict[asyncio.Task[None], _Opening] = {}
        """Connections that are not open yet, the oldest first."""
        self._refused = 0
        self._quiet_until = 0.0
        self._given_up: set[asyncio.Task[None]] = set()
        self._loops = [self._start(each) for each in sockets]

    def _start(self, listening: socket.socket) -> "asyncio.Task[None]":
        """Accept on a socket; it is closed when its task ends, whoever waits for that."""
        task = asyncio.get_running_loop().create_task(self._accept(listening), name="http-accept")
        task.add_done_callback(lambda _: listening.close())
        return task

    def stop(self) -> None:
        """Stop accepting and give up unfinished handshakes, without waiting for their end."""
        for task in self._list_tasks():
            task.cancel()

    async def close(self) -> None:
        """Stop accepting and give up unfinished handshakes."""
        self.stop()
        if tasks := self._list_tasks():
            await asyncio.wait(tasks)

    def _list_tasks(self) -> "set[asyncio.Task[None]]":
        return {*self._loops, *self._opening, *self._given_up}

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wait_for_room()
            try:
                connected, address = await loop.sock_accept(listening)
            except OSError as error:
                if listening.fileno() < 0:
                    return
                if error.errno in _OUT_OF_RESOURCES:
                    self._evict_idle()
                    await asyncio.sleep(_PAUSE_S)
                continue
            host = str(address[0]) if isinstance(address, tuple) else ""
            task = loop.create_task(self._open(connected, host), name="http-open")
            self._opening[task] = _Opening(host, loop.time())
            task.add_done_callback(self._remove_task)

    async def _wait_for_room(self) -> None:
        """Wait until one more connection fits, closing the longest idle one if need be."""
        limits = self._state.limits
        while True:
            opening = len(self._opening)
            if len(self._state.connections) + opening < limits.connections:
                if opening < limits.handshakes:
                    return
                await self._end_handshake()
            elif self._evict_idle():
                await asyncio.sleep(0)
            else:
                await asyncio.sleep(min(_PAUSE_S, limits.tick_s))

    async def _end_handshake(self) -> None:
        """Wait until a handshake ends, or cancel one that has taken `handshake_share_s` or longer.

        That is the oldest one of the address with the most handshakes: a peer that opens many
        connections and sends nothing loses its own, and others wait only for that time.
        """
        shares = Counter(each.host for each in self._opening.values())
        host = max(shares, key=shares.__getitem__)
        task, oldest = next(pair for pair in self._opening.items() if pair[1].host == host)
        age_s = asyncio.get_running_loop().time() - oldest.since
        left_s = self._state.limits.handshake_share_s - age_s
        if left_s > 0:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait(list(self._opening), timeout=left_s, return_when=first)
            return
        task.cancel()
        del self._opening[task]
        self._given_up.add(task)
        self._state.handshake_failures_total += 1

    def _remove_task(self, task: "asyncio.Task[None]") -> None:
        self._opening.pop(task, None)
        self._given_up.discard(task)

    def _evict_idle(self) -> bool:
        idle = [
            (deadline, connection)
            for connection in self._state.connections
            if (deadline := connection.idle_deadline) is not None
        ]
        if not idle:
            return False
        min(idle, key=lambda pair: pair[0])[1].evict()
        self._state.evicted_total += 1
        return True

    async def _open(self, connected: socket.socket, host: str) -> None:
        try:
            connected.settimeout(0)
            if connected.family != socket.AF_UNIX:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                await self._connect(connected)
            else:
                await self._shake_hands(connected, self._tls)
        except (OSError, TimeoutError, ssl.SSLError) as error:
            self._state.handshake_failures_total += 1
            if isinstance(error, ssl.SSLCertVerificationError):
                self._log_refusal(host, error)
            connected.close()
        except asyncio.CancelledError:
            connected.close()
            raise

    async def _shake_hands(self, connected: socket.socket, tls: ssl.SSLContext) -> None:
        """Open a TLS connection, unless the client speaks plain HTTP."""
        loop, limits = asyncio.get_running_loop(), self._state.limits
        deadline = loop.time() + limits.handshake_timeout_s
        async with asyncio.timeout_at(deadline):
            if await answer_plain_request(connected):
                self._state.handshake_failures_total += 1
                connected.close()
                return
        await self._connect(
            connected,
            ssl=tls,
            ssl_shutdown_timeout=limits.linger_timeout_s,
            ssl_handshake_timeout=max(deadline - loop.time(), _LEAST_HANDSHAKE_S),
        )

    async def _connect(self, connected: socket.socket, **tls: Any) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._protocol, connected, **tls)

    def _log_refusal(self, host: str, error: ssl.SSLCertVerificationError) -> None:
        """Log the peer and the reason of a refused certificate; repeated ones are only counted."""
        now = asyncio.get_running_loop().time()
        self._refused += 1
        if now < self._quiet_until:
            return
        _log.warning(
            "refused a client certificate",
            extra={"peer": host, "reason": error.verify_message, "count": self._refused},
        )
        self._refused, self._quiet_until = 0, now + _QUIET_S


async def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Listening sockets for every address of a host, all on one port."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    for last in range(_PORT_TRIES - 1, -1, -1):
        sockets: list[socket.socket] = []
        try:
            chosen = port
            for family, address in addresses:
                sockets.append(_open_listening_socket(family, (address[0], chosen, *address[2:])))
                chosen = sockets[0].getsockname()[1]
            return sockets
        except OSError as error:
            for each in sockets:
                each.close()
            # A free port of the first address may be taken on the second: choose again.
            if port or not sockets or error.errno != errno.EADDRINUSE or not last:
                raise
    raise OSError(errno.EADDRINUSE, f"no port is free on every address of {host}")


def _open_listening_socket(family: int, address: tuple[object, ...]) -> socket.socket:
    with _bind_and_listen(family) as listening:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            listening.bind(address)
        except OSError as error:
            text = f"cannot listen on {address[0]} port {address[1]}: {error.strerror}"
            raise OSError(error.errno, text) from error
    return listening


def open_unix_socket(path: str) -> socket.socket:
    """A listening Unix socket with mode 0600; a stale one is replaced."""
    with _bind_and_listen(socket.AF_UNIX) as listening:
        with suppress(FileNotFoundError):
            if _is_stale(path):
                os.unlink(path)
        before = os.umask(0o177)
        try:
            listening.bind(path)
        finally:
            os.umask(before)
    return listening


@contextmanager
def _bind_and_listen(family: int) -> Iterator[socket.socket]:
    """A socket to bind, which listens after that; closed again if either fails."""
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        yield listening
        listening.listen(_BACKLOG)
        listening.settimeout(0)
    except BaseException:
        listening.close()
        raise


def _is_stale(path: str) -> bool:
    """Whether a path is a socket without a listener; other files are not ours to replace."""
    if not stat.S_ISSOCK(os.stat(path).st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0)  # a listener with a full backlog would block the event loop
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return True
        except BlockingIOError:
            return False
        return False
