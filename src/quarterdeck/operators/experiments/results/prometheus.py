"""Parses responses of Prometheus' HTTP API. Pure."""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from quarterdeck.kit import json, rfc3339
from quarterdeck.operators.experiments.results.document import Point


class QueryError(ValueError):
    """Raised when the store refuses a query, or answers with something else than results."""


def parse(body: bytes) -> list[Point]:
    """The finite points of a vector, matrix or scalar.

    Raises:
        QueryError: with the message of the store.
    """
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
    except json.UNREADABLE as error:
        raise QueryError(f"the answer is not JSON: {error}") from error
    if answer.get("status") != "success":
        kind = answer.get("errorType") or "error"
        raise QueryError(f"{kind}: {answer.get('error') or 'no explanation'}")
    data = answer.get("data")
    if not isinstance(data, dict):
        raise QueryError("the answer has no data")
    try:
        return [point for point in _parse_points(data) if math.isfinite(point.value)]
    except (KeyError, TypeError, ValueError) as error:
        raise QueryError(f"the answer cannot be read: {error!r}") from error


def _parse_points(data: Mapping[str, Any]) -> Iterator[Point]:
    result = data["result"]
    match data["resultType"]:
        case "vector":
            for series in result:
                yield _parse_point(series["value"], series["metric"])
        case "matrix":
            for series in result:
                for pair in series["values"]:
                    yield _parse_point(pair, series["metric"])
        case "scalar":
            yield _parse_point(result, {})
        case other:
            raise ValueError(f"results of type {other}")


def _parse_point(pair: tuple[float, str], labels: Mapping[str, str]) -> Point:
    moment = datetime.fromtimestamp(float(pair[0]), tz=UTC)
    return Point(value=float(pair[1]), timestamp=rfc3339.format_time(moment), labels=dict(labels))
