"""Maps error responses of Proxmox VE to error codes. Pure.

The server answers most failures with 500 and puts the cause into the reason phrase, so that the
text decides; the status alone decides only where it is specific: for refused requests, and where
another node or a proxy does not answer, which is no timeout of a lock.
"""

import re
from collections.abc import Mapping

from quarterdeck.kit.redaction import redact
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error

_LONGEST = 500
_SPECIFIC = frozenset({401, 403, 408, 413, 429, 502, 503, 504, *range(595, 600)})
"""Statuses whose meaning the text does not change: `Connection timed out` of 595 is no lock."""
_BY_TEXT: tuple[tuple[re.Pattern[str], Code], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), code)
    for pattern, code in (
        (r"configuration file .* does not exist", Code.NOT_FOUND),
        (r"no such (vm|resource)|unable to find (vm|configuration)", Code.NOT_FOUND),
        (r"vm \d+ not running", Code.CONFLICT),
        (r"(vm|ct) \d+ already exists|config file already exists", Code.ALREADY_EXISTS),
        (r"unable to create vm \d+: config file already exists", Code.ALREADY_EXISTS),
        (r"is running - destroy failed|cannot destroy running", Code.RUNNING),
        (r"can't lock file|trying to acquire lock|is locked \(", Code.LOCKED),
        (r"no such task|unable to parse worker upid|unable to open .*/tasks/", Code.TASK_UNKNOWN),
        (r"linked clone feature .*not supported|can't clone.*linked", Code.STORAGE_UNSUPPORTED),
        (r"does not support (content|vm images|.*clone)", Code.STORAGE_UNSUPPORTED),
        (r"storage '[^']*' does not exist|non-shared storage", Code.STORAGE_UNSUPPORTED),
        (r"quota", Code.QUOTA_EXCEEDED),
        (r"no space left|not enough (space|memory|free)|out of space", Code.RESOURCE_EXHAUSTED),
        (r"cannot allocate memory|insufficient", Code.RESOURCE_EXHAUSTED),
        (r"permission check failed", Code.FORBIDDEN),
        (r"got timeout|timed? ?out", Code.LOCKED),
    )
)
_BY_STATUS = {
    401: Code.UNAUTHORIZED,
    403: Code.FORBIDDEN,
    404: Code.NOT_FOUND,
    408: Code.TIMEOUT,
    413: Code.PAYLOAD_TOO_LARGE,
    429: Code.RATE_LIMITED,
    501: Code.NOT_SUPPORTED,
    502: Code.UNAVAILABLE,
    503: Code.UNAVAILABLE,
    504: Code.TIMEOUT,
    595: Code.UNAVAILABLE,  # the node that the request was passed on to does not answer
    596: Code.UNAVAILABLE,
    597: Code.UNAVAILABLE,
    598: Code.TIMEOUT,
    599: Code.UNAVAILABLE,
}


def read_failure(
    operation: str, status: int, reason: str, errors: Mapping[str, str]
) -> HypervisorError:
    """Build the error for a response whose status is not 2xx."""
    parts = [reason.strip(), *(f"{name}: {text.strip()}" for name, text in sorted(errors.items()))]
    text = redact(" ".join("; ".join(filter(None, parts)).split()))[:_LONGEST]
    code = classify(status, text)
    return make_error(
        code, f"Proxmox VE answered {status}: {text or 'no reason'}", operation=operation
    )


def classify(status: int, text: str) -> Code:
    """Choose the error code by the HTTP status and the text of the failure."""
    if status in _SPECIFIC:
        return _BY_STATUS[status]
    for pattern, code in _BY_TEXT:
        if pattern.search(text):
            return code
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Code.INVALID_SPEC if 400 <= status < 500 else Code.CONFLICT
