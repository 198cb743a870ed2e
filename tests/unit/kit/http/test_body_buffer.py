"""A body on its way in: taken piece by piece, or all that is held at once."""

import pytest

from quarterdeck.kit.http.body_buffer import BodyBuffer
from quarterdeck.kit.http.errors import ConnectionClosed


async def test_all_that_is_held_is_taken_in_one_piece_and_makes_room() -> None:
    calls: list[str] = []
    buffer = BodyBuffer(4, lambda: calls.append("full"), lambda: calls.append("room"))
    for piece in (b"ab", b"cd", b"ef"):
        buffer.feed(piece)
    assert calls == ["full"]
    assert await buffer.take_held() == b"abcdef"
    assert (buffer.size, buffer.is_full, calls) == (0, False, ["full", "room"])
    buffer.feed(b"g")
    assert await buffer.take_held() == b"g"
    buffer.finish()
    assert await buffer.take_held() == b""
    assert calls == ["full", "room"]


async def test_much_that_is_held_is_taken_in_small_pieces_and_in_order() -> None:
    calls: list[str] = []
    buffer = BodyBuffer(100_000, lambda: calls.append("full"), lambda: calls.append("room"))
    fed = [bytes([number]) * 1_000 for number in range(200)]
    for each in fed:
        buffer.feed(each)
    buffer.finish()
    taken = []
    while data := await buffer.take_held():
        taken.append(data)
    assert b"".join(taken) == b"".join(fed)
    assert max(map(len, taken)) < 40_000
    assert (buffer.size, calls.count("room")) == (0, 1)


async def test_what_arrived_before_a_failure_is_taken_first() -> None:
    broken = BodyBuffer(9, lambda: None, lambda: None)
    broken.feed(b"a")
    broken.feed(b"b")
    broken.fail(ConnectionClosed("it ended"))
    assert await broken.take_held() == b"ab"
    with pytest.raises(ConnectionClosed, match="it ended"):
        await broken.take_held()
