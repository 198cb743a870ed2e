"""Simulated hypervisors by endpoint, and how the operator opens one."""

from pathlib import Path

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.simulator.calls import Save
from quarterdeck.operators.machines.drivers.simulator.consoles import Consoles
from quarterdeck.operators.machines.drivers.simulator.provider import SimulatorProvider
from quarterdeck.operators.machines.drivers.simulator.settings import SimulatorSettings
from quarterdeck.operators.machines.drivers.simulator.world import Simulator
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings


class Simulators:
    """Simulated hypervisors by endpoint; clusters with the same endpoint share one."""

    def __init__(
        self,
        clock: Clock,
        settings: SimulatorSettings | None = None,
        *,
        folder: Path | None = None,
    ) -> None:
        """`folder` is where consoles are written; None writes none."""
        self._clock = clock
        self._settings = settings
        self._folder = folder
        self.worlds: dict[str, Simulator] = {}
        self.save: Save | None = None
        """Saves all changes before a call returns; None keeps nothing."""

    def get(self, endpoint: str) -> Simulator:
        """The hypervisor at an endpoint, created at first use."""
        if endpoint not in self.worlds:
            world = self.worlds[endpoint] = Simulator(self._clock, self._settings)
            if self._folder is not None:
                world.consoles = Consoles(self._folder, endpoint)
        return self.worlds[endpoint]

    async def open(self, settings: ProviderSettings) -> Hypervisor:
        """Open the provider of an endpoint; implements `OpenProvider`."""
        token = settings.access.token_secret.reveal() or settings.access.password.reveal()
        return SimulatorProvider(self.get(settings.endpoint), token=token, save=self.save)


async def open_provider(settings: ProviderSettings) -> Hypervisor:
    """Open a new simulated hypervisor for `provider: mock`, which is not shared."""
    return await Simulators(settings.clock).open(settings)
