"""The response parser against h11: same responses from any split, no crash from any bytes."""

import asyncio
import itertools

import h11
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.kit.http.client_connection import ClientConnection
from quarterdeck.kit.http.errors import HttpError
from quarterdeck.kit.http.limits import ClientLimits

Parsed = tuple[int, list[tuple[str, str]], bytes]


class Wire(asyncio.Transport):
    """A transport that takes everything and remembers that it was closed."""

    def __init__(self, protocol: asyncio.Protocol) -> None:
        super().__init__()
        self._protocol = protocol
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self._closing

    def abort(self) -> None:
        self.close()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, None)


async def receive(pieces: list[bytes], method: str) -> Parsed:
    """What a client makes of these bytes, followed by the end of the connection."""
    connection = ClientConnection(ClientLimits(), on_free=lambda _: None, on_gone=lambda _: None)
    wire = Wire(connection)
    connection.connection_made(wire)
    asking = asyncio.ensure_future(
        connection.exchange(
            b"", method=method, stream=None, read_timeout_s=None, total_at=float("inf")
        )
    )
    await asyncio.sleep(0)
    for piece in pieces:
        if piece and not wire.is_closing():
            connection.data_received(piece)
    if not wire.is_closing():
        connection.eof_received()
        wire.close()
    response = await asking
    return response.status, response.headers.items(), await response.read()


def receive_with_h11(stream: bytes, method: str) -> Parsed:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(stream)
    connection.receive_data(b"")
    status, fields, body = 0, [], b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            status = event.status_code
            fields = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in event.headers]
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            return status, fields, body
        elif not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("no complete response")


@st.composite
def responses(draw: st.DrawFn) -> bytes:
    interim = draw(st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]))
    status = draw(st.sampled_from([200, 201, 204, 304, 404, 500]))
    value = draw(st.text("abc XYZ;é", max_size=10)).strip()
    head = f"HTTP/1.1 {status} Reason\r\nX-Field: {value}\r\n".encode("latin-1")
    body = draw(st.binary(max_size=60))
    if status in (204, 304):
        return interim + head + b"\r\n"
    match draw(st.sampled_from(["length", "chunked", "close"])):
        case "length":
            return interim + head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        case "chunked":
            framed = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            coded = head + b"Transfer-Encoding: chunked\r\n\r\n" + framed
            return interim + coded + b"0\r\n" + draw(st.sampled_from([b"", b"T: 1\r\n"])) + b"\r\n"
        case _:
            return interim + head + b"\r\n" + body


def split(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(stream)) for cut in cuts})
    return [
        stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)
    ]


@settings(max_examples=count_examples(100), deadline=None)
@given(responses(), st.lists(st.integers(0, 300), max_size=10))
def test_responses_are_those_h11_sees_however_the_stream_is_split(
    stream: bytes, cuts: list[int]
) -> None:
    assert asyncio.run(receive(split(stream, cuts), "GET")) == receive_with_h11(stream, "GET")


@settings(max_examples=count_examples(100), deadline=None)
@given(
    responses(),
    st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=3)), min_size=1, max_size=3),
    st.lists(st.integers(0, 300), max_size=4),
)
def test_damaged_responses_fail_or_are_read_as_h11_reads_them(
    stream: bytes, edits: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    for at, replacement in edits:
        at = at % (len(stream) + 1)
        stream = stream[:at] + replacement + stream[at + len(replacement) :]
    try:
        ours = asyncio.run(receive(split(stream, cuts), "GET"))
    except HttpError:
        return
    try:
        theirs = receive_with_h11(stream, "GET")
    except h11.RemoteProtocolError:
        return
    assert ours == theirs


@given(st.lists(st.integers(0, 60), max_size=5))
def test_reason_phrase_survives_any_split(cuts: list[int]) -> None:
    data = b"HTTP/1.1 500 VM 7 is running - destroy failed\r\ncontent-length: 0\r\n\r\n"
    ends = [0, *sorted(cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(ends)]

    async def read_reason() -> str:
        connection = ClientConnection(
            ClientLimits(), on_free=lambda _: None, on_gone=lambda _: None
        )
        connection.connection_made(Wire(connection))
        asking = asyncio.ensure_future(
            connection.exchange(
                b"", method="GET", stream=None, read_timeout_s=None, total_at=float("inf")
            )
        )
        await asyncio.sleep(0)
        for piece in pieces:
            if piece:
                connection.data_received(piece)
        reason = (await asking).reason
        connection.abort()
        await asyncio.sleep(0)
        return reason

    assert asyncio.run(read_reason()) == "VM 7 is running - destroy failed"
