"""The HTTP side of OpenAPI: hashes in URLs, entity tags, compression, caching."""

from datetime import timedelta
from email.utils import format_datetime

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.server.openapi import outline
from quarterdeck.server.openapi.documents import OpenApiDocuments, ServedDocument
from quarterdeck.wire.query import parse_query

_YEAR = timedelta(days=365)


def build_response(
    documents: OpenApiDocuments, request: http.Request, path: str, clock: Clock
) -> http.Response | None:
    """Build the answer for a path below `/openapi`; None if there is nothing there."""
    if path == "/openapi/v3":
        return _respond(request, documents.get_index(), [("Cache-Control", "no-cache, private")])
    if path == "/openapi/v2" and outline.is_wanted(request.headers.get("accept")):
        headers = [("Cache-Control", "no-cache, private"), ("Content-Type", outline.MEDIA_TYPE)]
        return http.Response(200, headers, outline.build_outline(documents.git_version))
    if path == "/openapi/v2":
        return _respond(request, documents.get_swagger(), [("Cache-Control", "no-cache, private")])
    if not path.startswith("/openapi/v3/"):
        return None
    name = path.removeprefix("/openapi/v3/")
    served = documents.get_version(name)
    if served is None:
        return None
    asked = parse_query(request.query).get("hash", [""])[0]
    if asked and asked != served.etag:
        location = f"/openapi/v3/{name}?hash={served.etag}"
        return http.Response(301, [("Location", location)], b"")
    headers = [("Cache-Control", "no-cache, private")]
    if asked:
        expires = format_datetime(clock.now() + _YEAR, usegmt=True)
        headers = [("Cache-Control", "public, immutable"), ("Expires", expires)]
    return _respond(request, served, headers)


def _respond(
    request: http.Request, served: ServedDocument, headers: list[tuple[str, str]]
) -> http.Response:
    etag = f'"{served.etag}"'
    headers = [*headers, ("Etag", etag), ("Vary", "Accept-Encoding"), ("Vary", "Accept")]
    if etag in (request.headers.get("if-none-match") or ""):
        return http.Response(304, headers, b"")
    headers.append(("Content-Type", "application/json"))
    if "gzip" in (request.headers.get("accept-encoding") or ""):
        return http.Response(200, [*headers, ("Content-Encoding", "gzip")], served.compressed)
    return http.Response(200, headers, served.body)
