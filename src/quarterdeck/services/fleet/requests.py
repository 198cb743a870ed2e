"""Fields of requests, read and refused in one way."""

from collections.abc import Awaitable, Callable
from typing import Any

from quarterdeck.services.fleet.errors import invalid

Message = dict[str, Any]
Call = Callable[[Message], Awaitable[Message]]
"""What answers one RPC."""


def text(request: Message, name: str) -> str:
    """A text that must be there."""
    value = str(request.get(name) or "")
    if not value:
        raise invalid(f"{name} must not be empty")
    return value


def identities(request: Message) -> list[str]:
    """The ids of a bulk request, each once."""
    return list(dict.fromkeys(request.get("ids") or ()))
