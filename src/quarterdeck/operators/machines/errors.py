"""Errors of hypervisors: four classes by consequence, codes by cause.

HypervisorError
├── TransientError       try again soon
├── PermanentError       trying again is useless
├── ConfigurationError   a user has to change something first
└── ResourceError        try again when there is room
"""

import enum


class Code(enum.StrEnum):
    """The cause of an error; each code belongs to one class."""

    UNAVAILABLE = "Unavailable"
    TIMEOUT = "Timeout"
    RATE_LIMITED = "RateLimited"
    LOCKED = "Locked"
    CONFLICT = "Conflict"
    TASK_UNKNOWN = "TaskUnknown"
    RUNNING = "Running"

    NOT_FOUND = "NotFound"
    ALREADY_EXISTS = "AlreadyExists"
    INVALID_SPEC = "InvalidSpec"
    NOT_SUPPORTED = "NotSupported"
    OWNERSHIP_MISMATCH = "OwnershipMismatch"
    PAYLOAD_TOO_LARGE = "PayloadTooLarge"
    FAILED = "Failed"

    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    TLS = "TLSVerificationFailed"
    TEMPLATE_NOT_FOUND = "TemplateNotFound"
    AMBIGUOUS = "Ambiguous"
    NOT_A_TEMPLATE = "NotATemplate"
    STORAGE_UNSUPPORTED = "StorageUnsupported"

    QUOTA_EXCEEDED = "QuotaExceeded"
    RESOURCE_EXHAUSTED = "ResourceExhausted"
    IDS_EXHAUSTED = "IdsExhausted"


class HypervisorError(Exception):
    """Raised when a call of a hypervisor did not succeed; decisions are made by class and code."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        operation: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.operation = operation
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        lead = f"{self.operation}: " if self.operation else ""
        return f"{lead}{self.message} ({self.code.value})"


class TransientError(HypervisorError):
    """Raised when the same call may succeed soon; it may also have taken effect."""


class PermanentError(HypervisorError):
    """Raised when the same call would fail again."""


class ConfigurationError(HypervisorError):
    """Raised when credentials, certificates or templates have to be changed first."""


class ResourceError(HypervisorError):
    """Raised when the hypervisor lacks capacity, quota or ids for a request."""


_CLASSES: dict[type[HypervisorError], frozenset[Code]] = {
    TransientError: frozenset(
        {
            Code.UNAVAILABLE,
            Code.TIMEOUT,
            Code.RATE_LIMITED,
            Code.LOCKED,
            Code.CONFLICT,
            Code.TASK_UNKNOWN,
            Code.RUNNING,
        }
    ),
    PermanentError: frozenset(
        {
            Code.NOT_FOUND,
            Code.ALREADY_EXISTS,
            Code.INVALID_SPEC,
            Code.NOT_SUPPORTED,
            Code.OWNERSHIP_MISMATCH,
            Code.PAYLOAD_TOO_LARGE,
            Code.FAILED,
        }
    ),
    ConfigurationError: frozenset(
        {
            Code.UNAUTHORIZED,
            Code.FORBIDDEN,
            Code.TLS,
            Code.TEMPLATE_NOT_FOUND,
            Code.AMBIGUOUS,
            Code.NOT_A_TEMPLATE,
            Code.STORAGE_UNSUPPORTED,
        }
    ),
    ResourceError: frozenset({Code.QUOTA_EXCEEDED, Code.RESOURCE_EXHAUSTED, Code.IDS_EXHAUSTED}),
}
_CLASS_OF = {code: kind for kind, codes in _CLASSES.items() for code in codes}


def make_error(
    code: Code, message: str, *, operation: str = "", retry_after_s: float | None = None
) -> HypervisorError:
    """The error of a code, in the class that the code belongs to; the caller raises it."""
    return _CLASS_OF[code](code, message, operation=operation, retry_after_s=retry_after_s)


def get_error_class(error: HypervisorError) -> str:
    """Return the class of an error for metrics: transient, permanent, configuration, resource."""
    return type(error).__name__.removesuffix("Error").lower()
