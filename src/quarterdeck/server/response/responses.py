"""Answers: stored bytes as they are, or what the client wants in their place.

GET writes the stored bytes untouched. Tables and metadata are built from the decoded object.
"""

import zlib
from typing import Any

import msgspec

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.server.core.core import Core
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.negotiation import Choice, Form
from quarterdeck.wire.media import YAML
from quarterdeck.wire.query import parse_query, truth
from quarterdeck.wire.status import ApiError

Headers = list[tuple[str, str]]
Answer = http.Response | http.StreamResponse

_NO_CACHE = ("Cache-Control", "no-cache, private")
_JSON_TYPE = ("Content-Type", "application/json")
JSON_HEADERS: Headers = [_NO_CACHE, _JSON_TYPE]
METRICS_HEADERS: Headers = [
    _NO_CACHE,
    ("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
]
TEXT_HEADERS: Headers = [_NO_CACHE, ("Content-Type", "text/plain; charset=utf-8")]
_GZIP_LEVEL = 1


def stored(core: Core, call: Call, value: bytes, status: int = 200) -> http.Response:
    """An answer with an object as it is stored."""
    if call.choice.form is Form.OBJECT and call.resource.strategy.stored_as_served:
        return document(core, call, value, status)
    return served(core, call, decode_stored(call.resource, value), status)


def served(core: Core, call: Call, value: Object, status: int = 200) -> http.Response:
    """An answer with an object that is decoded already."""
    return document(core, call, encode_form(core, call.resource, value, call.choice), status)


def document(core: Core, call: Call, body: bytes, status: int = 200) -> http.Response:
    """An answer with a JSON body, in the client's media type and compressed if that is worth it."""
    headers = headers_of(call)
    if call.choice.media == YAML:
        body, headers = as_yaml(body, headers)
    elif "pretty" in call.request.query and _wants_pretty(call.request):
        body = kit_json.indent(body)
    if len(body) > core.options.gzip_bytes and accepts_gzip(call.request):
        body = gzip(body)
        headers = [*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return http.Response(status, headers, body)


def _wants_pretty(request: http.Request) -> bool:
    return truth(parse_query(request.query).get("pretty", ["false"])[0])


def failure(error: ApiError, warnings: list[str] | None = None) -> http.Response:
    """The answer for an error."""
    headers = JSON_HEADERS
    if error.retry_after_s:
        headers = [*headers, ("Retry-After", str(error.retry_after_s))]
    if warnings:
        headers = headers + [_warning(text) for text in warnings]
    return http.Response(error.code, headers, error.encode())


def success(call: Call, details: dict[str, Any], status: int = 200) -> http.Response:
    """A Status that says all went well."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return http.Response(status, headers_of(call), kit_json.encode(body | details))


def headers_of(call: Call) -> Headers:
    """The headers every answer has, and the warnings this one has."""
    warnings = call.warnings
    if call.resource.deprecation:
        warnings = [call.resource.deprecation, *warnings]
    if not warnings:
        return JSON_HEADERS
    return JSON_HEADERS + [_warning(text) for text in warnings]


def _warning(text: str) -> tuple[str, str]:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    clean = "".join(each if each.isprintable() else " " for each in escaped)
    return ("Warning", f'299 - "{clean}"')


def decode_stored(resource: Resource, value: bytes) -> Object:
    """A stored object in the version of a resource."""
    decoded: Object = kit_json.decode(value)
    strategy = resource.strategy
    return decoded if strategy.stored_as_served else strategy.served(decoded)


def encode_served(resource: Resource, value: bytes) -> bytes:
    """Stored bytes in the version of a resource."""
    if resource.strategy.stored_as_served:
        return value
    return kit_json.encode(resource.strategy.served(kit_json.decode(value)))


def encode_form(core: Core, resource: Resource, value: Object, choice: Choice) -> bytes:
    """One object in the form the client chose."""
    match choice.form:
        case Form.OBJECT:
            return kit_json.encode(value)
        case Form.METADATA:
            return kit_json.encode(partial(value, choice.version))
        case Form.TABLE:
            metadata = {"resourceVersion": value["metadata"].get("resourceVersion", "")}
            rows = [row(core, resource, value, choice=choice)]
            return kit_json.encode(table(resource, rows, metadata, version=choice.version))


def partial(value: Object, version: str = "v1") -> Object:
    """The metadata of an object and nothing else."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": value["metadata"],
    }


def row(
    core: Core, resource: Resource, value: Object, *, choice: Choice, include: str = "Metadata"
) -> dict[str, Any]:
    """One row of a Table; `include` is the client's `includeObject`."""
    result: dict[str, Any] = {"cells": list(resource.strategy.cells(value, core.clock.now()))}
    match include:
        case "None":
            result["object"] = None
        case "Object":
            result["object"] = value
        case _:
            result["object"] = partial(value, choice.version)
    return result


def table(
    resource: Resource,
    rows: list[dict[str, Any]],
    metadata: dict[str, Any],
    *,
    version: str,
    with_columns: bool = True,
) -> dict[str, Any]:
    """A Table of rows."""
    columns = columns_of(resource) if with_columns else None
    return {
        "kind": "Table",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    }


def columns_of(resource: Resource) -> list[Any]:
    """The column definitions of a Table."""
    return [msgspec.to_builtins(column) for column in resource.strategy.columns]


def as_yaml(body: bytes, headers: Headers) -> tuple[bytes, Headers]:
    """A JSON body as YAML."""
    from quarterdeck.kit import yaml

    text = yaml.dump(kit_json.decode(body))
    rest = [each for each in headers if each != _JSON_TYPE]
    return text.encode(), [*rest, ("Content-Type", YAML)]


def accepts_gzip(request: http.Request) -> bool:
    """Whether the client can read gzip."""
    header = request.headers.get("accept-encoding")
    return header is not None and "gzip" in header and "gzip;q=0" not in header.replace(" ", "")


def gzip_compressor() -> Any:
    """A compressor that writes the gzip format."""
    return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)


def gzip(body: bytes) -> bytes:
    """A whole body compressed."""
    compressor = gzip_compressor()
    compressed: bytes = compressor.compress(body) + compressor.flush()
    return compressed
