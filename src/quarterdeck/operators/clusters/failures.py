"""Maps every error of reading a cluster to the reason and message of a condition."""

from quarterdeck.client.errors import (
    ConfigError,
    ConnectionFailed,
    CredentialError,
    InvalidResponse,
    RequestTimeout,
    UntrustedServer,
)
from quarterdeck.kit.breaker import CircuitOpen
from quarterdeck.kit.redaction import redact
from quarterdeck.operators.clusters.conditions import Reason
from quarterdeck.wire.status import ApiError, Forbidden, Unauthorized

_MAX = 500
_REASONS: tuple[tuple[type[Exception], Reason], ...] = (
    (UntrustedServer, Reason.UNTRUSTED),
    (ConnectionFailed, Reason.UNREACHABLE),
    (RequestTimeout, Reason.TIMEOUT),
    (TimeoutError, Reason.TIMEOUT),
    (InvalidResponse, Reason.BAD_ANSWER),
    (CredentialError, Reason.NO_CREDENTIALS),
    (ConfigError, Reason.NO_CREDENTIALS),
    (Unauthorized, Reason.UNAUTHORIZED),
    (Forbidden, Reason.FORBIDDEN),
    (CircuitOpen, Reason.CIRCUIT_OPEN),
    (ApiError, Reason.SERVER_ERROR),
)


class CredentialsUnavailable(Exception):
    """Raised when a Secret is missing or unusable; the message contains none of its values."""


class InvalidEndpoint(CredentialsUnavailable):
    """Raised when nothing can be sent to `spec.endpoint`, so no credentials are read for it."""


def find_reason(error: Exception) -> Reason:
    """The condition reason of an error."""
    if isinstance(error, InvalidEndpoint):
        return Reason.INVALID
    if isinstance(error, CredentialsUnavailable):
        return Reason.NO_CREDENTIALS
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), Reason.ERROR)


def describe(error: Exception, *, time_limit_s: float = 0.0) -> str:
    """Message of an error for a condition: one line, without secrets, with advice if possible."""
    text = redact(str(error) or type(error).__name__)[:_MAX]
    match find_reason(error):
        case Reason.UNTRUSTED:
            return f"{text}; {_advise_trust(text)}"
        case Reason.UNAUTHORIZED:
            return f"{text}: the token is invalid or has expired; renew it in the Secret"
        case Reason.FORBIDDEN:
            advice = (
                "grant this permission to the service account of the Secret, as `quarterdeck "
                "clusters add` does"
            )
            return f"{text}; {advice}"
        case Reason.TIMEOUT if time_limit_s and not isinstance(error, RequestTimeout):
            return f"the cluster did not answer within {time_limit_s:g} s"
        case _:
            return text


_TRUST = (
    ("has expired", "renew the certificate of the API server"),
    ("not yet valid", "compare the clocks of the hub and the cluster"),
    ("mismatch", "set spec.endpoint to a host name of the certificate"),
)
"""The advice for a certificate error, by a part of OpenSSL's message."""


def _advise_trust(text: str) -> str:
    other = (
        "put the CA certificate into the key ca.crt of the Secret, or set "
        "spec.insecureSkipTLSVerify"
    )
    return next((advice for part, advice in _TRUST if part in text), other)
