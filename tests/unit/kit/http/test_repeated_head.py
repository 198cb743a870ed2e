"""Requests with the head of the one before are read as the parser alone would read them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.kit.http.test_parse import Recorder, parse_with_h11

from quarterdeck.kit.http.parse import Malformed


def build_post(body: bytes, *, target: str = "/a", fields: str = "x: 1\r\n") -> bytes:
    head = (
        f"POST {target} HTTP/1.1\r\nhost: a\r\n{fields}Content-Length: {len(body)}\r\ny: 2\r\n\r\n"
    )
    return head.encode() + body


GET = b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n"
BODIES = st.one_of(
    st.binary(min_size=1, max_size=30),
    st.binary(min_size=1, max_size=9).map(build_post),  # a body that looks like a request
)
REQUESTS = st.one_of(
    BODIES.map(build_post),
    st.tuples(BODIES, st.sampled_from(["/a", "/b"])).map(lambda p: build_post(p[0], target=p[1])),
    BODIES.map(lambda body: build_post(body, fields="connection: keep-alive\r\n")),
    st.just(GET),
    st.just(build_post(b"")),
)


@given(st.lists(REQUESTS, max_size=6), st.lists(st.integers(0, 60), max_size=6), st.booleans())
@example([build_post(b"abc")] * 3, [], True)
@example([build_post(build_post(b"a"))] * 3, [70, 1], True)
def test_any_mixture_and_any_split_is_read_as_h11_reads_it(
    requests: list[bytes], cuts: list[int], whole: bool
) -> None:
    pieces = list(requests) if whole else [b"".join(requests)]
    for number, cut in enumerate(cuts):
        at = number % len(pieces) if pieces else 0
        pieces[at : at + 1] = [pieces[at][:cut], pieces[at][cut:]] if pieces else []
    pieces = [piece for piece in pieces if piece]
    assert Recorder().feed(pieces) == parse_with_h11(b"".join(requests))


def test_a_head_that_comes_again_is_not_parsed_again() -> None:
    recorder = Recorder()
    bodies = [b"{}", b"{}", b'{"a":1}', b"x" * 1000]
    found = recorder.feed(build_post(body) for body in bodies)
    assert recorder.repeated == len(bodies) - 1
    assert [body for *_, body in found] == bodies
    assert [head.headers.get("content-length") for head in recorder.heads] == [
        str(len(body)) for body in bodies
    ]
    assert {(head.path, head.query, head.method) for head in recorder.heads} == {("/a", "", "POST")}


def test_it_is_recognized_again_after_another_request() -> None:
    recorder = Recorder()
    recorder.feed([build_post(b"a"), GET, build_post(b"b"), build_post(b"c")])
    assert recorder.repeated == 1


@pytest.mark.parametrize(
    "fields",
    ["expect: 100-continue\r\n", "upgrade: websocket\r\nconnection: upgrade\r\n"],
)
def test_a_request_that_asks_for_more_is_always_parsed(fields: str) -> None:
    recorder = Recorder()
    recorder.feed([build_post(b"a", fields=fields)] * 1)
    assert recorder.repeated == 0
    try:
        recorder.feed([build_post(b"a", fields=fields)])
    except Malformed:
        pass
    assert recorder.repeated == 0


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(build_post(b"abc")[:-1], id="a byte too few"),
        pytest.param(build_post(b"abc") + b"P", id="a byte too many"),
        pytest.param(build_post(b"abc").replace(b": 3", b": 03"), id="a leading zero"),
        pytest.param(build_post(b"abc").replace(b"y: 2", b"y: 3"), id="another field"),
        pytest.param(build_post(b"abc").replace(b"x: 1", b"X: 1"), id="another spelling"),
        pytest.param(build_post(b"abc") * 2, id="two requests"),
    ],
)
def test_anything_else_goes_to_the_parser(piece: bytes) -> None:
    recorder = Recorder()
    recorder.feed([build_post(b"xyz"), piece])
    assert recorder.repeated == 0


@pytest.mark.parametrize("start", [b"P", b"\x00", b"GET /b HTTP/1.1\r\nhost"])
def test_what_the_parser_holds_is_never_left_out(start: bytes) -> None:
    recorder = Recorder()
    recorder.feed([build_post(b"xyz")])
    with pytest.raises(Malformed):
        recorder.feed([start, build_post(b"abc"), build_post(b"abc")])
    assert recorder.repeated == 0


def test_a_body_that_holds_the_same_request_is_a_body() -> None:
    recorder = Recorder()
    inner = build_post(b"abc")
    outer = build_post(inner)
    at = len(outer) - len(inner)
    found = recorder.feed([inner, outer[:at], outer[at:], inner])
    assert [body for *_, body in found] == [b"abc", inner, b"abc"]
    assert recorder.repeated == 0
