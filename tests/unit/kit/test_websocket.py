"""WebSocket framing: whatever way the bytes are cut, the same messages come out."""

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import websocket
from quarterdeck.kit.websocket import CloseCode, FrameReader, Message, Opcode, WebSocketError


def mask(frame_opcode: int, data: bytes, *, is_final: bool = True) -> bytes:
    """A frame as a client sends it, by the book."""
    head = bytes([(0x80 if is_final else 0) | frame_opcode])
    size = len(data)
    if size < 126:
        head += bytes([0x80 | size])
    elif size < 1 << 16:
        head += bytes([0x80 | 126]) + struct.pack("!H", size)
    else:
        head += bytes([0x80 | 127]) + struct.pack("!Q", size)
    key = b"\x01\x02\x03\x04"
    return head + key + bytes(byte ^ key[at % 4] for at, byte in enumerate(data))


@given(
    st.lists(st.binary(max_size=300), max_size=5),
    st.lists(st.integers(1, 40), max_size=20),
)
def test_messages_survive_any_cut(messages: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(mask(Opcode.BINARY, each) for each in messages)
    reader, found = FrameReader(), []
    for size in [*cuts, len(stream) or 1]:
        found += list(reader.feed(stream[:size]))
        stream = stream[size:]
    assert found == [Message(Opcode.BINARY, each) for each in messages]


def test_fragments_are_joined_around_a_ping() -> None:
    stream = (
        mask(Opcode.BINARY, b"one ", is_final=False)
        + mask(Opcode.PING, b"?")
        + mask(Opcode.CONTINUATION, b"two")
    )
    assert list(FrameReader().feed(stream)) == [
        Message(Opcode.PING, b"?"),
        Message(Opcode.BINARY, b"one two"),
    ]


def test_empty_fragments_keep_no_memory() -> None:
    count = 20_000
    reader = FrameReader()
    assert list(reader.feed(mask(Opcode.BINARY, b"one", is_final=False))) == []
    tracemalloc.start()
    try:
        for _ in range(count):
            assert list(reader.feed(mask(Opcode.CONTINUATION, b"", is_final=False))) == []
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 * count  # a list that keeps them would need 8 bytes for each
    assert reader.held == 3
    assert list(reader.feed(mask(Opcode.CONTINUATION, b"!"))) == [Message(Opcode.BINARY, b"one!")]
    assert reader.held == 0


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_frames_have_the_length_they_say(size: int) -> None:
    frame = websocket.build_frame(Opcode.BINARY, b"x" * size)
    head = 2 if size < 126 else 4 if size < 1 << 16 else 10
    assert len(frame) == head + size
    assert [Message(Opcode.BINARY, b"x" * size)] == list(
        FrameReader().feed(mask(Opcode.BINARY, b"x" * size))
    )


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        pytest.param(b"\x82\x01x", CloseCode.PROTOCOL_ERROR, id="not masked"),
        pytest.param(b"\xc2\x81", CloseCode.PROTOCOL_ERROR, id="reserved bit"),
        pytest.param(b"\x83\x80\0\0\0\0", CloseCode.PROTOCOL_ERROR, id="unknown opcode"),
        pytest.param(mask(0, b"x"), CloseCode.PROTOCOL_ERROR, id="continues nothing"),
        pytest.param(
            mask(2, b"x", is_final=False) + mask(2, b"y"), CloseCode.PROTOCOL_ERROR, id="restart"
        ),
        pytest.param(mask(9, b"x" * 126), CloseCode.PROTOCOL_ERROR, id="long ping"),
        pytest.param(mask(2, b"x" * 200), CloseCode.TOO_BIG, id="too big"),
        pytest.param(
            mask(2, b"x" * 90, is_final=False) + mask(0, b"x" * 90),
            CloseCode.TOO_BIG,
            id="in parts",
        ),
    ],
)
def test_what_breaks_the_protocol_is_named(stream: bytes, code: CloseCode) -> None:
    with pytest.raises(WebSocketError) as caught:
        list(FrameReader(max_message=100).feed(stream))
    assert caught.value.code is code


def test_the_handshake_is_that_of_the_rfc() -> None:
    headers = {
        "upgrade": "websocket",
        "connection": "keep-alive, Upgrade",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version": "13",
    }
    assert websocket.is_handshake(headers)
    assert ("sec-websocket-accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") in websocket.accept(headers)
    with pytest.raises(WebSocketError):
        websocket.accept({**headers, "sec-websocket-version": "8"})
    assert not websocket.is_handshake({**headers, "connection": "close"})
