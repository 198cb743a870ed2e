"""Recognizes request heads that a client repeats, so that they need not be parsed again.

A client that creates objects, events or reviews sends POST requests whose heads differ only in
`content-length`. Comparing a head is cheaper than parsing it, so a connection keeps the last one
that the parser accepted. The bytes must be exactly one request: the kept head with any digits of
`content-length`, and a body of that length. All other bytes are parsed.
"""

from quarterdeck.kit.http.headers import Headers
from quarterdeck.kit.http.message import Request

_METHOD = b"POST "
_END = b"\r\n\r\n"
_LENGTH = "content-length"
_LENGTH_LINE = b"\r\ncontent-length:"
_MOST_DIGITS = 8
_LONGEST = 4096
"""Longer heads are not kept."""
_EXCLUDED = frozenset({"expect", "transfer-encoding", "upgrade"})
"""A head with one of these fields is never kept."""


class RepeatedHead:
    """The head of one request, and its parsed parts."""

    __slots__ = ("_after", "_before", "_digits", "_headers", "_path", "_query", "_target")

    def __init__(self, request: Request, head: bytes, *, start: int, end: int) -> None:
        self._before = head[:start]
        self._digits = head[start:end]
        self._after = head[end:]
        self._target = request.target
        self._path = request.path
        self._query = request.query
        self._headers = request.headers

    @classmethod
    def of(cls, request: Request, target: bytes, data: bytes) -> "RepeatedHead | None":
        """Build the head of the request in `data`; None if such a head is not kept."""
        head = data[: data.find(_END) + len(_END)]
        if not head.startswith(b"%b%b HTTP/1.1\r\n" % (_METHOD, target)) or len(head) > _LONGEST:
            return None
        if any(name in _EXCLUDED for name in request.headers) or not request.keep_alive:
            return None
        digits = (request.headers.find(_LENGTH) or "").encode()
        line = head.lower().find(_LENGTH_LINE)
        start = head.find(digits, line + len(_LENGTH_LINE))
        repeated = cls(request, head, start=start, end=start + len(digits))
        return repeated if line >= 0 and repeated.match(data) is not None else None

    def match(self, data: bytes) -> tuple[bytes, bytes] | None:
        """Content-length digits and body, if the bytes are one whole request with this head."""
        if not data.startswith(self._before):
            return None
        start = len(self._before)
        end = data.find(b"\r", start, start + _MOST_DIGITS + 1)
        digits = data[start:end]
        if end < 0 or not digits.isdigit() or digits.startswith(b"0"):
            return None
        if not data.startswith(self._after, end):
            return None
        body = data[end + len(self._after) :]
        return (digits, body) if int(digits) == len(body) else None

    def build_request(self, digits: bytes) -> Request:
        """Build a request with this head and this `content-length`."""
        if digits != self._digits:
            self._digits, self._headers = digits, _replace_length(self._headers, digits)
        request = Request()
        request.method = "POST"
        request.version = "1.1"
        request.target = self._target
        request.path = self._path
        request.query = self._query
        request.headers = self._headers
        request.keep_alive = request.has_body = True
        request.expects_continue = False
        request.refusal = 0
        request.body_buffer = None
        return request


def _replace_length(headers: Headers, digits: bytes) -> Headers:
    length = digits.decode("ascii")
    return Headers.of_lower(
        [(name, length if name == _LENGTH else value) for name, value in headers.items()]
    )
