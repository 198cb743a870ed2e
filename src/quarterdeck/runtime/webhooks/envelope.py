"""AdmissionReview on the wire: bytes to a request, a response to bytes.

`v1` and `v1beta1` differ only in their name; a response has the version of its request.
"""

from typing import NamedTuple

import msgspec

from quarterdeck.apis.admission import AdmissionRequest
from quarterdeck.kit import json
from quarterdeck.runtime.webhooks.responses import ResponseBody

MAX_BYTES = 7 * 1024 * 1024
"""Room for two objects of etcd's maximum size, and for the rest of the review."""
_LATEST = "admission.k8s.io/v1"
_VERSIONS = (_LATEST, "admission.k8s.io/v1beta1")
_KIND = "AdmissionReview"


class MalformedReviewError(ValueError):
    """Raised when a body is not an AdmissionReview; the message names the problem."""


class DecodedReview(NamedTuple):
    """A request, and the version of its AdmissionReview."""

    request: AdmissionRequest
    version: str


class _Envelope(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


_DECODER = msgspec.json.Decoder(_Envelope)


def decode(body: bytes) -> DecodedReview:
    """Decode an AdmissionReview.

    Raises:
        MalformedReviewError: if the body is not one.
    """
    if not body:
        raise MalformedReviewError("request body is empty")
    try:
        review = _DECODER.decode(body)
    except json.UNREADABLE as error:
        raise MalformedReviewError(f"not an AdmissionReview: {error}") from error
    if review.kind != _KIND or review.api_version not in _VERSIONS:
        raise MalformedReviewError(
            f"expected apiVersion {' or '.join(_VERSIONS)}, kind {_KIND};"
            f" got apiVersion {review.api_version!r}, kind {review.kind!r}"
        )
    if review.request is None:
        raise MalformedReviewError("request: Required value")
    return DecodedReview(review.request, review.api_version)


def encode(response: ResponseBody, version: str = _LATEST) -> bytes:
    """Encode a response."""
    return json.encode({"kind": _KIND, "apiVersion": version, "response": response})
