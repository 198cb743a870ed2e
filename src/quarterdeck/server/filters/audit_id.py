"""The identity of a request: in the header `Audit-Id` of its answer, and in the audit log."""

import random

from quarterdeck.kit import http
from quarterdeck.server.registry.name_generator import generate_uid

HEADER = "Audit-Id"
_LONGEST = 256


class AuditIds:
    """Gives each request an identity; one that a proxy gave it is kept."""

    def __init__(self, rng: random.Random) -> None:
        self._random = random.Random(rng.getrandbits(64))

    def get(self, request: http.Request) -> str:
        """Return the identity of a request."""
        given = request.headers.get("audit-id")
        if given and len(given) <= _LONGEST and given.isascii() and given.isprintable():
            return given
        return generate_uid(self._random)
