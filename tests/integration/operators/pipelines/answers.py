"""Answers of a fleet server that are not true."""

from collections.abc import Callable
from typing import Any

from quarterdeck.kit import http, json

Change = Callable[[dict[str, Any]], None]


def falsify(operation: str, change: Change) -> Any:
    """A fault that changes the answers of one operation."""

    async def fault(request: Any, proceed: Any) -> Any:
        answer = await proceed()
        if not request.path.endswith(f"/{operation}"):
            return answer
        message = json.decode(answer.body)
        change(message)
        return http.Response(200, [("Content-Type", "application/json")], json.encode(message))

    return fault
