"""A hypervisor that exists only in memory: seeded, on any clock, with failures on demand.

`world` holds nodes, VMs and tasks; `faults` decides which `calls` fail; `journal` records them;
`provider` is the Hypervisor that the operator uses; `controls` are changes that others make.
Several operators may share one world.
"""

from quarterdeck.operators.machines.drivers.simulator.faults import FailureRule, FaultKind
from quarterdeck.operators.machines.drivers.simulator.provider import SimulatorProvider
from quarterdeck.operators.machines.drivers.simulator.settings import SimulatorSettings
from quarterdeck.operators.machines.drivers.simulator.simulators import Simulators, open_provider
from quarterdeck.operators.machines.drivers.simulator.world import Simulator

__all__ = [
    "FailureRule",
    "FaultKind",
    "Simulator",
    "SimulatorProvider",
    "SimulatorSettings",
    "Simulators",
    "open_provider",
]
