"""Parses bytes to requests, without I/O: collects llhttp's callbacks to heads and bodies.

llhttp is strict about syntax but has no limits. They are here, together with the checks that it
leaves to its caller: one `Host`, known transfer codings, HTTP versions, and requests to upgrade,
which are read as ordinary ones.
"""

from typing import NoReturn, Protocol

from httptools import (
    HttpParserError,
    HttpParserInvalidMethodError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from quarterdeck.kit.http.errors import ProtocolError
from quarterdeck.kit.http.headers import Headers
from quarterdeck.kit.http.limits import Limits
from quarterdeck.kit.http.message import Request
from quarterdeck.kit.http.repeated_head import RepeatedHead
from quarterdeck.kit.http.target import split_target

_NAMES_KEPT = 256
_METHODS = {
    name.encode(): name for name in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
}


class Malformed(ProtocolError):
    """Raised when a request cannot be parsed; `status` is that of the response."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class RequestSink(Protocol):
    """Receives the parsed parts of requests."""

    def on_request(self, request: Request) -> None:
        """A head is complete; a body may follow. `peer` and `carrier` are still to be set."""
        ...

    def on_whole_request(self, request: Request, body: bytes) -> None:
        """A request is complete with its body."""
        ...

    def on_data(self, data: bytes) -> None:
        """More of the body."""
        ...

    def on_end(self) -> None:
        """The request is complete."""
        ...


class RequestReader:
    """Parses the requests of one connection and passes them to its sink."""

    __slots__ = (
        "_ended",
        "_fault",
        "_final",
        "_heads",
        "_is_between",
        "_is_in_body",
        "_limits",
        "_names",
        "_newest",
        "_pairs",
        "_parser",
        "_repeated",
        "_sink",
        "_target",
        "_unparsed",
        "_upgrade",
    )

    def __init__(self, sink: RequestSink, limits: Limits, names: dict[bytes, str]) -> None:
        self._sink = sink
        self._limits = limits
        self._names = names
        self._parser = HttpRequestParser(self)
        self._pairs: list[tuple[str, str]] = []
        self._target = b""
        self._unparsed = 0
        self._fault: Malformed | None = None
        self._final = False
        self._ended = False
        self._upgrade: Request | None = None
        self._heads = 0
        """How many heads the bytes of the last `feed` contained."""
        self._newest: tuple[Request, bytes] | None = None
        """The last of them and its target, if it may be repeated."""
        self._is_in_body = False
        self._repeated: RepeatedHead | None = None
        self._is_between = False
        """The parser is known to be between two requests, and holds no part of one."""

    @property
    def is_inside_head(self) -> bool:
        """A request line has begun whose header is not complete."""
        return self._target != b""

    def feed(self, data: bytes) -> None:
        """Parse more bytes; after a last request (`Connection: close`) they are dropped.

        Raises:
            Malformed: the bytes are not an HTTP/1.1 request or exceed a limit.
        """
        if self._ended or (self._is_between and self._take_repeated(data)):
            return
        is_first = not self._is_in_body and not self._target
        self._unparsed += len(data)
        self._heads, self._newest = 0, None
        while True:
            try:
                self._parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._read_upgrade_body()
                if data:
                    continue
            except HttpParserError as error:
                if not self._ended:
                    raise self._fault or _translate_error(error) from None
            break
        if self._newest is not None:
            self._is_between = is_first and self._keep_head(*self._newest, data)
        if self._unparsed > self._limits.header_bytes + self._limits.target_bytes:
            raise Malformed(431, "the request header is too large")

    def _keep_head(self, request: Request, target: bytes, data: bytes) -> bool:
        """Keep a head that may be repeated; False if the bytes are not one such request."""
        if self._heads != 1 or self._is_in_body:
            return False
        if self._repeated is None or self._repeated.match(data) is None:
            self._repeated = RepeatedHead.of(request, target, data)
        return self._repeated is not None

    def _take_repeated(self, data: bytes) -> bool:
        """Take a whole request with the same head as the kept one; False for any other bytes."""
        repeated = self._repeated
        if repeated is None or (found := repeated.match(data)) is None:
            self._is_between = False
            return False
        digits, body = found
        self._sink.on_whole_request(repeated.build_request(digits), body)
        return True

    def on_url(self, part: bytes) -> None:
        """Part of the request target."""
        self._target += part
        if len(self._target) > self._limits.target_bytes:
            self._fail(414, f"the request target is longer than {self._limits.target_bytes} bytes")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field, or a trailer after the body."""
        lower = self._names.get(name) or self._lower(name)
        self._pairs.append((lower, value.decode("latin-1").rstrip(" \t")))

    def on_headers_complete(self) -> None:
        """The head is complete."""
        pairs, raw_target, unparsed = self._pairs, self._target, self._unparsed
        self._pairs, self._target, self._unparsed = [], b"", 0
        limits, parser = self._limits, self._parser
        index = dict(pairs)
        if len(index) != len(pairs):
            index = self._index_headers(pairs)
        request = Request()
        request.version = version = parser.get_http_version()
        if version != "1.1":
            self._check_version(version, index)
        elif "host" not in index:
            self._fail(400, "the Host header is missing")
        if len(pairs) > limits.header_count or unparsed > limits.header_bytes:
            self._check_size(pairs)
        request.target = target = raw_target.decode("latin-1")
        if "%" in target or target[0] != "/" or not target.isascii():
            request.path, request.query = self._split(raw_target)
        else:
            request.path, _, request.query = target.partition("?")
        request.method = _METHODS.get(method := parser.get_method()) or method.decode("ascii")
        request.headers = Headers.of_lower(pairs, index)
        request.keep_alive = keep_alive = parser.should_keep_alive()
        request.body_buffer = None
        request.refusal = 0
        request.expects_continue = False
        if "content-length" in index or "transfer-encoding" in index:
            request.has_body = has_body = self._has_body(index)
            if has_body and "expect" in index and version == "1.1":
                request.expects_continue = index["expect"].lower() == "100-continue"
        else:
            request.has_body = False
        self._final = not keep_alive
        self._heads += 1
        self._is_in_body = True
        if request.method == "POST" and request.has_body:
            self._newest = (request, raw_target)
        if "upgrade" in index or request.method == "CONNECT":
            self._record_upgrade(request)
        self._sink.on_request(request)

    def on_body(self, data: bytes) -> None:
        """Part of the body."""
        self._unparsed = 0
        self._sink.on_data(data)

    def on_message_complete(self) -> None:
        """The request is complete, trailers included, which are dropped."""
        self._unparsed = 0
        self._is_in_body = False
        if self._pairs:
            self._pairs = []
        if self._upgrade is not None and self._upgrade.has_body:
            return
        self._ended = self._final
        self._sink.on_end()

    def _has_body(self, index: dict[str, str]) -> bool:
        coding = index.get("transfer-encoding")
        if coding is None:
            return index.get("content-length", "0").strip("0") != ""
        if coding.lower() != "chunked":
            self._fail(501, "unsupported Transfer-Encoding: only chunked is supported")
        return True

    def _split(self, target: bytes) -> tuple[str, str]:
        try:
            return split_target(target)
        except ProtocolError as error:
            self._fail(400, str(error))

    def _check_version(self, version: str, index: dict[str, str]) -> None:
        if version != "1.0":
            self._fail(505, "unsupported HTTP version: only HTTP/1.1 and HTTP/1.0 are supported")
        if "transfer-encoding" in index:
            self._fail(400, "Transfer-Encoding is not allowed in HTTP/1.0")

    def _index_headers(self, pairs: list[tuple[str, str]]) -> dict[str, str]:
        names = [name for name, _ in pairs]
        for single in ("host", "content-length", "transfer-encoding"):
            if names.count(single) > 1:
                self._fail(400, f"the header {single} is set twice")
        return dict(reversed(pairs))

    def _check_size(self, pairs: list[tuple[str, str]]) -> None:
        if len(pairs) > self._limits.header_count:
            self._fail(431, f"more than {self._limits.header_count} header fields")
        if sum(len(name) + len(value) + 4 for name, value in pairs) > self._limits.header_bytes:
            self._fail(431, f"the header fields exceed {self._limits.header_bytes} bytes")

    def _lower(self, name: bytes) -> str:
        lower = name.decode("latin-1").lower()
        if len(self._names) < _NAMES_KEPT and len(name) < 64:
            self._names[name] = lower
        return lower

    def _record_upgrade(self, request: Request) -> None:
        """Record a request to upgrade: llhttp skips its body, which is then read separately."""
        if self._parser.should_upgrade():
            self._upgrade = request
            if request.has_body or request.method == "CONNECT":
                request.keep_alive = False
                self._final = True

    def _read_upgrade_body(self) -> None:
        request, self._upgrade = self._upgrade, None
        if request is not None and request.has_body:
            self._parser = HttpRequestParser(_BodyOnly(self))
            self._parser.feed_data(_build_body_head(request.headers))
        else:
            self._parser = HttpRequestParser(self)

    def _fail(self, status: int, problem: str) -> NoReturn:
        self._fault = Malformed(status, problem)
        raise self._fault


class _BodyOnly:
    """Callbacks of a second parser that reads just the body of a request to upgrade."""

    __slots__ = ("on_body", "on_message_complete")

    def __init__(self, reader: RequestReader) -> None:
        self.on_body = reader.on_body
        self.on_message_complete = reader.on_message_complete


def _build_body_head(headers: Headers) -> bytes:
    name = "transfer-encoding" if "transfer-encoding" in headers else "content-length"
    return f"POST / HTTP/1.1\r\nconnection: close\r\n{name}: {headers.get(name)}\r\n\r\n".encode()


def _translate_error(error: HttpParserError) -> Malformed:
    if isinstance(error, HttpParserInvalidMethodError):
        return Malformed(501, "the request method is not supported")
    return Malformed(400, f"the request is not valid HTTP/1.1: {error}")
