"""Connect's unary protocol over HTTP: GET and POST, JSON and protobuf, gzip.

Sans I/O: a request's parts in, a decoded message out; a message or an error in, a response out.
"""

import base64
import binascii
import gzip
import zlib
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from quarterdeck.kit import http, json
from quarterdeck.kit.protowire import ProtobufError
from quarterdeck.services.fleet.errors import FleetError, invalid
from quarterdeck.telemetry.fleet import protobuf, protojson
from quarterdeck.telemetry.fleet.codes import HTTP_STATUS, Code
from quarterdeck.telemetry.fleet.messages import SERVICES, Method

MAX_BODY = 16 * 1024 * 1024
_COMPRESS_FROM = 1024
_CODECS = {"application/json": "json", "application/proto": "proto"}
_MEDIA = {codec: media for media, codec in _CODECS.items()}


class Call(NamedTuple):
    """One RPC with its decoded request."""

    name: str
    method: Method
    codec: str
    message: dict[str, Any]


class Refusal(Exception):
    """Raised when a request does not follow the Connect protocol; has the plain HTTP response."""

    def __init__(self, status: int, headers: list[tuple[str, str]], text: str) -> None:
        super().__init__(text)
        self.response = http.Response(
            status, [*headers, ("Content-Type", "text/plain")], text.encode()
        )


def find(path: str) -> tuple[str, Method]:
    """Find the RPC of a path. Raises `unimplemented`."""
    service, _, name = path.strip("/").partition("/")
    method = SERVICES.get(service, {}).get(name)
    if method is None:
        raise FleetError(Code.UNIMPLEMENTED, f"{path} is not an RPC of this server")
    return name, method


def read_get(name: str, method: Method, query: str) -> Call:
    """Decode a request in the URL, which is allowed only for calls without side effects.

    Raises:
        Refusal: for other methods and unknown encodings.
        FleetError: if the message cannot be read.
    """
    if method.has_side_effects:
        raise Refusal(405, [("Allow", "POST")], "use POST")
    parameters = parse_qs(query, keep_blank_values=True)
    codec = _get_first(parameters, "encoding")
    if codec not in _MEDIA:
        raise Refusal(415, [("Accept-Post", ", ".join(_CODECS))], f"unknown encoding {codec!r}")
    text = _get_first(parameters, "message")
    data = text.encode()
    if _get_first(parameters, "base64") == "1":
        data = _unbase64(text)
    data = decompress(data, _get_first(parameters, "compression"))
    return Call(name, method, codec, _decode(method.request, codec, data))


def read_post(name: str, method: Method, headers: http.Headers, body: bytes) -> Call:
    """Decode a request in the body.

    Raises:
        Refusal: for an unknown content type.
        FleetError: if the message cannot be read.
    """
    media = (headers.get("content-type") or "").partition(";")[0].strip().lower()
    codec = _CODECS.get(media)
    if codec is None:
        raise Refusal(415, [("Accept-Post", ", ".join(_CODECS))], f"unknown codec {media!r}")
    data = decompress(body, (headers.get("content-encoding") or "").strip().lower())
    return Call(name, method, codec, _decode(method.request, codec, data))


def respond(call: Call, message: dict[str, Any], headers: http.Headers) -> http.Response:
    """Build a successful response in the codec of the request."""
    if call.codec == "json":
        body = json.encode(protojson.write(call.method.response, message))
    else:
        body = protobuf.encode(call.method.response, message)
    fields = [("Content-Type", _MEDIA[call.codec])]
    if len(body) >= _COMPRESS_FROM and "gzip" in (headers.get("accept-encoding") or ""):
        body = gzip.compress(body, 5)
        fields.append(("Content-Encoding", "gzip"))
    return http.Response(200, fields, body)


def build_failure(error: FleetError) -> http.Response:
    """Build the response of an error, which is always JSON."""
    body = json.encode({"code": error.code.value, "message": error.message})
    return http.Response(HTTP_STATUS[error.code], [("Content-Type", "application/json")], body)


def _decode(message: str, codec: str, data: bytes) -> dict[str, Any]:
    try:
        if codec == "proto":
            return protobuf.decode(message, data)
        return protojson.read(message, json.decode(data) if data else {})
    except (ProtobufError, protojson.ShapeError, json.JsonError) as error:
        raise invalid(str(error)) from error


def _get_first(parameters: dict[str, list[str]], name: str) -> str:
    return parameters.get(name, [""])[0]


def _unbase64(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise invalid("message is not base64") from error


def decompress(data: bytes, compression: str) -> bytes:
    """Decompress a body, up to a limit; an empty body counts as not compressed."""
    if compression in ("", "identity") or not data:
        return data
    if compression != "gzip":
        raise FleetError(Code.UNIMPLEMENTED, f"unsupported compression {compression!r}; use gzip")
    machine = zlib.decompressobj(wbits=31)
    try:
        found = machine.decompress(data, MAX_BODY)
    except zlib.error as error:
        raise invalid("the message is not gzip") from error
    if machine.unconsumed_tail:
        raise FleetError(Code.RESOURCE_EXHAUSTED, f"the message is larger than {MAX_BODY} bytes")
    return found
