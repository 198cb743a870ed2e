"""Invalid credentials: clients get a plain 401, the log of the server has the cause."""

import logging

from quarterdeck.kit import http
from quarterdeck.kit.clock import Clock
from quarterdeck.wire.status import Unauthorized

_log = logging.getLogger(__name__)
_QUIET_S = 1.0
"""At most one log line per second, with a count: many refusals must not fill the disk."""


class CredentialsRefused(Unauthorized):
    """Raised when credentials are invalid; its `str` is for the log and has no secrets."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self._why = why

    def __str__(self) -> str:
        return self._why


class RefusalLog:
    """Logs refused credentials."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._count = 0
        self._quiet_until = 0.0

    def add(self, request: http.Request, error: CredentialsRefused) -> None:
        """Log a refusal, or count it for the next line."""
        self._count += 1
        now = self._clock.monotonic()
        if now < self._quiet_until:
            return
        _log.warning(
            "refused credentials",
            extra={"peer": _get_host(request), "reason": str(error), "count": self._count},
        )
        self._count, self._quiet_until = 0, now + _QUIET_S


def _get_host(request: http.Request) -> str:
    return request.peer.address.rpartition(":")[0]
