"""The answers of the hub API: JSON with an ETag, errors, and the headers that browsers need."""

import hashlib
from collections.abc import Sequence, Set

from quarterdeck.kit import json
from quarterdeck.kit.http import Request, Response
from quarterdeck.services.hub.call import Page
from quarterdeck.services.hub.paging import build_page_headers

Headers = list[tuple[str, str]]
SECURITY: Headers = [
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
]
_JSON = ("Content-Type", "application/json")


def build_result(request: Request, result: object, *, has_tag: bool) -> Response:
    """The answer with the result of an endpoint; 304 where the client has it already."""
    headers = [_JSON, ("Cache-Control", "private, no-cache"), ("Vary", "Authorization")]
    if isinstance(result, Page):
        headers += build_page_headers(result, request.target)
        result = result.items
    body = json.encode(result)
    if not has_tag:
        return Response(200, headers, body)
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers.append(("ETag", tag))
    if _matches_tag(request, tag):
        return Response(304, headers[1:])
    return Response(200, headers, body)


def build_json(status: int, value: object, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """An answer without a cache."""
    return Response(status, [_JSON, *headers], json.encode(value))


def build_failure(status: int, message: str, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """An error in the shape that all errors of the hub have."""
    return build_json(status, {"error": message}, headers)


def build_challenge(status: int) -> Headers:
    """The WWW-Authenticate header of a 401."""
    return [("WWW-Authenticate", "Bearer")] if status == 401 else []


def build_cors(origin: str | None, allowed: Set[str]) -> Headers:
    """Headers for pages of other sites; credentials only for sites that are named."""
    if not origin or not allowed & {origin, "*"}:
        return []
    is_named = origin in allowed
    found = [
        ("Access-Control-Allow-Origin", origin if is_named else "*"),
        ("Access-Control-Allow-Methods", "GET, POST, OPTIONS"),
        ("Access-Control-Allow-Headers", "Authorization, If-None-Match"),
        ("Access-Control-Expose-Headers", "ETag, Link, X-Total-Count"),
    ]
    return [*found, ("Access-Control-Allow-Credentials", "true")] if is_named else found


def _matches_tag(request: Request, tag: str) -> bool:
    given = request.headers.get("if-none-match")
    if given is None:
        return False
    tags = {each.strip().removeprefix("W/") for each in given.split(",")}
    return tag in tags or "*" in tags
