"""Reads and validates common fields of requests."""

from collections.abc import Awaitable, Callable
from typing import Any

from quarterdeck.services.fleet.errors import invalid

Message = dict[str, Any]
Call = Callable[[Message], Awaitable[Message]]
"""The handler of one RPC."""


def get_text(request: Message, name: str) -> str:
    """A required text field."""
    value = str(request.get(name) or "")
    if not value:
        raise invalid(f"{name} must not be empty")
    return value


def list_identities(request: Message) -> list[str]:
    """The ids of a bulk request, each once."""
    return list(dict.fromkeys(request.get("ids") or ()))
