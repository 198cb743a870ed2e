"""The simulator under the contract suite."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.machines.drivers.simulator import (
    FailureRule,
    FaultKind,
    Simulator,
    SimulatorProvider,
)
from quarterdeck.operators.machines.machine import TemplateRef
from quarterdeck.operators.machines.ports import Hypervisor


class SimulatorRig:
    """A simulated hypervisor on virtual time."""

    node = "sim-1"
    template = TemplateRef(name="simulated")

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.world = Simulator(self.clock)
        self.hypervisor: Hypervisor = SimulatorProvider(self.world)

    def second(self) -> Hypervisor:
        return SimulatorProvider(self.world)

    async def pass_time(self) -> None:
        await self.clock.advance(1.0)

    async def destroy_behind(self, vmid: int) -> None:
        self.world.remove(vmid)

    async def change_behind(
        self, vmid: int, *, name: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        vm = self.world.vms[vmid]
        if name is not None:
            vm.name = name
        if tags is not None:
            vm.tags = tuple(tags)

    async def read_seed(self, vmid: int) -> bytes | None:
        seed = self.world.vms[vmid].seed
        return seed.user_data.encode() if seed is not None else None

    async def forget_tasks(self) -> None:
        self.world.forget_tasks()

    async def lose_answer(self, operation: str) -> None:
        self.world.faults.add(FailureRule(op=operation, kind=FaultKind.LOST_RESPONSE))


@contextlib.asynccontextmanager
async def open_rig() -> AsyncIterator[SimulatorRig]:
    yield SimulatorRig()
