"""Decides when a request is sent again: only where that is safe.

A request answered with 429 was not carried out, whatever the verb. One answered with a 5xx and
Retry-After, or whose connection broke, may have been, so only reads are repeated. All other
failures are left to the caller.
"""

import msgspec

from quarterdeck.kit.digits import parse_digits

MAX_TRIES = 4
_MAX_WAIT_S = 30.0


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a try ended; code 0 when no answer came."""

    code: int
    retry_after_s: float | None = None
    broken: bool = False


def compute_retry_delay(outcome: Outcome, *, tries: int, is_read: bool) -> float | None:
    """Seconds to wait before the next try, or None to give up."""
    if tries >= MAX_TRIES:
        return None
    if outcome.broken:
        return 0.05 * 2 ** (tries - 1) if is_read and tries < 2 else None
    if outcome.code == 429:
        wait = outcome.retry_after_s if outcome.retry_after_s is not None else 1.0
        return min(wait, _MAX_WAIT_S)
    if outcome.code >= 500 and is_read and outcome.retry_after_s is not None:
        return min(outcome.retry_after_s, _MAX_WAIT_S)
    return None


def parse_retry_after(header: str | None) -> float | None:
    """The seconds of a Retry-After header; dates are not used by API servers."""
    seconds = None if header is None else parse_digits(header.strip())
    return None if seconds is None else float(seconds)
