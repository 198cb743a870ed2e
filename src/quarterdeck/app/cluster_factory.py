"""Creates clusters on demand as embedded API servers on loopback, for `up` and tests."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self

import msgspec

from quarterdeck.app import embedded
from quarterdeck.client.config.cluster import ClusterConfig, PemSource
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Secret
from quarterdeck.server.options import ServerOptions


class _Running(msgspec.Struct, frozen=True):
    config: ClusterConfig
    stack: contextlib.AsyncExitStack


class EmbeddedClusters:
    """Embedded API servers, each with TLS and its own CA; nothing is kept after they stop.

    Leaving the block stops all of them.
    """

    def __init__(self, *, clock: Clock, options: ServerOptions | None = None) -> None:
        self._clock = clock
        self._options = options or ServerOptions(simulate_workloads=True)
        self._running: dict[str, _Running] = {}
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in list(self._running):
            await self.delete(name)

    @property
    def names(self) -> list[str]:
        """Clusters that run now, sorted."""
        return sorted(self._running)

    async def create(self, name: str) -> ClusterConfig:
        """Start a cluster, or return the running one of that name."""
        async with self._lock:
            if name not in self._running:
                self._running[name] = await self._start(name)
            return self._running[name].config

    async def delete(self, name: str) -> None:
        """Stop the cluster and remove its objects; an absent cluster is not an error."""
        async with self._lock:
            running = self._running.pop(name, None)
        if running is not None:
            await running.stack.aclose()

    async def _start(self, name: str) -> _Running:
        async with contextlib.AsyncExitStack() as stack:
            plan = embedded.Plan(data_dir=None, port=0, options=self._options)
            server = await embedded.start(plan, stack, clock=self._clock)
            return _Running(build_admin_config(name, server), stack.pop_all())


def build_admin_config(name: str, server: embedded.Embedded) -> ClusterConfig:
    """The administrator's client configuration of an embedded server, without file references."""
    files = server.authority
    return ClusterConfig(
        server=server.url,
        name=name,
        certificate_authority=PemSource(data=Secret(files.certificate("authority").read_bytes())),
        client_certificate=PemSource(data=Secret(files.certificate("administrator").read_bytes())),
        client_key=PemSource(data=Secret(files.key("administrator").read_bytes())),
    )
