"""A request to a resource, as handlers get it."""

import msgspec

from quarterdeck.kit import http
from quarterdeck.server.authentication.user import User
from quarterdeck.server.registry.resource import Resource
from quarterdeck.server.request.negotiation import Choice
from quarterdeck.storage import StoreKey
from quarterdeck.wire.path import ResourcePath


class Call(msgspec.Struct, kw_only=True, eq=False):
    """A routed, authenticated and authorized request; `warnings` become headers of the answer."""

    request: http.Request
    verb: str
    path: ResourcePath
    resource: Resource
    user: User
    choice: Choice
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}
    body: bytes | None = None
    """The body once it was read; kept because a handler may run again after a conversion."""

    @property
    def key(self) -> StoreKey:
        """The key of the object in the store."""
        return StoreKey(self.resource.stored_name, self.path.namespace, self.path.name)

    @property
    def manager(self) -> str:
        """The default field manager: the user agent up to the slash."""
        agent = self.request.headers.find("user-agent") or "unknown"
        return agent.partition("/")[0][:128] or "unknown"

    def warn(self, text: str) -> None:
        """Add a warning to the answer, once."""
        if text not in self.warnings:
            self.warnings.append(text)
