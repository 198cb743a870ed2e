"""Finds the local user at the other end of a loopback connection.

A port without credentials acts for the owner of the process, and every user of a machine can reach
loopback. Linux lists the user of each end of a connection in /proc/net/tcp. On systems without this
file nothing is checked.
"""

import os
import socket
import struct
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from quarterdeck.kit import json
from quarterdeck.kit.http.message import Handler, Peer, Request, Response, StreamResponse

TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ROOT: Final = 0
_MAPPED: Final = b"\0" * 10 + b"\xff\xff"
"""The prefix of an IPv4 address in the table of IPv6."""


class Connection(NamedTuple):
    """A row of the table: one end of a connection."""

    local: tuple[bytes, int]
    remote: tuple[bytes, int]
    user: int
    is_open: bool
    """Whether a process has it open; for a closed one the kernel does not show the user."""


class OwnerGuard:
    """Lets requests on plain connections through only if they come from its user, or from root."""

    def __init__(
        self, handler: Handler, *, user: int | None = None, tables: tuple[Path, ...] = TABLES
    ) -> None:
        self._handler = handler
        self._user = os.geteuid() if user is None and hasattr(os, "geteuid") else user
        self._tables = tables

    def handle(self, request: Request) -> Awaitable[Response | StreamResponse]:
        """Answer a request, with 403 if another user sent it."""
        return self._handler(request) if request.peer.secure else self._check(request)

    async def _check(self, request: Request) -> Response | StreamResponse:
        peer = request.peer
        if peer.is_admitted is None:  # once a connection: reading the table takes a while
            peer.is_admitted = self._admits(peer)
        return await self._handler(request) if peer.is_admitted else _build_refusal()

    def _admits(self, peer: Peer) -> bool:
        ends = _parse_address(peer.address), _parse_address(peer.local_address)
        if self._user is None or ends[0] is None or ends[1] is None:
            return True  # not a TCP connection, or a system without users
        return is_owned_by(ends[0], ends[1], (self._user, _ROOT), tables=self._tables)


def is_owned_by(
    peer: tuple[bytes, int],
    local: tuple[bytes, int],
    users: tuple[int, ...],
    *,
    tables: tuple[Path, ...] = TABLES,
) -> bool:
    """Whether one of these users has the other end open; true if no table lists the connection."""
    is_listed = False
    for row in _read_tables(tables):
        if (row.local, row.remote) == (peer, local):
            return row.is_open and row.user in users
        is_listed = is_listed or (row.local, row.remote) == (local, peer)
    return not is_listed  # our own end is listed: so would be the other one, if it were open


def _read_tables(tables: tuple[Path, ...]) -> Iterator[Connection]:
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, ValueError):
            continue
        for line in lines:
            fields = line.split()
            if len(fields) >= 10:
                ends = _parse_row_address(fields[1]), _parse_row_address(fields[2])
                yield Connection(*ends, user=int(fields[7]), is_open=fields[9] != "0")


def _parse_row_address(text: str) -> tuple[bytes, int]:
    """An address of the table: words of 32 bits in the byte order of the machine."""
    host, _, port = text.partition(":")
    words = (int(host[at : at + 8], 16) for at in range(0, len(host), 8))
    data = b"".join(struct.pack("=I", word) for word in words)
    return data.removeprefix(_MAPPED) if len(data) == 16 else data, int(port, 16)


def _parse_address(text: str) -> tuple[bytes, int] | None:
    """An address as `host:port`; None for something else."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]").partition("%")[0]
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        data = socket.inet_pton(family, host)
        return data.removeprefix(_MAPPED) if len(data) == 16 else data, int(port)
    except (OSError, ValueError):
        return None


def _build_refusal() -> Response:
    message = (
        "this port acts for the user who started the process, and the request comes from another"
        " user of this machine; use the HTTPS port with credentials of your own"
    )
    document = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "Forbidden",
        "code": 403,
    }
    return Response(403, [("content-type", "application/json")], json.encode(document))
