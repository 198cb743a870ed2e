"""Failures in both tongues: a Kubernetes Status, with the `error` member curl users look at."""

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
    """A JSON answer."""
    return Response(status, JSON, json.encode(document))


def failure(error: ApiError, *, text: str = "") -> Response:
    """A failure; `text` is the `error` member, by default a short one for its kind."""
    document = error.to_status()
    document["error"] = text or _summarize(error)
    status = error.code
    if isinstance(error, Invalid):
        status = document["code"] = 400
        document["fields"] = _fields(error)
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


def _fields(error: Invalid) -> list[dict[str, Any]]:
    causes = error.details.causes if error.details is not None else ()
    return [{"field": cause.field, "message": cause.message} for cause in causes]


def invalid_json(why: str) -> Response:
    """A body that is no JSON object."""
    return failure(BadRequest(f"the body is not a JSON object: {why}"), text="Invalid JSON")


def too_large(limit: int) -> Response:
    """A body over the limit."""
    return failure(RequestEntityTooLarge(f"the body is larger than {limit} bytes"))


def not_allowed(*methods: str) -> Response:
    """A method that a path does not have; it is answered, never left hanging."""
    allowed = ", ".join(methods)
    response = failure(MethodNotAllowed(f"this path allows {allowed}"), text="Method not allowed")
    return Response(response.status, [*response.headers, ("allow", allowed)], response.body)
