"""Tunnels: what waits for their reader is bounded."""

from typing import cast

from quarterdeck.kit.http.send_buffer import SendBuffer
from quarterdeck.kit.http.tunnel import MAX_BUFFERED, Tunnel


class Inlet:
    """The reading half of a connection: whether the socket is read."""

    def __init__(self) -> None:
        self.is_held = False
        self.changes = 0

    def hold(self) -> None:
        self.is_held, self.changes = True, self.changes + 1

    def resume(self) -> None:
        self.is_held, self.changes = False, self.changes + 1


async def test_socket_is_not_read_while_too_much_waits() -> None:
    inlet = Inlet()
    tunnel = Tunnel(cast("SendBuffer", None), inlet)
    tunnel.feed(bytes(MAX_BUFFERED))
    assert not inlet.is_held
    tunnel.feed(b"!")
    tunnel.feed(b"?")
    assert inlet.is_held
    assert await tunnel.receive() == bytes(MAX_BUFFERED) + b"!?"
    assert not inlet.is_held
    assert inlet.changes == 2
    tunnel.end()
    assert await tunnel.receive() == b""
