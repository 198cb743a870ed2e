"""Who looks at the page, and how the Kubernetes API is asked in their name."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from quarterdeck.client.config.cluster import ClusterConfig, Impersonation, Material
from quarterdeck.client.transport import Transport
from quarterdeck.inventory.access.principal import SERVICE_ACCOUNT, SYSTEM_PREFIX
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.wire.status import Forbidden

MAX_TRANSPORTS = 256
IsValid = Callable[[], Awaitable[bool]]
"""Whether the viewer of a stream is still logged in; asked while the stream goes on."""


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whose identity was verified."""

    identifier: str
    """Names the viewer in caches: of the session, or of the user that a proxy names."""
    csrf: str
    token: Secret[str] | None = None
    """What the hub API knows them by; None for users whom a trusted proxy names. Without `user` it
    is their own token, and the API server knows it too."""
    user: str = ""
    """The name that a trusted proxy or an issuer gave; used with `groups` to impersonate."""
    groups: tuple[str, ...] = ()


class Transports:
    """Connections to the API server, one pool for each viewer, the most recent ones."""

    def __init__(self, config: ClusterConfig, *, clock: Clock) -> None:
        """`config` has the rights of this process: they are used to impersonate, never as such."""
        self._config = config
        self._clock = clock
        self._open: OrderedDict[str, Transport] = OrderedDict()

    async def get(self, viewer: Viewer) -> Transport:
        """The connections of a viewer; those used longest ago are closed."""
        found = self._open.get(viewer.identifier)
        if found is None:
            found = Transport(build_config(self._config, viewer), clock=self._clock)
            self._open[viewer.identifier] = found
        self._open.move_to_end(viewer.identifier)
        if len(self._open) > MAX_TRANSPORTS:
            _, oldest = self._open.popitem(last=False)
            await oldest.aclose()
        return found

    async def drop(self, viewer: Viewer) -> None:
        """Close the connections of a viewer."""
        found = self._open.pop(viewer.identifier, None)
        if found is not None:
            await found.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        while self._open:
            _, transport = self._open.popitem()
            await transport.aclose()


def build_config(config: ClusterConfig, viewer: Viewer) -> ClusterConfig:
    """The same server with the identity of a viewer, and with nobody else's.

    Raises:
        Forbidden: if it would be an identity of Kubernetes itself.
    """
    if viewer.user or viewer.token is None:
        return msgspec.structs.replace(config, impersonate=_impersonate(viewer))
    return msgspec.structs.replace(
        config,
        client_certificate=Material(),
        client_key=Material(),
        token=viewer.token,
        token_file=None,
        username="",
        password=None,
        exec=None,
        impersonate=Impersonation(),
    )


def _impersonate(viewer: Viewer) -> Impersonation:
    """The headers that act as a viewer; the API server adds groups of the system by itself."""
    is_system = viewer.user.startswith(SYSTEM_PREFIX)
    if not viewer.user or (is_system and not viewer.user.startswith(SERVICE_ACCOUNT)):
        shown = repr(viewer.user) if viewer.user else "a viewer without a name"
        raise Forbidden(f"the hub cannot impersonate {shown}; log in as a user")
    groups = tuple(each for each in viewer.groups if not each.startswith(SYSTEM_PREFIX))
    return Impersonation(user=viewer.user, groups=groups)
