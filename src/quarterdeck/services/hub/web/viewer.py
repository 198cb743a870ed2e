"""Viewers of the dashboard, and connections to the Kubernetes API with their identity."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import msgspec

from quarterdeck.client.config.cluster import ClusterConfig, Impersonation, PemSource
from quarterdeck.client.transport import Transport
from quarterdeck.inventory.access.principal import SERVICE_ACCOUNT, SYSTEM_PREFIX
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.wire.status import Forbidden

MAX_TRANSPORTS = 256
IsValid = Callable[[], Awaitable[bool]]
"""Returns whether the viewer of a stream is still logged in; called during the stream."""


class Viewer(msgspec.Struct, frozen=True, kw_only=True):
    """A user whose identity was verified."""

    identifier: str
    """Key of the viewer in caches: derived from the session, or from the proxy's user."""
    csrf: str
    token: Secret[str] | None = None
    """The token for the hub API; None for users from a trusted proxy. Without `user` it is the
    viewer's own token, which the API server accepts, too."""
    user: str = ""
    """The name that a trusted proxy or an issuer gave; used with `groups` to impersonate."""
    groups: tuple[str, ...] = ()


class Transports:
    """Connections to the API server, one pool for each of the most recent viewers."""

    def __init__(self, config: ClusterConfig, *, clock: Clock) -> None:
        """`config` has the credentials of this process, used only to impersonate viewers."""
        self._config = config
        self._clock = clock
        self._open: OrderedDict[str, Transport] = OrderedDict()

    async def get(self, viewer: Viewer) -> Transport:
        """The connections of a viewer; beyond the limit, those used longest ago are closed."""
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
    """Build the configuration of the same server with the identity of a viewer only.

    Raises:
        Forbidden: if it would be an identity of Kubernetes itself.
    """
    if viewer.user or viewer.token is None:
        return msgspec.structs.replace(config, impersonate=_impersonate(viewer))
    return msgspec.structs.replace(
        config,
        client_certificate=PemSource(),
        client_key=PemSource(),
        token=viewer.token,
        token_file=None,
        username="",
        password=None,
        exec=None,
        impersonate=Impersonation(),
    )


def _impersonate(viewer: Viewer) -> Impersonation:
    """The impersonation of a viewer, without system groups, which the API server adds itself."""
    is_system = viewer.user.startswith(SYSTEM_PREFIX)
    if not viewer.user or (is_system and not viewer.user.startswith(SERVICE_ACCOUNT)):
        shown = repr(viewer.user) if viewer.user else "a viewer without a name"
        raise Forbidden(f"the hub cannot impersonate {shown}; log in as a user")
    groups = tuple(each for each in viewer.groups if not each.startswith(SYSTEM_PREFIX))
    return Impersonation(user=viewer.user, groups=groups)
