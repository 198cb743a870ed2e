"""Decodes requests with a size limit, and encodes answers and errors."""

import base64
from typing import Any, TypeVar

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from quarterdeck.kit import base64url, http, json
from quarterdeck.services.bootstrap import errors
from quarterdeck.services.bootstrap.errors import CallError
from quarterdeck.services.bootstrap.refusal import RefusalReason, Refused

MAX_BODY = 64 * 1024
ATTEST = "/v1/attest/"
Message = TypeVar("Message", bound=msgspec.Struct)


async def read_message(request: http.Request, kind: type[Message]) -> Message:
    """Decode the body; the error names what is invalid, which is no secret."""
    body = await request.read(MAX_BODY)
    try:
        return msgspec.json.decode(body, type=kind)
    except json.UNREADABLE as error:
        text = f"the body is not a valid request: {error}"
        raise CallError(400, "invalid_request", text) from error


def respond(status: int, message: Any) -> http.Response:
    """Build a JSON response that no proxy caches."""
    headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]
    return http.Response(status, headers, json.encode(message))


def hide_reason(refused: Refused, endpoint: str) -> CallError:
    """Build the error for the caller, which tells whether to retry but not the reason."""
    match refused.reason:
        case RefusalReason.LIMITED:
            return CallError(*errors.LIMITED)
        case RefusalReason.WRONG_IDENTITY:
            return CallError(*errors.UNAUTHENTICATED)
        case _ if not endpoint.startswith(ATTEST):
            return CallError(*errors.FORBIDDEN)
        case _:
            return CallError(*errors.ATTESTATION_FAILED)


def describe_root(certificate: x509.Certificate) -> dict[str, object]:
    """A root as an entry of a SPIFFE bundle."""
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    numbers = key.public_numbers()
    x, y = (base64url.encode(each.to_bytes(32, "big")) for each in (numbers.x, numbers.y))
    encoded = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()
    return {"use": "x509-svid", "kty": "EC", "crv": "P-256", "x": x, "y": y, "x5c": [encoded]}
