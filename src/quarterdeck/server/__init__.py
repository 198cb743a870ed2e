"""The API server: requests in, stored objects out.

May import `storage`, `cel`, `apis`, `wire`, `meta` and `kit`; never `client`, `runtime` or `app`.
Start at `api.ApiServer.handle`, follow it to `routes`, one of `handlers` and `registry.resource`.
The face is lazy, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.server.api import ApiServer
    from quarterdeck.server.options import ServerOptions

__all__ = ["ApiServer", "ServerOptions"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, {"api": ("ApiServer",), "options": ("ServerOptions",)})
