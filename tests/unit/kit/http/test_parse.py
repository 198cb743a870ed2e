"""The request parser against h11: same requests from any split, and no crash from any bytes."""

import re
from collections.abc import Iterable

import h11
import pytest
from example_counts import count_examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quarterdeck.kit.http.limits import Limits
from quarterdeck.kit.http.message import Request
from quarterdeck.kit.http.parse import Malformed, RequestReader

Parsed = tuple[str, str, list[tuple[str, str]], bytes]

TOKENS = st.text("abcXYZ019-_", min_size=1, max_size=12)
VALUES = st.text('abc XYZ;,="/\t~é', max_size=20).map(str.strip)
PIECES = st.sampled_from(["a", "b", "/", "%41", "%2F", "?", "&", "=", ".", "_", "~", "-"])
TARGETS = st.lists(PIECES, max_size=12).map(lambda pieces: "/" + "".join(pieces))


class Recorder:
    """Collects what a reader tells."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.reader = RequestReader(self, limits or Limits(), {})
        self.requests: list[Parsed] = []
        self.heads: list[Request] = []
        self.repeated = 0
        self._body = b""

    def on_request(self, request: Request) -> None:
        self.heads.append(request)
        self._body = b""

    def on_whole_request(self, request: Request, body: bytes) -> None:
        self.repeated += 1
        self.on_request(request)
        self.on_data(body)
        self.on_end()

    def on_data(self, data: bytes) -> None:
        self._body += data

    def on_end(self) -> None:
        head = self.heads[-1]
        self.requests.append((head.method, head.target, head.headers.items(), self._body))

    def feed(self, pieces: Iterable[bytes]) -> list[Parsed]:
        for piece in pieces:
            self.reader.feed(piece)
        return self.requests


def parse_with_h11(stream: bytes, found: list[Parsed] | None = None) -> list[Parsed]:
    """What h11 reads; `found` keeps what came before an error."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(stream)
    found = [] if found is None else found
    head: h11.Request | None = None
    body = b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            head, body = event, b""
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            assert head is not None
            fields = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in head.headers]
            found.append((head.method.decode(), head.target.decode("latin-1"), fields, body))
            connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            connection.send(h11.EndOfMessage())
            if connection.our_state is h11.MUST_CLOSE:
                return found
            connection.start_next_cycle()
        else:
            return found


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]))
    names = draw(st.lists(TOKENS, max_size=4))
    fields = [(f"X-{name}", draw(VALUES)) for name in names]
    head = f"{method} {draw(TARGETS)} HTTP/1.1\r\nHost: example\r\n"
    head += "".join(
        f"{name}:{draw(st.sampled_from(['', ' ']))}{value}\r\n" for name, value in fields
    )
    match draw(st.sampled_from(["none", "length", "chunked"])):
        case "length":
            body = draw(st.binary(max_size=40))
            return f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body
        case "chunked":
            chunks = draw(st.lists(st.binary(min_size=1, max_size=20), max_size=4))
            framed = b"".join(b"%x\r\n%b\r\n" % (len(each), each) for each in chunks)
            trailer = draw(st.sampled_from([b"", b"X-Trailer: 1\r\n"]))
            coded = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode("latin-1")
            return coded + framed + b"0\r\n" + trailer + b"\r\n"
        case _:
            return f"{head}\r\n".encode("latin-1")


def split(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(stream)) for cut in cuts})
    return [
        stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)
    ]


@settings(max_examples=count_examples(150))
@given(st.lists(requests(), min_size=1, max_size=4), st.lists(st.integers(0, 600), max_size=12))
def test_requests_are_those_h11_sees_however_the_stream_is_split(
    messages: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(messages)
    assert Recorder().feed(split(stream, cuts)) == parse_with_h11(stream)


def collapse_spaces(message: bytes) -> bytes:
    """Leave one space between the words of the request line.

    RFC 9112, section 3, allows several, which our parser takes and h11 refuses.
    """
    line, end, rest = message.partition(b"\r\n")
    return re.sub(b" +", b" ", line) + end + rest


@settings(max_examples=count_examples(400))
@given(
    requests(),
    st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), min_size=1, max_size=3),
    st.lists(st.integers(0, 400), max_size=4),
)
@example(
    message=b"OPTIONS / HTTP/1.1\r\nHost: example\r\nContent-Length: 1\r\n\r\n\n",
    edits=[(380, b"   ")],
    cuts=[],
)
@example(
    message=b"PATCH /aaa HTTP/1.1\r\nHost: example\r\n\r\n",
    edits=[(9, b" ")],
    cuts=[],
)
def test_damaged_requests_are_refused_or_read_as_h11_reads_them(
    message: bytes, edits: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    for at, replacement in edits:
        at = at % (len(message) + 1)
        message = message[:at] + replacement + message[at + len(replacement) :]
    recorder = Recorder()
    try:
        ours = recorder.feed(split(message, cuts))
    except Malformed as refusal:
        assert 400 <= refusal.status < 600
        return
    theirs: list[Parsed] = []
    try:
        parse_with_h11(collapse_spaces(message), theirs)
    except h11.RemoteProtocolError:
        pass  # what h11 had read before it gave up counts
    assert ours == theirs[: len(ours)]


@given(st.lists(st.binary(max_size=64), max_size=6))
def test_random_bytes_are_parsed_or_refused(pieces: list[bytes]) -> None:
    try:
        Recorder().feed(pieces)
    except Malformed as refusal:
        assert refusal.status in (400, 431, 501, 505)


REFUSED = [
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no host"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, id="two hosts"),
    pytest.param(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, id="version 2"),
    pytest.param(b"GET /\r\n\r\n", 505, id="version 0.9"),
    pytest.param(b"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", 501, id="unknown method"),
    pytest.param(b"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="bad escape"),
    pytest.param(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, id="space before colon"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400, id="folded line"),
    pytest.param(b"GET / HTTP/1.1\nHost: a\n\n", 400, id="bare line feeds"),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400,
        id="two lengths",
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        400, id="length and chunked",
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501, id="unknown coding"
    ),
    pytest.param(
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, id="coding in 1.0"
    ),
    pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400, id="negative"),
    pytest.param(b"GET /" + b"a" * 200 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, id="long target"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 20, None, id="fields not ended"),
    pytest.param(
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 20 + b"\r\n", 431, id="many fields"
    ),
    pytest.param(
        b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"b" * 300 + b"\r\n\r\n", 431, id="long field"
    ),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nA: " + b"b" * 500, 431, id="endless field"),
    pytest.param(b"\r\n" * 300, 431, id="endless empty lines"),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"t" * 600,
        431,
        id="endless trailer",
    ),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 7, 300])
@pytest.mark.parametrize(("stream", "status"), REFUSED)
def test_what_must_be_refused_is_refused(stream: bytes, status: int | None, size: int) -> None:
    limits = Limits(target_bytes=100, header_bytes=250, header_count=16)
    recorder = Recorder(limits)
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    if status is None:
        recorder.feed(pieces)
        return
    with pytest.raises(Malformed) as refusal:
        recorder.feed(pieces)
    assert refusal.value.status == status


def test_trailers_are_dropped_and_do_not_reach_the_next_request() -> None:
    stream = (
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"1\r\nx\r\n0\r\nHost: evil\r\n\r\n"
        b"GET /b HTTP/1.1\r\nHost: b\r\n\r\n"
    )
    first, second = Recorder().feed([stream])
    assert first[3] == b"x" and second[2] == [("host", "b")]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("framing", "body"),
    [(b"Content-Length: 3", b"abc"), (b"Transfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n")],
    ids=["length", "chunked"],
)
def test_a_request_to_upgrade_is_an_ordinary_one(size: int, framing: bytes, body: bytes) -> None:
    head = b"POST /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n" + framing
    stream = head + b"\r\n\r\n" + body
    recorder = Recorder()
    (request,) = recorder.feed([stream[at : at + size] for at in range(0, len(stream), size)])
    assert request[0] == "POST" and request[3] == b"abc"
    assert not recorder.heads[0].keep_alive


def test_a_declined_upgrade_without_a_body_keeps_the_connection() -> None:
    upgrade = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    recorder = Recorder()
    assert len(recorder.feed([upgrade + upgrade])) == 2
    assert recorder.heads[0].keep_alive


def test_nothing_is_read_after_the_last_request() -> None:
    last = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    assert len(Recorder().feed([last + last, b"garbage"])) == 1


def test_http_1_0_is_closed_unless_it_asks_otherwise() -> None:
    recorder = Recorder()
    recorder.feed([b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n"])
    assert [head.keep_alive for head in recorder.heads] == [True, False]


def test_many_upgrades_at_once_do_not_exhaust_the_stack() -> None:
    upgrade = b"GET / HTTP/1.1\r\nHost:\r\nUpgrade:a\r\nConnection:upgrade\r\n\r\n"
    assert len(Recorder().feed([upgrade * 3000])) == 3000
