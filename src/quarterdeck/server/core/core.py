"""The parts of one server that all verbs share: store, registry, clock, admission, authorizer."""

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from quarterdeck.kit.clock import Clock
from quarterdeck.server.admission.chain import Admission
from quarterdeck.server.authentication.authenticator import Authenticator
from quarterdeck.server.authentication.service_accounts.tokens import ServiceAccountTokens
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.core.conversion import Conversions
from quarterdeck.server.core.metrics import Metrics
from quarterdeck.server.core.timers import Timers
from quarterdeck.server.core.worker import Worker
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Context, Resource
from quarterdeck.storage import Store
from quarterdeck.wire.frame import EventType

if TYPE_CHECKING:
    from quarterdeck.wire.apply import FieldManager


class Stream(Protocol):
    """A long-running response that can be closed."""

    def close(self) -> None:
        """End the response cleanly."""
        ...


class FrameCache(Protocol):
    """Caches encoded watch events; implemented by `server.response.frames`."""

    def get(self, revision: int, kind: EventType, form: str, *, make: Callable[[], bytes]) -> bytes:
        """Return the cached frame, or encode it with `make`."""
        ...


class WatchBuffers(Protocol):
    """Counts the bytes buffered for all watchers; see `server.response.watch_buffers`."""

    def is_full(self, stream: object, buffered: int) -> bool:
        """Record the buffered bytes of a stream; whether it must drain before the next write."""
        ...

    def forget(self, stream: object) -> None:
        """Drop a stream that ended."""
        ...


class FieldManagers(Protocol):
    """The field managers of all endpoints; implemented by `server.write.field_managers`."""

    def get(self, core: "Core", resource: Resource, subresource: str) -> "FieldManager":
        """Return the field manager of an endpoint."""
        ...


class Core(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of one API server, built once by `ApiServer`."""

    store: Store
    registry: Registry
    options: ServerOptions
    clock: Clock
    random: random.Random
    timers: Timers
    authenticators: Sequence[Authenticator]
    authorizer: Authorizer
    accounts: ServiceAccountTokens
    admission: Admission
    conversions: Conversions
    metrics: Metrics
    field_managers: FieldManagers
    frames: FrameCache
    worker: Worker
    watch_buffers: WatchBuffers
    streams: set[Stream]
    """The open watches, so that they can be ended cleanly."""

    def build_context(
        self, user: str, namespace: str, subresource: str = "", *, is_quick: bool = False
    ) -> Context:
        """Build the context of a write for a strategy."""
        return Context(
            now=self.clock.now(),
            random=self.random,
            user=user,
            namespace=namespace,
            subresource=subresource,
            is_quick=is_quick,
        )
