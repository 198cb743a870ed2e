"""Builds the `response` of an AdmissionReview: allowed, denied, or failed."""

import base64
from collections.abc import Sequence
from typing import Any

from quarterdeck.kit import json
from quarterdeck.wire.json_patch import Operation
from quarterdeck.wire.status import ApiError

ResponseBody = dict[str, Any]


def allow(
    uid: str, *, warnings: Sequence[str] = (), patch: Sequence[Operation] = ()
) -> ResponseBody:
    """Allow a write, with changes to the object."""
    response: ResponseBody = {"uid": uid, "allowed": True, "status": {"metadata": {}, "code": 200}}
    if patch:
        document = json.encode([operation.to_json() for operation in patch])
        response["patch"] = base64.b64encode(document).decode()
        response["patchType"] = "JSONPatch"
    if warnings:
        response["warnings"] = list(warnings)
    return response


def deny(uid: str, message: str, *, warnings: Sequence[str] = ()) -> ResponseBody:
    """Deny a write with the message of a handler."""
    status = {"metadata": {}, "message": message, "reason": "Forbidden", "code": 403}
    return _build_refusal(uid, status, warnings)


def deny_with_status(uid: str, error: ApiError, *, warnings: Sequence[str] = ()) -> ResponseBody:
    """Deny a write with the status of an API error."""
    status = error.to_status()
    del status["kind"], status["apiVersion"]
    return _build_refusal(uid, status, warnings)


def fail(uid: str, code: int, message: str) -> ResponseBody:
    """Deny a write, because the request cannot be handled."""
    return _build_refusal(uid, {"metadata": {}, "message": message, "code": code}, ())


def _build_refusal(uid: str, status: dict[str, Any], warnings: Sequence[str]) -> ResponseBody:
    response: ResponseBody = {"uid": uid, "allowed": False, "status": status}
    if warnings:
        response["warnings"] = list(warnings)
    return response
