"""The identity of a request: in the header `Audit-Id` of its answer, and in the audit log."""

import random

from quarterdeck.kit import http
from quarterdeck.server.registry.name_generator import generate_uid

HEADER = "Audit-Id"
_LONGEST = 256
_SERIES = 1024
"""How many ids share a random part and are numbered: a random id for each request is slower."""
_NUMBER_DIGITS = 12


class AuditIds:
    """Gives each request an audit id; an id in the header of the request is kept."""

    def __init__(self, rng: random.Random) -> None:
        self._random = random.Random(rng.getrandbits(64))
        self._prefix = ""
        self._next = self._end = 0

    def get(self, request: http.Request) -> str:
        """Return the audit id of a request."""
        given = request.headers.find("audit-id")
        if given and len(given) <= _LONGEST and given.isascii() and given.isprintable():
            return given
        number = self._next
        if number == self._end:
            number = self._begin_series()
        self._next = number + 1
        return f"{self._prefix}{number:012x}"

    def _begin_series(self) -> int:
        """Choose the random part of the next ids, and return the number of the first."""
        uid = generate_uid(self._random)
        self._prefix = uid[:-_NUMBER_DIGITS]
        first = int(uid[-_NUMBER_DIGITS:], 16) >> 1
        self._end = first + _SERIES
        return first
