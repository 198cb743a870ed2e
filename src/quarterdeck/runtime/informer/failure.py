"""Why a request or a watch failed, in the form that the reflector needs."""

import msgspec

from quarterdeck.kit.backoff import bound_retry_after
from quarterdeck.wire.status import ApiError


class Failure(msgspec.Struct, frozen=True):
    """Why a request or stream failed; `code` 0 means no answer came."""

    code: int
    reason: str = ""
    message: str = ""
    retry_after_s: float = 0.0

    @property
    def is_expired(self) -> bool:
        """The version we asked for is too old."""
        return self.code == 410

    @property
    def is_too_large(self) -> bool:
        """The version we asked for is newer than all the server has."""
        return self.code == 504 and "too large resource version" in self.message.lower()


class StreamBroken(Exception):
    """Raised when a line ends the stream; pass `failure` to `Reflector.on_failure`."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _Status(msgspec.Struct):
    code: int = 500
    reason: str = ""
    message: str = ""
    details: dict[str, object] | None = None


_status: "msgspec.json.Decoder[_Status]" = msgspec.json.Decoder(_Status)


def parse_failure(raw: bytes) -> Failure:
    """Decode the Status of an ERROR event."""
    status = _status.decode(raw)
    retry_after = (status.details or {}).get("retryAfterSeconds", 0)
    return Failure(
        status.code,
        status.reason,
        status.message,
        bound_retry_after(retry_after if isinstance(retry_after, int) else 0),
    )


def classify_failure(error: BaseException) -> Failure:
    """Convert an exception; connection failures have code 0."""
    if isinstance(error, StreamBroken):
        return error.failure
    if isinstance(error, ApiError):
        after_s = bound_retry_after(error.retry_after_s)
        return Failure(error.code, error.reason, error.message, after_s)
    return Failure(0, type(error).__name__, str(error))
