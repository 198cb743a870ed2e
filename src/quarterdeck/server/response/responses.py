"""Responses with one object, a Status or a document.

GET writes the stored bytes untouched. Tables, metadata and protobuf are built from the decoded
object.
"""

from typing import Any

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import decode_stored, encode_served
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form, choose_error_media
from quarterdeck.server.response import protobuf
from quarterdeck.server.response.compression import COMPRESSION_SPEED, accepts_gzip, compress
from quarterdeck.server.response.forms import encode_form
from quarterdeck.wire.media import JSON, PROTOBUF, YAML
from quarterdeck.wire.query import parse_bool, parse_query
from quarterdeck.wire.status import ApiError

Headers = list[tuple[str, str]]


Response = http.Response | http.StreamResponse


_OBJECT = Form.OBJECT
"""An alias, because looking up the member of an enumeration is slow."""
_NO_CACHE = ("Cache-Control", "no-cache, private")


_READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_MAX_YAML_BYTES = 64 * 1024
"""Larger responses stay JSON, which is YAML too: writing YAML takes 4 µs a byte."""
_YAML_COST = 16
"""Writing YAML is slower than decoding JSON by this factor."""
_JSON_TYPE = ("Content-Type", "application/json")


JSON_HEADERS: Headers = [_NO_CACHE, _JSON_TYPE]


METRICS_HEADERS: Headers = [
    _NO_CACHE,
    ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
]


TEXT_HEADERS: Headers = [_NO_CACHE, ("Content-Type", "text/plain; charset=utf-8")]


def build_stored(core: Core, call: Call, value: bytes, status: int = 200) -> http.Response:
    """Build a response from the stored bytes of an object."""
    choice = call.choice
    if choice.form is not _OBJECT:
        return build_object(core, call, decode_stored(call.resource, value), status)
    if choice.media == PROTOBUF:
        body = protobuf.encode_stored(call.resource, value)
        return _build_response(core, call, body, headers=build_headers(call), status=status)
    return build_document(core, call, encode_served(call.resource, value), status)


def build_copy(core: Core, call: Call, value: bytes, status: int = 200) -> http.Response | None:
    """Build a response with the stored bytes unchanged; None if they must be converted.

    This is the usual response: an object of moderate size, as compact JSON.
    """
    choice, options = call.choice, core.options
    if choice.media != JSON or choice.form is not _OBJECT or _wants_pretty(call.request):
        return None
    if len(value) >= min(options.gzip_bytes, options.inline_bytes):
        return None
    if not call.resource.strategy.stored_as_served:
        return None
    return http.Response(status, build_headers(call), value + b"\n")


def build_object(core: Core, call: Call, value: Object, status: int = 200) -> http.Response:
    """Build a response with a decoded object."""
    if call.choice.media == PROTOBUF:
        body = protobuf.encode_object(value, call.choice)
        return _build_response(core, call, body, headers=build_headers(call), status=status)
    return build_document(core, call, encode_form(core, call.resource, value, call.choice), status)


def build_document(core: Core, call: Call, body: bytes, status: int = 200) -> http.Response:
    """Build a response from a JSON body, in the client's media type."""
    headers = build_headers(call)
    if call.choice.media == PROTOBUF:
        body = protobuf.encode_document(kit_json.decode(body))
    elif call.choice.media == YAML:
        body, headers = convert_to_yaml(body, headers)
    elif _wants_pretty(call.request):
        body = kit_json.indent(body)
    else:
        body += b"\n"
    return _build_response(core, call, body, headers=headers, status=status)


def estimate_cost(call: Call, size: int) -> int:
    """Estimate the cost of a response as bytes of JSON to decode; YAML is slow to write."""
    return size * _YAML_COST if call.choice.media == YAML else size


def estimate_document_cost(core: Core, call: Call, size: int) -> int:
    """Estimate the cost of `build_document`, whose body is often only copied."""
    if call.choice.media in (YAML, PROTOBUF) or _wants_pretty(call.request):
        return estimate_cost(call, size)
    return estimate_copy_cost(core, call, size)


def estimate_copy_cost(core: Core, call: Call, size: int) -> int:
    """Estimate the cost of a body that is in the client's media type: only compression counts."""
    is_compressed = size > core.options.gzip_bytes and accepts_gzip(call.request)
    return size // COMPRESSION_SPEED if is_compressed else 0


def build_encoded(core: Core, call: Call, body: bytes) -> http.Response:
    """Build a response with a body that is in the client's media type already."""
    return _build_response(core, call, body, headers=build_headers(call), status=200)


def _build_response(
    core: Core, call: Call, body: bytes, *, headers: Headers, status: int
) -> http.Response:
    """Build a response, compressed if it is large and the client accepts gzip."""
    if len(body) > core.options.gzip_bytes and accepts_gzip(call.request):
        body = compress(body)
        headers = [*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return http.Response(status, headers, body)


def _wants_pretty(request: http.Request) -> bool:
    """Whether to indent JSON: as `pretty` in the query says, else for curl, wget and browsers."""
    if "pretty" in request.query:
        return parse_bool(parse_query(request.query).get("pretty", ["false"])[0])
    return (request.headers.find("user-agent") or "").startswith(_READ_BY_PEOPLE)


def build_error(
    error: ApiError, warnings: list[str] | None = None, *, accept: str | None = None
) -> http.Response:
    """Build the response for an error, in JSON unless the client asks for protobuf."""
    is_protobuf = choose_error_media(accept) == PROTOBUF
    headers = protobuf.HEADERS if is_protobuf else JSON_HEADERS
    if error.retry_after_s:
        headers = [*headers, ("Retry-After", str(error.retry_after_s))]
    if warnings:
        headers = headers + [_build_warning(text) for text in warnings]
    body = protobuf.encode_document(error.to_status()) if is_protobuf else error.encode() + b"\n"
    return http.Response(error.code, headers, body)


def build_plain_error(request: http.Request, reason: str) -> http.Response:
    """Build the plain-text 500 for a request that fails before it is routed."""
    text = f'Internal Server Error: "{request.target}": {reason}\n'
    return http.Response(500, [*TEXT_HEADERS, ("X-Content-Type-Options", "nosniff")], text.encode())


def build_page_not_found() -> http.Response:
    """Build the plain-text 404 for a path that is not served."""
    return http.Response(404, TEXT_HEADERS, b"404 page not found\n")


def build_success(call: Call, details: dict[str, Any], status: int = 200) -> http.Response:
    """Build a Status of success."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"} | details
    if call.choice.media == PROTOBUF:
        return http.Response(status, build_headers(call), protobuf.encode_document(body))
    return http.Response(status, build_headers(call), kit_json.encode(body) + b"\n")


def build_headers(call: Call) -> Headers:
    """Build the headers of a response, with its warnings."""
    headers = protobuf.HEADERS if call.choice.media == PROTOBUF else JSON_HEADERS
    if not call.warnings and not call.resource.deprecation:
        return headers
    warnings = list_warnings(call)
    return headers + [_build_warning(text) for text in warnings]


def list_warnings(call: Call) -> list[str]:
    """List the warnings of an answer; that of a deprecated version comes first."""
    if call.resource.deprecation:
        return [call.resource.deprecation, *call.warnings]
    return call.warnings


def build_watch_headers(call: Call) -> Headers:
    """Build the headers of a stream of events."""
    headers = build_headers(call)
    if call.choice.media != PROTOBUF:
        return headers
    return protobuf.STREAM_HEADERS + headers[len(protobuf.HEADERS) :]


def _build_warning(text: str) -> tuple[str, str]:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    clean = "".join(each if each.isprintable() else " " for each in escaped)
    return ("Warning", f'299 - "{clean}"')


def convert_to_yaml(body: bytes, headers: Headers) -> tuple[bytes, Headers]:
    """Convert a JSON body to YAML.

    A large body stays JSON, which is YAML too: converting it would block other requests.
    """
    rest = [each for each in headers if each != _JSON_TYPE]
    headers = [*rest, ("Content-Type", YAML)]
    if len(body) > _MAX_YAML_BYTES:
        return body, headers
    from quarterdeck.kit import yaml

    return yaml.dump(kit_json.decode(body)).encode(), headers
