"""API errors: one exception class per `Status.reason`, the same on both sides of the wire.

The server raises them, `encode` puts them on the wire, `from_status` reads them back and the client
raises the same class. So `except NotFound` means the same everywhere.

    ApiError
    ├── BadRequest 400            ├── Conflict 409
    ├── Unauthorized 401          ├── Expired 410 (also Gone)
    ├── Forbidden 403             ├── RequestEntityTooLarge 413
    ├── NotFound 404              ├── UnsupportedMediaType 415
    ├── MethodNotAllowed 405      ├── Invalid 422
    ├── NotAcceptable 406         ├── TooManyRequests 429
    ├── AlreadyExists 409         ├── InternalError 500, InsufficientStorage 507
    └── ServiceUnavailable 503, Timeout 504, ServerTimeout 500, UnknownError
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from quarterdeck.meta.field import FieldError, quote


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the reasons a request failed; `reason` is the cause's type."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The details of a Status: which object it is about, the causes, and when to retry.

    `kind` is the plural resource for NotFound, AlreadyExists, Conflict and Forbidden, and the Kind
    for Invalid: that is how Kubernetes does it, and clients depend on it.
    """

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class ApiError(Exception):
    """Raised when the API refuses a request; `to_status` returns the Status that is sent."""

    code: int = 500
    reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        details: Details | None = None,
        code: int | None = None,
        retry_after_s: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        unknown_reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.metadata = metadata or {}
        self.code = code if code is not None else type(self).code
        self.unknown_reason = unknown_reason
        if retry_after_s is not None and details is None:
            self.details = Details(retry_after_seconds=retry_after_s)

    @property
    def retry_after_s(self) -> int | None:
        """Seconds to wait before a retry; None if the server does not say."""
        return (self.details.retry_after_seconds or None) if self.details else None

    def to_status(self) -> dict[str, Any]:
        """The Status object of this error."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.metadata),
            "status": "Failure",
            "message": self.message,
        }
        reason = self.unknown_reason if self.unknown_reason is not None else self.reason
        if reason:
            status["reason"] = reason
        if self.details is not None:
            status["details"] = details = msgspec.to_builtins(self.details)
            if "causes" in details:
                details["causes"] = list(details["causes"])
        status["code"] = self.code
        return status

    def encode(self) -> bytes:
        """The Status object as JSON."""
        return msgspec.json.encode(self.to_status())


class BadRequest(ApiError):
    """Raised when a request cannot be understood."""

    code = 400
    reason = "BadRequest"


class Unauthorized(ApiError):
    """Raised when the caller is not authenticated."""

    code = 401
    reason = "Unauthorized"

    def __init__(self, message: str = "Unauthorized", **more: Any) -> None:
        super().__init__(message, **more)


class Forbidden(ApiError):
    """Raised when the caller is not allowed to do this, or it is never allowed."""

    code = 403
    reason = "Forbidden"

    @classmethod
    def of(cls, resource: str, name: str, why: str, *, group: str = "") -> Self:
        """Refuse an action on a resource; `why` ends the sentence."""
        qualified = _qualify_name(resource, group)
        subject = f"{qualified} {quote(name)}" if name else qualified
        return cls(
            f"{subject} is forbidden: {why}",
            details=Details(name=name, group=group, kind=resource),
        )


class NotFound(ApiError):
    """Raised when an object or resource does not exist."""

    code = 404
    reason = "NotFound"

    @classmethod
    def of(cls, resource: str, name: str, *, group: str = "") -> Self:
        """No object of that name."""
        return cls(
            f"{_qualify_name(resource, group)} {quote(name)} not found",
            details=Details(name=name, group=group, kind=resource),
        )

    @classmethod
    def resource(cls) -> Self:
        """Build the error for an unknown resource in a group that is served."""
        return cls("the server could not find the requested resource", details=Details())


class MethodNotAllowed(ApiError):
    """Raised when a resource does not support a verb."""

    code = 405
    reason = "MethodNotAllowed"

    def __init__(
        self,
        message: str = "the server does not allow this method on the requested resource",
        **more: Any,
    ) -> None:
        more.setdefault("details", Details())
        super().__init__(message, **more)


class NotAcceptable(ApiError):
    """Raised when we cannot answer in any form the client accepts."""

    code = 406
    reason = "NotAcceptable"


class AlreadyExists(ApiError):
    """Raised when an object of that name is there already."""

    code = 409
    reason = "AlreadyExists"

    @classmethod
    def of(cls, resource: str, name: str, *, group: str = "") -> Self:
        """Name the object that is in the way."""
        return cls(
            f"{_qualify_name(resource, group)} {quote(name)} already exists",
            details=Details(name=name, group=group, kind=resource),
        )


class Conflict(ApiError):
    """Raised when the object has changed since, or others own the fields."""

    code = 409
    reason = "Conflict"

    @classmethod
    def of(cls, resource: str, name: str, why: str, *, group: str = "") -> Self:
        """Refuse an operation on an object; `why` ends the sentence."""
        what = f"{_qualify_name(resource, group)} {quote(name)}"
        return cls(
            f"Operation cannot be fulfilled on {what}: {why}",
            details=Details(name=name, group=group, kind=resource),
        )


class Expired(ApiError):
    """Raised when the resource version or continue token is too old."""

    code = 410
    reason = "Expired"


class Gone(ApiError):
    """Raised when a resource is gone for good; older servers say this for Expired."""

    code = 410
    reason = "Gone"


class RequestEntityTooLarge(ApiError):
    """Raised when a body is over the limit."""

    code = 413
    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """Raised when the media type of a body is not supported."""

    code = 415
    reason = "UnsupportedMediaType"


class Invalid(ApiError):
    """Raised when an object breaks the rules of its kind."""

    code = 422
    reason = "Invalid"

    @classmethod
    def of(cls, kind: str, name: str, errors: Sequence[FieldError], *, group: str = "") -> Self:
        """Report field errors; more than one are listed in brackets, as Kubernetes does."""
        qualified = _qualify_name(kind, group)
        texts = list(dict.fromkeys(str(error) for error in errors))
        listed = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        return cls(
            f"{qualified} {quote(name)} is invalid: {listed}"
            if texts
            else f"{qualified} {quote(name)} is invalid",
            details=Details(
                name=name,
                group=group,
                kind=kind,
                causes=tuple(
                    Cause(reason=error.type.value, message=error.format_body(), field=error.field)
                    for error in errors
                ),
            ),
        )


class TooManyRequests(ApiError):
    """Raised when the client should come back later."""

    code = 429
    reason = "TooManyRequests"


class InternalError(ApiError):
    """Raised when the fault is the server's."""

    code = 500
    reason = "InternalError"

    @classmethod
    def of(cls, problem: str) -> Self:
        """Build the error with Kubernetes' text for a problem."""
        return cls(
            f"Internal error occurred: {problem}", details=Details(causes=(Cause(message=problem),))
        )


class ServerTimeout(ApiError):
    """Raised when the server could not finish, and a retry is safe."""

    code = 500
    reason = "ServerTimeout"


class InsufficientStorage(ApiError):
    """Raised when the disk is full; nothing was written."""

    code = 507
    reason = "InsufficientStorage"


class ServiceUnavailable(ApiError):
    """Raised when the server is starting, stopping or cut off from its store."""

    code = 503
    reason = "ServiceUnavailable"


class Timeout(ApiError):
    """Raised when a request took too long."""

    code = 504
    reason = "Timeout"


class UnknownError(ApiError):
    """Raised for a response with an unknown code that is not a known Status, such as a proxy's."""

    code = 500
    reason = "Unknown"


_CLASSES: tuple[type[ApiError], ...] = (
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    AlreadyExists,
    Conflict,
    Expired,
    Gone,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServerTimeout,
    InsufficientStorage,
    ServiceUnavailable,
    Timeout,
)
_BY_REASON = {each.reason: each for each in _CLASSES}
_BY_CODE = {each.code: each for each in reversed(_CLASSES)}


def from_status(status: Mapping[str, Any], http_code: int = 0) -> ApiError:
    """Build the exception for a Status object.

    For an unknown reason the class is chosen by the code, and the reason is kept.
    """
    reason = str(status.get("reason") or "")
    code = int(status.get("code") or http_code or 500)
    known = _BY_REASON.get(reason)
    details = status.get("details")
    return (known or _BY_CODE.get(code, UnknownError))(
        str(status.get("message") or ""),
        code=code,
        details=msgspec.convert(details, Details) if details is not None else None,
        metadata=status.get("metadata") or {},
        unknown_reason=None if known else reason,
    )


def from_response(code: int, body: bytes) -> ApiError:
    """Build the exception for an error response, whether or not its body is a Status.

    Text that is not a Status is truncated, because it may be the HTML page of a proxy.
    """
    try:
        status = msgspec.json.decode(body)
    except msgspec.DecodeError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        return from_status(status, code)
    text = body[:256].decode("utf-8", "replace").strip()
    return _BY_CODE.get(code, UnknownError)(
        text or f"the server responded with status {code} and no message", code=code
    )


def _qualify_name(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name
