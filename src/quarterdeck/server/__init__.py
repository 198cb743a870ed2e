"""The API server: requests in, stored objects out.

Start at `api.ApiServer.handle`, follow it to `router`, one of `handlers`, `write` and
`registry.resource`. The packages are layers in the order of a request; the import contracts in
`pyproject.toml` list them. The face is lazy, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING

from quarterdeck.kit import lazy

if TYPE_CHECKING:
    from quarterdeck.server.api import ApiServer
    from quarterdeck.server.options import ServerOptions

__all__ = ["ApiServer", "ServerOptions"]

if not TYPE_CHECKING:
    __getattr__ = lazy.attach(__name__, {"api": ("ApiServer",), "options": ("ServerOptions",)})
