"""What server and client keep of a connection that has ended."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from quarterdeck.kit import http
from quarterdeck.kit.http.client_connection import ClientConnection
from quarterdeck.kit.http.limits import ClientLimits
from quarterdeck.kit.http.server_connection import ServerConnection


class Wire(asyncio.Transport):
    """A transport that goes nowhere."""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


async def _answer(_: http.Request) -> http.Response:
    return http.Response(200, [])


async def test_the_transport_of_a_lost_connection_is_freed_at_once(uncollected: None) -> None:
    server = http.Server(_answer)
    connection = ServerConnection(server._state)
    wire = Wire()
    known = weakref.ref(wire)
    connection.connection_made(wire)
    connection.connection_lost(None)
    del wire
    assert known() is None


async def test_a_client_too_frees_the_transport_of_a_lost_connection(uncollected: None) -> None:
    connection = ClientConnection(ClientLimits(), on_free=lambda _: None, on_gone=lambda _: None)
    wire = Wire()
    known = weakref.ref(wire)
    connection.connection_made(wire)
    connection.connection_lost(None)
    connection.abort()
    connection.close()
    del wire
    assert known() is None


async def test_a_lost_connection_may_be_aborted_drained_and_asked() -> None:
    server = http.Server(_answer)
    connection = ServerConnection(server._state)
    connection.connection_made(Wire())
    connection.connection_lost(None)
    connection.tick(0.0)
    connection.drain()
    connection.evict()
    connection.abort()
    assert not connection.is_streaming and connection.task is None
