"""Watchers that cost the load generator nothing while latency is measured.

A hundred watchers in one process would take turns at its core, and their own work would be most of
the delay they report. So a few are read at once, and the others sleep: the server has to write to
them all the same, and what it wrote is thrown away, undecrypted, once a second.
"""

import os
import socket
import ssl
from collections.abc import Sequence
from urllib.parse import urlsplit

_CHUNK = 1 << 20
_LIMIT_S = 20.0


class Sleeper:
    """One watch that nobody listens to. Blocks while it opens."""

    def __init__(
        self, url: str, headers: Sequence[tuple[str, str]], tls: ssl.SSLContext | None
    ) -> None:
        parts = urlsplit(url)
        address = (parts.hostname or "", parts.port or 443)
        plain = socket.create_connection(address, timeout=_LIMIT_S)
        self._socket = plain if tls is None else tls.wrap_socket(plain, server_hostname=address[0])
        lines = [f"GET {parts.path}?{parts.query} HTTP/1.1", f"Host: {parts.netloc}"]
        lines += [f"{name}: {value}" for name, value in headers]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._socket.recv(4096) or _ended()
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"a watch was answered with {head[:60]!r}")
        self._socket.setblocking(False)

    def drain(self) -> int:
        """Throw away what has arrived; how much it was."""
        taken = 0
        while True:
            try:
                data = os.read(self._socket.fileno(), _CHUNK)
            except BlockingIOError:
                return taken
            if not data:
                raise RuntimeError("the server ended a watch")
            taken += len(data)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _ended() -> bytes:
    raise RuntimeError("the server ended a watch")
