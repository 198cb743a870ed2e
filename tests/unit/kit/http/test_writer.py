"""Streamed bodies of responses."""

import asyncio

import pytest

from quarterdeck.kit.http.errors import ConnectionClosed
from quarterdeck.kit.http.writer import BodyWriter

MANY = 1000


class FailingOutlet:
    """A connection that fails at its first write; as with asyncio, the loop reports it later."""

    unsent = 0

    def __init__(self) -> None:
        self.is_gone = False
        self.puts = 0

    def put(self, data: bytes) -> None:
        self.puts += 1
        assert self.puts < MANY, "the writer never gave the event loop a turn"
        if self.puts == 1:
            asyncio.get_running_loop().call_soon(self._lose)

    def _lose(self) -> None:
        self.is_gone = True

    async def wait_writable(self) -> None:
        return None


@pytest.mark.parametrize("size", [1, 1024, 65_536])
async def test_an_endless_body_ends_with_its_connection(size: int) -> None:
    outlet = FailingOutlet()
    writer = BodyWriter(outlet, b"head", chunked=True)
    with pytest.raises(ConnectionClosed):
        while True:
            await writer.write(b"x" * size)
    assert outlet.puts >= 1


async def test_other_tasks_run_while_a_long_body_is_written() -> None:
    outlet = FailingOutlet()
    outlet.puts = 1  # it does not fail
    writer = BodyWriter(outlet, b"head", chunked=True)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    for _ in range(20):
        await writer.write(b"x" * 65_536)
    counting.cancel()
    await asyncio.gather(counting, return_exceptions=True)
    assert turns >= 20
