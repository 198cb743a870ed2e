"""The AdmissionReview that is sent to a webhook, and its response. Pure."""

import base64
import binascii
from typing import Any

import msgspec

from quarterdeck.meta.field import quote
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.request import build_request, convert_for_review
from quarterdeck.server.admission.webhooks.registration import Webhook
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.wire.status import ApiError
from quarterdeck.wire.webhook_response import MalformedResponse, decode_response

GROUP = "admission.k8s.io"
_LOWEST_REFUSAL = 400


class InvalidResponse(Exception):
    """Raised when a webhook call fails or its response is not a valid AdmissionReview."""


class _Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of a webhook's Status that are used; others are ignored."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None


class _Response(msgspec.Struct, frozen=True, rename="camel"):
    """The `response` of an AdmissionReview; decoding checks its types."""

    uid: str = ""
    allowed: bool = False
    status: _Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: list[str] | None = None
    audit_annotations: dict[str, str] | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a webhook, with its patch, warnings and audit annotations."""

    is_allowed: bool
    status: dict[str, Any] = {}
    patch: bytes = b""
    warnings: tuple[str, ...] = ()
    audit_annotations: dict[str, str] = {}


def build_review(
    webhook: Webhook, attributes: AdmissionAttributes, seen_as: Resource, *, uid: str
) -> Object:
    """Build the AdmissionReview of a write, with the objects in the version the webhook matched."""
    request: Object = {
        "uid": uid,
        **build_request(attributes, seen_as),
        "object": convert_for_review(attributes, attributes.value, seen_as),
        "oldObject": convert_for_review(attributes, attributes.old, seen_as),
    }
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"{GROUP}/{choose_version(webhook)}",
        "request": request,
    }


def choose_version(webhook: Webhook) -> str:
    """Return the first AdmissionReview version of the webhook that this server supports."""
    return next(each for each in webhook.review_versions if each in ("v1", "v1beta1"))


def parse_response(body: bytes, *, uid: str, version: str, is_mutating: bool) -> Verdict:
    """Parse the response of a webhook.

    Raises:
        InvalidResponse: in Kubernetes' words.
    """
    document = _decode(body)
    api_version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if kind != "AdmissionReview":
        raise InvalidResponse(
            f"failed to call webhook: no kind {quote(kind)} is registered for version"
            f' {quote(api_version)} in scheme "pkg/util/webhook/client.go:71"'
        )
    if api_version != f"{GROUP}/{version}":
        found = api_version.rpartition("/")[2]
        raise InvalidResponse(
            f"failed to call webhook: converting ({found}.AdmissionReview) to"
            f" ({version}.AdmissionReview): unknown conversion"
        )
    if document.get("response") is None:
        raise _build_invalid("webhook response was absent")
    try:
        response = msgspec.convert(document["response"], _Response)
    except msgspec.ValidationError as error:
        raise InvalidResponse(f"failed to call webhook: invalid response: {error}") from error
    if response.uid != uid:
        raise _build_invalid(f'expected response.uid="{uid}", got {quote(response.uid)}')
    return Verdict(
        is_allowed=response.allowed,
        status=msgspec.to_builtins(response.status) if response.status is not None else {},
        patch=_parse_patch(response, is_mutating=is_mutating),
        warnings=tuple(response.warnings or ()),
        audit_annotations=response.audit_annotations or {},
    )


def build_status_error(name: str, status: dict[str, Any]) -> ApiError:
    """Build the error for a write that a webhook refused, with its message, reason and code."""
    message, reason = status.get("message") or "", status.get("reason") or ""
    said = f"admission webhook {quote(name)} denied the request"
    text = f"{said}: {message or reason}" if message or reason else f"{said} without explanation"
    code = status.get("code") or 0
    return ApiError(
        text, code=code if code >= _LOWEST_REFUSAL else _LOWEST_REFUSAL, unknown_reason=reason
    )


def _decode(body: bytes) -> Object:
    try:
        return decode_response(body)
    except MalformedResponse as error:
        raise InvalidResponse(f"failed to call webhook: {error}") from error


def _parse_patch(response: _Response, *, is_mutating: bool) -> bytes:
    patch, kind = response.patch, response.patch_type
    if not is_mutating and patch:
        raise _build_invalid("validating webhook may not return response.patch")
    if patch and not kind:
        raise _build_invalid("webhook returned response.patch but not response.patchType")
    if not patch:
        return b""
    if kind != "JSONPatch":
        raise InvalidResponse(f"unsupported patch type {quote(str(kind))}")
    try:
        return base64.b64decode(patch, validate=True)
    except binascii.Error as error:
        raise _build_invalid(f"response.patch is not base64: {error}") from error


def _build_invalid(text: str) -> InvalidResponse:
    return InvalidResponse(f"received invalid webhook response: {text}")
