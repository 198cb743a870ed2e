"""Actions of the simulator: each once, also after a restart."""

from typing import Any, cast

from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.drivers.simulator.persistence import dump, load
from quarterdeck.operators.machines.records import ConfigRecord
from quarterdeck.operators.machines.simulation import DEFAULT_ENDPOINT, Controls
from quarterdeck.runtime import Context

KILL = "{id: a1, action: kill-node, node: sim-1}"
WRONG = "{id: a2, action: power-off, vm: nobody}"
REVIVE = "{id: a3, action: revive-node, node: sim-1}"


class Told:
    """What a reconcile says."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.log = self

    def event(self, reason: str, message: str, **_: object) -> None:
        self.events.append(f"{reason}: {message}")

    def info(self, message: str, **_: object) -> None:
        """Done."""


async def control(simulators: Simulators, *actions: str) -> list[str]:
    labels = {"hyperfleet.io/config": "simulator"}
    metadata = ObjectMeta(name="controls", namespace="default", labels=labels)
    record = ConfigRecord(metadata=metadata, data={"actions": f"[{', '.join(actions)}]"})
    told = Told()
    await Controls(simulators).reconcile(record, cast("Context[Any]", told))
    return told.events


async def test_action_that_fails_is_reported_once_and_holds_up_no_other() -> None:
    simulators = Simulators(VirtualClock())
    node = simulators.get(DEFAULT_ENDPOINT).nodes["sim-1"]
    told = await control(simulators, KILL, WRONG)
    assert told == ["BadControl: VM 'nobody' not found; available: none"]
    assert not node.is_online
    assert await control(simulators, KILL, WRONG, REVIVE) == []
    assert node.is_online


async def test_restart_repeats_no_action() -> None:
    simulators = Simulators(VirtualClock())
    await control(simulators, KILL, REVIVE)
    world = simulators.get(DEFAULT_ENDPOINT)
    world.nodes["sim-1"].is_online = True
    restarted = Simulators(VirtualClock())
    load(restarted.get(DEFAULT_ENDPOINT), dump(world))
    await control(restarted, KILL)  # the newest was removed by hand
    assert restarted.get(DEFAULT_ENDPOINT).nodes["sim-1"].is_online
    assert restarted.get(DEFAULT_ENDPOINT).performed == {"default/controls a1"}
