"""Authenticates tokens by the API server's TokenReview; answers are cached for a minute."""

import asyncio
import hashlib
from collections import OrderedDict

from quarterdeck.client.errors import ClientError
from quarterdeck.client.interfaces import Writer
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.services.hub.errors import Unavailable
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import ApiError

KEPT_S = 60.0
MAX_KEPT = 4096
_TIMEOUT_S = 10.0
_REVIEWS = ResourcePath("authentication.k8s.io", "v1", "tokenreviews")


class TokenReviewer:
    """Implements `TokenVerifier` by asking the API server. Tokens are kept as digests only."""

    def __init__(self, api: Writer, *, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, Principal | None]] = OrderedDict()

    async def verify(self, token: str) -> Principal | None:
        """The principal of a token; None if the API server does not accept it.

        Raises:
            Unavailable: if the API server does not answer.
        """
        digest, now = hashlib.sha256(token.encode()).digest(), self._clock.monotonic()
        known = self._known.get(digest)
        if known is not None and known[0] > now:
            return known[1]
        found = await self._review(token)
        self._known[digest] = (now + KEPT_S, found)
        self._known.move_to_end(digest)
        if len(self._known) > MAX_KEPT:
            self._known.popitem(last=False)
        return found

    def forget(self) -> None:
        """Clear the cache, so that the API server reviews every token again."""
        self._known.clear()

    async def _review(self, token: str) -> Principal | None:
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                answer = await self._api.create(_REVIEWS, json.encode(review), CreateOptions())
        except (ApiError, ClientError, OSError, TimeoutError) as error:
            raise Unavailable(
                "the token cannot be verified: the API server does not answer"
            ) from error
        status = json.decode(answer).get("status") or {}
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        emails: list[str] = (user.get("extra") or {}).get("email") or []
        return Principal(
            username=user.get("username", ""),
            email=emails[0] if len(emails) == 1 else "",
            groups=tuple(user.get("groups") or ()),
        )
