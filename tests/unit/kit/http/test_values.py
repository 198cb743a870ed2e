"""Headers, targets, URLs, encoded heads and lines: pure values."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit import http
from quarterdeck.kit.http.body_buffer import BodyBuffer
from quarterdeck.kit.http.dialer import Proxy
from quarterdeck.kit.http.encode import encode_chunk, format_headers, format_status_line
from quarterdeck.kit.http.origin import parse_origin, split_server_url, split_url
from quarterdeck.kit.http.response import LineSplitter
from quarterdeck.kit.http.state import format_date
from quarterdeck.kit.http.target import split_target


def test_headers_ignore_case_and_keep_every_value() -> None:
    headers = http.Headers([("Accept", "a"), ("X-One", "1"), ("accept", "b")])
    assert headers.get("ACCEPT") == "a"
    assert headers.get_all("accept") == ["a", "b"]
    assert headers.get("missing") is None
    assert headers.get("missing", "default") == "default"
    assert "x-ONE" in headers and "y" not in headers and 3 not in headers
    assert headers.items() == [("accept", "a"), ("x-one", "1"), ("accept", "b")]
    assert list(headers) == ["accept", "x-one"] and len(headers) == 3
    assert headers == http.Headers(headers.items()) and headers != 1


def test_headers_are_found_by_the_beginning_of_a_name() -> None:
    headers = http.Headers([("Impersonate-User", "jane"), ("Accept", "*/*")])
    assert headers.has_prefix("impersonate-")
    assert not headers.has_prefix("user")
    assert not http.Headers().has_prefix("")


def test_headers_never_show_values() -> None:
    assert "secret" not in repr(http.Headers([("Authorization", "secret")]))
    assert "secret" not in repr(http.EncodedHeaders([("Authorization", "secret")]))


def test_encoded_headers_are_checked_once_for_all() -> None:
    assert http.EncodedHeaders([("a", "1"), ("b", "2")]).text == "a: 1\r\nb: 2\r\n"
    with pytest.raises(ValueError, match="line break"):
        http.EncodedHeaders([("a", "1\r\nb: 2")])


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        pytest.param(b"/a/b?x=%2F", "/a/b", "x=%2F", id="query stays raw"),
        pytest.param(b"/a%20b", "/a b", "", id="decoded"),
        pytest.param(b"/a%2Fb/%2f", "/a%2Fb/%2f", "", id="escaped slash stays"),
        pytest.param(b"/a%252Fb", "/a%2Fb", "", id="decoded once"),
        pytest.param("/ä".encode().replace(b"\xc3\xa4", b"%C3%A4"), "/ä", "", id="UTF-8"),
        pytest.param(b"http://host:1/p?q", "/p", "q", id="absolute form"),
        pytest.param(b"http://host", "/", "", id="absolute form without path"),
        pytest.param(b"*", "*", "", id="asterisk"),
        pytest.param(b"/?", "/", "", id="empty query"),
        pytest.param(b"/a?b?c", "/a", "b?c", id="second question mark"),
    ],
)
def test_a_target_becomes_path_and_query(target: bytes, path: str, query: str) -> None:
    assert split_target(target) == (path, query)


@pytest.mark.parametrize("target", [b"/%", b"/%2", b"/%zz", b"/%ff", b"/\xff", b"/?\xe4"])
def test_a_broken_target_is_refused(target: bytes) -> None:
    with pytest.raises(http.ProtocolError):
        split_target(target)


@given(st.binary(max_size=40))
def test_any_target_is_split_or_refused(target: bytes) -> None:
    try:
        split_target(target)
    except http.ProtocolError:
        pass


@pytest.mark.parametrize(
    ("url", "prefix", "target"),
    [
        ("http://a/b?c#d", "http://a", "/b?c"),
        ("https://a:1", "https://a:1", "/"),
        ("http://a?b/c", "http://a", "/?b/c"),
        ("http://a#f", "http://a", "/"),
    ],
)
def test_a_url_is_split_at_its_origin(url: str, prefix: str, target: str) -> None:
    assert split_url(url) == (prefix, target)


@pytest.mark.parametrize(
    ("text", "host", "port", "authority"),
    [
        ("http://a", "a", 80, "a"),
        ("https://a", "a", 443, "a"),
        ("https://a:8443", "a", 8443, "a:8443"),
        ("http://a:80", "a", 80, "a"),
        ("https://A.b:443", "a.b", 443, "a.b"),
        ("http://10.0.0.1:65535", "10.0.0.1", 65535, "10.0.0.1:65535"),
        ("http://a:0081", "a", 81, "a:81"),
        ("http://[::1]:80", "::1", 80, "[::1]"),
        ("http://[::1]:81", "::1", 81, "[::1]:81"),
        ("http+unix://%2Ftmp%2Fx.sock", "/tmp/x.sock", 0, "localhost"),
    ],
)
def test_an_origin_has_host_port_and_authority(
    text: str, host: str, port: int, authority: str
) -> None:
    origin = parse_origin(text)
    assert (origin.host, origin.port, origin.authority) == (host, port, authority)


@pytest.mark.parametrize("url", ["/path", "http://a/b c", "http://a/ä", "http://a/\r\n"])
def test_a_url_that_cannot_be_sent_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"URL|escaped"):
        split_url(url)


@pytest.mark.parametrize(
    "text", ["ftp://a", "http://", "http://a:65536", "http://a:99999", "http://a:x", "http://u:p@a"]
)
def test_an_origin_that_cannot_be_reached_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as refusal:
        parse_origin(text)
    assert "u:p" not in str(refusal.value)


@pytest.mark.parametrize(
    "url", ["", "https://", "https://a..b", "https://a:0", "https://a:x", "https://[a", "a.b"]
)
def test_a_url_without_a_host_to_connect_to_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        split_server_url(url)
    assert split_server_url("https://u:p@a.b:8443/c?d").hostname == "a.b"


def test_header_fields_cannot_break_out_of_their_line() -> None:
    assert format_headers([("a", "b"), ("c", "")]) == "a: b\r\nc: \r\n"
    for bad in ("b\r\nx: y", "b\n", "b\r", "b\0"):
        with pytest.raises(ValueError, match="line break"):
            format_headers([("a", bad)])


def test_status_lines_exist_for_every_final_status() -> None:
    assert format_status_line(200) == "HTTP/1.1 200 OK\r\n"
    assert format_status_line(299) == "HTTP/1.1 299 Unknown\r\n"
    for bad in (0, 99, 150, 1000):
        with pytest.raises(ValueError, match="status"):
            format_status_line(bad)


def test_a_chunk_carries_its_length() -> None:
    assert encode_chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"


def test_dates_are_written_in_the_format_of_http() -> None:
    assert format_date(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "Fri, 02 Jan 2026 03:04:05 GMT"


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_survive_any_split_of_the_stream(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"rest"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = LineSplitter()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[start:end])
    assert found + splitter.end() == [*lines, b"rest"]


def test_a_line_beyond_the_limit_is_refused() -> None:
    splitter = LineSplitter(5)
    assert splitter.feed(b"12345\n123") == [b"12345"]
    with pytest.raises(http.BodyTooLarge):
        splitter.feed(b"456")


def test_the_face_names_what_it_offers() -> None:
    for name in http.__all__:
        assert getattr(http, name) is not None
    assert set(http.__all__) <= set(dir(http))
    with pytest.raises(AttributeError):
        _ = http.missing  # type: ignore[attr-defined]  # the point of the test


async def test_a_request_can_be_made_by_hand() -> None:
    request = http.Request.of("POST", "/a%20b?q", headers=[("X-A", "1")], body=b"body")
    assert (request.method, request.path, request.query) == ("POST", "/a b", "q")
    assert request.headers.get("x-a") == "1"
    with pytest.raises(http.BodyTooLarge):
        await http.Request.of("POST", "/", body=b"body").read(3)
    assert await request.read(4) == b"body"
    assert [part async for part in http.Request.of("GET", "/").stream()] == []


async def test_a_body_that_has_arrived_is_read_without_a_wait() -> None:
    assert http.Request.of("GET", "/").read_nowait(10) == b""
    request = http.Request.of("POST", "/", body=b"12345")
    assert request.read_nowait(4) is None
    with pytest.raises(http.BodyTooLarge):
        await request.read(4)
    assert http.Request.of("POST", "/", body=b"12345").read_nowait(5) == b"12345"


async def test_a_body_on_its_way_must_be_awaited() -> None:
    request = http.Request.of("POST", "/", body=b"12345")
    request.body_buffer = BodyBuffer(1000, lambda: None, lambda: None)
    request.body_buffer.feed(b"123")
    assert request.read_nowait(10) is None
    request.body_buffer.feed(b"45")
    request.body_buffer.finish()
    assert request.read_nowait(10) is None, "two pieces have to be joined"
    assert await request.read(10) == b"12345"


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://proxy.example", "proxy.example", 80),
        ("http://proxy.example:3128/", "proxy.example", 3128),
        ("http://u:p@[fd00::1]", "fd00::1", 80),
    ],
)
def test_a_proxy_without_a_port_has_the_port_of_http(url: str, host: str, port: int) -> None:
    proxy = Proxy(url)
    assert (proxy.host, proxy.port) == (host, port)
