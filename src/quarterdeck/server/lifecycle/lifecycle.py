"""The life cycle of one server: which controllers it has."""

from collections.abc import Iterator

from quarterdeck.server.core import Core
from quarterdeck.server.lifecycle.collector import Collector
from quarterdeck.server.lifecycle.controller import Controller
from quarterdeck.server.lifecycle.endpoints import ServiceEndpoints
from quarterdeck.server.lifecycle.engine import Engine
from quarterdeck.server.lifecycle.expiry import EventExpiry
from quarterdeck.server.lifecycle.namespace_contents import NamespaceContents
from quarterdeck.server.lifecycle.namespaces import NamespaceTermination
from quarterdeck.server.lifecycle.pod_end import PodEnd
from quarterdeck.server.lifecycle.protection import VolumeProtection
from quarterdeck.server.lifecycle.roles import RoleAggregation


class Lifecycle:
    """What the server does by itself, while `run` runs."""

    def __init__(self, core: Core) -> None:
        self.engine = Engine(core, tuple(_controllers(core)))

    async def run(self) -> None:
        """Follow the store until cancelled."""
        await self.engine.run()

    async def settled(self) -> None:
        """Wait until there is nothing to do but to wait for time to pass."""
        await self.engine.settled()


def _controllers(core: Core) -> Iterator[Controller]:
    yield NamespaceContents(core.options.certificate_authority)
    yield NamespaceTermination()
    yield Collector()
    yield RoleAggregation()
    yield EventExpiry(core.clock)
    yield ServiceEndpoints()
    yield VolumeProtection()
    if not core.options.simulate_workloads:
        yield PodEnd()
        return
    from quarterdeck.server.lifecycle.workloads import simulated

    yield from simulated(core.options.simulated_nodes)
