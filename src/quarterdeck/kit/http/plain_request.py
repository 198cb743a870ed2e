"""Answers plain HTTP on a TLS port in plain HTTP, as Go's servers do.

The event loop makes the TLS handshake, and has taken the bytes and closed the socket when we learn
that it failed. So the first bytes are looked at before it begins, and stay in the socket.
"""

import asyncio
import socket
from typing import Final

_ANSWER: Final = (
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
)
_BEGINNINGS: Final = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")
"""What Go takes for HTTP: it compares as many bytes as the header of a TLS record has."""
_LENGTH: Final = 5
_DRAIN_BYTES: Final = 65_536


async def answer_plain_request(connected: socket.socket) -> bool:
    """Wait for the first bytes, and answer if they are plain HTTP; False if they are not."""
    head = await _peek(connected)
    if 0 < len(head) < _LENGTH and any(each.startswith(head) for each in _BEGINNINGS):
        head = await _peek_all(connected)
    if head not in _BEGINNINGS:
        return False
    connected.recv(_DRAIN_BYTES)  # bytes that nobody read would reset the connection
    connected.send(_ANSWER)
    return True


async def _peek(connected: socket.socket) -> bytes:
    """Wait for the first bytes; empty if the client closed the connection."""
    while True:
        try:
            return connected.recv(_LENGTH, socket.MSG_PEEK)
        except BlockingIOError:
            await _wait_until_readable(connected)


async def _peek_all(connected: socket.socket) -> bytes:
    """Wait for as many bytes as are compared; fewer if the kernel cannot wait for them."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _LENGTH)
    try:
        await _wait_until_readable(connected)
        return await _peek(connected)
    finally:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


async def _wait_until_readable(connected: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def finish() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(connected.fileno(), finish)
    try:
        await ready
    finally:
        loop.remove_reader(connected.fileno())
