"""Messages to bytes: status lines, header blocks and chunks."""

from collections.abc import Iterable

REASONS = {
    100: "Continue", 101: "Switching Protocols",
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
    414: "URI Too Long", 415: "Unsupported Media Type", 417: "Expectation Failed",
    422: "Unprocessable Content", 428: "Precondition Required", 429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
    503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
}  # fmt: skip

STATUS_LINES = {code: f"HTTP/1.1 {code} {reason}\r\n" for code, reason in REASONS.items()}

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"


def format_status_line(status: int) -> str:
    """`HTTP/1.1 200 OK` and its line end."""
    line = STATUS_LINES.get(status)
    if line is None:
        if not 200 <= status <= 999:
            raise ValueError(f"{status} is not a final HTTP status")
        line = f"HTTP/1.1 {status} Unknown\r\n"
    return line


def format_headers(pairs: Iterable[tuple[str, str]]) -> str:
    """Header fields as lines.

    Raises:
        ValueError: a field would break out of its line.
    """
    count = 0
    text = ""
    for name, value in pairs:
        count += 1
        text += f"{name}: {value}\r\n"
    if text.count("\n") != count or text.count("\r") != count or "\0" in text:
        raise ValueError("a header field contains a line break or a NUL")
    return text


class EncodedHeaders:
    """Encoded header fields, checked once, for clients that send the same ones often."""

    __slots__ = ("text",)

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.text = format_headers(pairs)

    def __repr__(self) -> str:
        return "EncodedHeaders(***)"  # a credential may be among them


def encode_chunk(data: bytes) -> bytes:
    """One chunk of a chunked body; `data` must not be empty, since that would be the end."""
    return b"%x\r\n%b\r\n" % (len(data), data)
