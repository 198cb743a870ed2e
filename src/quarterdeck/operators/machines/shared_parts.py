"""The parts of the operator that its controllers share."""

import random
from collections.abc import Mapping
from pathlib import Path

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.connections import Connections
from quarterdeck.operators.machines.expected_machines import ExpectedMachines
from quarterdeck.operators.machines.features import Features
from quarterdeck.operators.machines.invitation import Inviter
from quarterdeck.operators.machines.metrics import MachineMetrics
from quarterdeck.operators.machines.ports import OpenProvider
from quarterdeck.operators.machines.providers import Providers


class Machines:
    """The parts of the operator that its controllers share."""

    def __init__(
        self,
        *,
        operator_uid: str,
        clock: Clock,
        providers: Mapping[str, OpenProvider] | None = None,
        metrics: MachineMetrics | None = None,
        rng: random.Random | None = None,
        folder: Path | None = None,
        config_namespace: str = "",
    ) -> None:
        self.operator_uid = operator_uid
        self.clock = clock
        self.metrics = metrics if metrics is not None else MachineMetrics()
        self.random = rng if rng is not None else random.Random()
        self.expected_machines = ExpectedMachines()
        self.features = Features(namespace=config_namespace)
        self.inviter: Inviter | None = None
        """The bootstrap service; without one, machines that must attest wait."""
        self.connections = Connections(
            providers=Providers(providers), clock=clock, metrics=self.metrics, folder=folder
        )
