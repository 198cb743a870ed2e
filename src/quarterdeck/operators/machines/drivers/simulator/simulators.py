"""Simulated hypervisors by endpoint, and how the operator opens one."""

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.simulator.provider import SimulatorProvider
from quarterdeck.operators.machines.drivers.simulator.settings import SimulatorSettings
from quarterdeck.operators.machines.drivers.simulator.world import Simulator
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings


class Simulators:
    """Simulated hypervisors by endpoint: whoever names the same endpoint shares one."""

    def __init__(self, clock: Clock, settings: SimulatorSettings | None = None) -> None:
        self._clock = clock
        self._settings = settings
        self.worlds: dict[str, Simulator] = {}

    def get(self, endpoint: str) -> Simulator:
        """The hypervisor at an endpoint, made at first use."""
        if endpoint not in self.worlds:
            self.worlds[endpoint] = Simulator(self._clock, self._settings)
        return self.worlds[endpoint]

    async def open(self, settings: ProviderSettings) -> Hypervisor:
        """An `OpenProvider`."""
        token = settings.access.token_secret.reveal() or settings.access.password.reveal()
        return SimulatorProvider(self.get(settings.endpoint), token=token)


async def open_provider(settings: ProviderSettings) -> Hypervisor:
    """A simulated hypervisor of its own, for `provider: mock` where nobody shares one."""
    return await Simulators(settings.clock).open(settings)
