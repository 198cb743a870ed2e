"""Authorization of the metrics page: the API server checks token and rights of the caller.

TokenReview identifies the caller (cached for a minute), SubjectAccessReview decides whether the
caller may `get` the path (cached for five minutes if allowed, thirty seconds if not). Tokens are
kept only as digests. A review is tried five times, within some seconds, while the server is
overloaded or unreachable.
"""

import asyncio
import hashlib
import random
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Writer
from quarterdeck.kit.backoff import Backoff
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.http import Request, Response
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import ApiError

_TOKEN_TTL_S = 60.0
_ALLOWED_TTL_S = 300.0
_DENIED_TTL_S = 30.0
_MAX_CACHED = 1024
_REVIEW_TIMEOUT_S = 10.0
_TRIES = 5
_TOKEN_REVIEWS = ResourcePath("authentication.k8s.io", "v1", "tokenreviews")
_ACCESS_REVIEWS = ResourcePath("authorization.k8s.io", "v1", "subjectaccessreviews")

Page = Callable[[Request], Awaitable[Response]]


class _User(NamedTuple):
    name: str
    uid: str
    groups: tuple[str, ...]
    extra: tuple[tuple[str, tuple[str, ...]], ...]
    """What else the API server knows of the caller, such as the scopes that limit a token."""


class DelegatingAuthorizer:
    """Serves a page only to callers that the API server has authorized."""

    def __init__(self, api: Writer, clock: Clock, rng: random.Random) -> None:
        self._api = api
        self._clock = clock
        self._random = rng
        self._users: OrderedDict[bytes, tuple[float, _User | None]] = OrderedDict()
        self._rights: OrderedDict[tuple[_User, str, str], tuple[float, bool]] = OrderedDict()

    def protect(self, page: Page) -> Page:
        """Wrap a page so that it checks the authorization of the caller first."""

        async def authorized(request: Request) -> Response:
            refusal = await self._authorize(request)
            return refusal if refusal is not None else await page(request)

        return authorized

    async def _authorize(self, request: Request) -> Response | None:
        scheme, _, token = (request.headers.get("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return _respond(401, "Unauthorized: send a bearer token")
        try:
            user = await self._authenticate(token.strip())
            if user is None:
                return _respond(401, "Unauthorized")
            if await self._is_allowed(user, request.method.lower(), request.path):
                return None
        except (ApiError, ClientError, OSError, TimeoutError):
            return _respond(500, "cannot check the token: no response from the API server")
        return _respond(
            403,
            f"Forbidden: user {user.name!r} cannot {request.method.lower()} path {request.path!r}",
        )

    async def _authenticate(self, token: str) -> _User | None:
        digest = hashlib.sha256(token.encode()).digest()
        now = self._clock.monotonic()
        known = self._users.get(digest)
        if known is not None and known[0] > now:
            return known[1]
        status = await self._review(
            _TOKEN_REVIEWS,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "spec": {"token": token},
            },
        )
        user = None
        if status.get("authenticated"):
            info = status.get("user", {})
            groups = tuple(info.get("groups") or ())
            extra = tuple((k, tuple(v or ())) for k, v in sorted((info.get("extra") or {}).items()))
            user = _User(info.get("username", ""), info.get("uid", ""), groups, extra)
        _remember(self._users, digest, (now + _TOKEN_TTL_S, user))
        return user

    async def _is_allowed(self, user: _User, verb: str, path: str) -> bool:
        key, now = (user, verb, path), self._clock.monotonic()
        known = self._rights.get(key)
        if known is not None and known[0] > now:
            return known[1]
        status = await self._review(
            _ACCESS_REVIEWS,
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": user.name,
                    "uid": user.uid,
                    "groups": list(user.groups),
                    "extra": dict(user.extra),
                    "nonResourceAttributes": {"path": path, "verb": verb},
                },
            },
        )
        allowed = bool(status.get("allowed"))
        ttl_s = _ALLOWED_TTL_S if allowed else _DENIED_TTL_S
        _remember(self._rights, key, (now + ttl_s, allowed))
        return allowed

    async def _review(self, path: ResourcePath, review: dict[str, Any]) -> dict[str, Any]:
        """Create a review; try again while the server is overloaded or unreachable."""
        body, backoff = msgspec.json.encode(review), self._build_backoff()
        while True:
            try:
                async with asyncio.timeout(_REVIEW_TIMEOUT_S):
                    answer = await self._api.create(path, body, CreateOptions())
                status: dict[str, Any] = msgspec.json.decode(answer).get("status", {})
                return status
            except (ApiError, ClientError, OSError) as error:
                is_lasting = isinstance(error, ApiError) and error.code < 500 and error.code != 429
                if is_lasting or backoff.failures >= _TRIES - 1:
                    raise
            await self._clock.sleep(backoff.next())

    def _build_backoff(self) -> Backoff:
        return Backoff(initial_s=0.5, factor=1.5, cap_s=5.0, jitter=0.2, random=self._random)


def _remember(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > _MAX_CACHED:
        cache.popitem(last=False)


def _respond(status: int, text: str) -> Response:
    headers = [("content-type", "text/plain; charset=utf-8")]
    if status == 401:
        headers.append(("www-authenticate", "Bearer"))
    return Response(status, headers, f"{text}\n".encode())
