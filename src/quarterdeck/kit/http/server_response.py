"""A handler's answer as bytes: which fields the server adds, and when a body is left out."""

from quarterdeck.kit.http.encode import REASONS, format_headers, format_status_line
from quarterdeck.kit.http.message import Request, Response, StreamResponse

_BODILESS = frozenset({204, 304})


def encode_response(
    request: Request | None, response: Response, *, date: str, keep: bool
) -> tuple[bytes, bytes]:
    """The head and the body of a response.

    Raises:
        ValueError: the status is not final, or a header field would break out of its line.
    """
    body = response.body
    text = format_status_line(response.status) + format_headers(response.headers) + date
    if response.status not in _BODILESS:
        text = f"{text}content-length: {len(body)}\r\n"
    else:
        body = b""
    text += _format_connection_header(request, keep=keep)
    if request is not None and request.method == "HEAD":
        body = b""
    return text.encode("latin-1"), body


def encode_stream_head(
    request: Request, response: StreamResponse, *, date: str, keep: bool, chunked: bool
) -> tuple[bytes, bool]:
    """The head of a streamed response, and whether a body follows it."""
    text = format_status_line(response.status) + format_headers(response.headers) + date
    has_body = response.status not in _BODILESS
    if has_body and chunked:
        text += "transfer-encoding: chunked\r\n"
    text += _format_connection_header(request, keep=keep)
    return text.encode("latin-1"), has_body and request.method != "HEAD"


def build_refusal(status: int) -> Response:
    """Build a short plain answer without internal details."""
    return Response(status, [("content-type", "text/plain")], f"{REASONS[status]}\n".encode())


def _format_connection_header(request: Request | None, *, keep: bool) -> str:
    if not keep:
        return "connection: close\r\n\r\n"
    if request is not None and request.version == "1.0":
        return "connection: keep-alive\r\n\r\n"
    return "\r\n"
