"""Error responses: a Kubernetes Status with an additional `error` member for users of curl."""

from typing import Any

from quarterdeck.kit import json
from quarterdeck.kit.http import Response
from quarterdeck.wire.status import (
    ApiError,
    BadRequest,
    Invalid,
    MethodNotAllowed,
    NotFound,
    RequestEntityTooLarge,
)

JSON = [("content-type", "application/json")]


def answer(document: object, status: int = 200) -> Response:
    """Build a JSON response."""
    return Response(status, JSON, json.encode(document))


def build_failure(error: ApiError, *, text: str = "") -> Response:
    """Build an error response; `text` is the `error` member, by default a short summary."""
    document = error.to_status()
    document["error"] = text or _summarize(error)
    status = error.code
    if isinstance(error, Invalid):
        status = document["code"] = 400
        document["fields"] = _list_fields(error)
    headers = list(JSON)
    if error.retry_after_s:
        headers.append(("retry-after", str(error.retry_after_s)))
    return Response(status, headers, json.encode(document))


def _summarize(error: ApiError) -> str:
    match error:
        case NotFound():
            return "Resource not found"
        case Invalid():
            return "Validation failed"
        case _:
            return error.message


def _list_fields(error: Invalid) -> list[dict[str, Any]]:
    causes = error.details.causes if error.details is not None else ()
    return [{"field": cause.field, "message": cause.message} for cause in causes]


def build_invalid_json(why: str) -> Response:
    """Build the error for a body that is not a JSON object."""
    return build_failure(BadRequest(f"the body is not a JSON object: {why}"), text="Invalid JSON")


def build_too_large(limit: int) -> Response:
    """Build the error for a body over the limit."""
    return build_failure(RequestEntityTooLarge(f"the body is larger than {limit} bytes"))


def build_not_allowed(*methods: str) -> Response:
    """Build the error for a method that a path does not allow."""
    allowed = ", ".join(methods)
    response = build_failure(
        MethodNotAllowed(f"this path allows {allowed}"), text="Method not allowed"
    )
    return Response(response.status, [*response.headers, ("allow", allowed)], response.body)
