"""Responses with one object, a Status or a document.

GET writes the stored bytes untouched. Tables and metadata are built from the decoded object.
"""

from typing import Any

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.core import Core
from quarterdeck.server.registry.codec import decode_stored
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Form
from quarterdeck.server.response.compression import accepts_gzip, compress
from quarterdeck.server.response.forms import encode_form
from quarterdeck.wire.media import YAML
from quarterdeck.wire.query import parse_bool, parse_query
from quarterdeck.wire.status import ApiError

Headers = list[tuple[str, str]]


Response = http.Response | http.StreamResponse


_NO_CACHE = ("Cache-Control", "no-cache, private")


_READ_BY_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_MAX_YAML_BYTES = 64 * 1024
"""Answers over this are not written as YAML of many lines: that takes 4 µs a byte."""
_JSON_TYPE = ("Content-Type", "application/json")


JSON_HEADERS: Headers = [_NO_CACHE, _JSON_TYPE]


METRICS_HEADERS: Headers = [
    _NO_CACHE,
    ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
]


TEXT_HEADERS: Headers = [_NO_CACHE, ("Content-Type", "text/plain; charset=utf-8")]


def build_stored(core: Core, call: Call, value: bytes, status: int = 200) -> http.Response:
    """Build an answer with an object as it is stored."""
    if call.choice.form is Form.OBJECT and call.resource.strategy.stored_as_served:
        return build_document(core, call, value, status)
    return build_object(core, call, decode_stored(call.resource, value), status)


def build_object(core: Core, call: Call, value: Object, status: int = 200) -> http.Response:
    """Build an answer with an object that is decoded already."""
    return build_document(core, call, encode_form(core, call.resource, value, call.choice), status)


def build_document(core: Core, call: Call, body: bytes, status: int = 200) -> http.Response:
    """Build an answer with a JSON body, in the client's media type and compressed if that is worth
    it.
    """
    headers = build_headers(call)
    if call.choice.media == YAML:
        body, headers = convert_to_yaml(body, headers)
    elif _wants_pretty(call.request):
        body = kit_json.indent(body)
    else:
        body += b"\n"
    if len(body) > core.options.gzip_bytes and accepts_gzip(call.request):
        body = compress(body)
        headers = [*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return http.Response(status, headers, body)


def _wants_pretty(request: http.Request) -> bool:
    """Whether somebody reads the answer: by request, or by a program that people use."""
    if "pretty" in request.query:
        return parse_bool(parse_query(request.query).get("pretty", ["false"])[0])
    return (request.headers.get("user-agent") or "").startswith(_READ_BY_PEOPLE)


def build_error(error: ApiError, warnings: list[str] | None = None) -> http.Response:
    """Build the answer for an error."""
    headers = JSON_HEADERS
    if error.retry_after_s:
        headers = [*headers, ("Retry-After", str(error.retry_after_s))]
    if warnings:
        headers = headers + [_build_warning(text) for text in warnings]
    return http.Response(error.code, headers, error.encode() + b"\n")


def build_plain_error(request: http.Request, reason: str) -> http.Response:
    """Build the 500 for a request that fails before the API sees it, as text."""
    text = f'Internal Server Error: "{request.target}": {reason}\n'
    return http.Response(500, [*TEXT_HEADERS, ("X-Content-Type-Options", "nosniff")], text.encode())


def page_not_found() -> http.Response:
    """The response for a path that is not served."""
    return http.Response(404, TEXT_HEADERS, b"404 page not found\n")


def build_success(call: Call, details: dict[str, Any], status: int = 200) -> http.Response:
    """Build a Status that says all went well."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return http.Response(status, build_headers(call), kit_json.encode(body | details) + b"\n")


def build_headers(call: Call) -> Headers:
    """Build the headers every answer has, and the warnings this one has."""
    warnings = call.warnings
    if call.resource.deprecation:
        warnings = [call.resource.deprecation, *warnings]
    if not warnings:
        return JSON_HEADERS
    return JSON_HEADERS + [_build_warning(text) for text in warnings]


def _build_warning(text: str) -> tuple[str, str]:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    clean = "".join(each if each.isprintable() else " " for each in escaped)
    return ("Warning", f'299 - "{clean}"')


def convert_to_yaml(body: bytes, headers: Headers) -> tuple[bytes, Headers]:
    """Convert a JSON body to YAML.

    A large one stays as it is: JSON is YAML too, and writing it anew would hold up everybody.
    """
    rest = [each for each in headers if each != _JSON_TYPE]
    headers = [*rest, ("Content-Type", YAML)]
    if len(body) > _MAX_YAML_BYTES:
        return body, headers
    from quarterdeck.kit import yaml

    return yaml.dump(kit_json.decode(body)).encode(), headers
