"""The identity of a request: in the header `Audit-Id` of its answer, and in the audit log."""

import random

from quarterdeck.kit import http
from quarterdeck.server.registry.name_generator import generate_uid

HEADER = "Audit-Id"
_LONGEST = 256
_SERIES = 1024
"""Identities with the same random part, which are numbered: a random one takes three times as
long, and every request needs one."""
_NUMBER_DIGITS = 12


class AuditIds:
    """Gives each request an identity; one that a proxy gave it is kept."""

    def __init__(self, rng: random.Random) -> None:
        self._random = random.Random(rng.getrandbits(64))
        self._prefix = ""
        self._next = self._end = 0

    def get(self, request: http.Request) -> str:
        """Return the identity of a request."""
        given = request.headers.find("audit-id")
        if given and len(given) <= _LONGEST and given.isascii() and given.isprintable():
            return given
        number = self._next
        if number == self._end:
            number = self._begin_series()
        self._next = number + 1
        return f"{self._prefix}{number:012x}"

    def _begin_series(self) -> int:
        """Choose the random part of the next identities, and the number of the first of them."""
        uid = generate_uid(self._random)
        self._prefix = uid[:-_NUMBER_DIGITS]
        first = int(uid[-_NUMBER_DIGITS:], 16) >> 1
        self._end = first + _SERIES
        return first
