"""The API server: requests in, stored objects out.

May import `storage`, `cel`, `apis`, `wire`, `meta` and `kit`; never `client`, `runtime` or `app`.
Start at `api.ApiServer.handle`, follow it to `routes`, one of `handlers` and `registry.resource`.
The face is lazy, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quarterdeck.server.api import ApiServer
    from quarterdeck.server.options import ServerOptions

__all__ = ["ApiServer", "ServerOptions"]

_HOMES = {
    "ApiServer": "quarterdeck.server.api",
    "ServerOptions": "quarterdeck.server.options",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if (home := _HOMES.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
