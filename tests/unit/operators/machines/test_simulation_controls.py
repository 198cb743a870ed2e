"""Actions of the simulator: each once, also after a restart."""

from typing import Any, cast

import pytest

from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.drivers.simulator.controls import (
    InvalidControl,
    parse_actions,
    parse_rules,
    parse_settings,
)
from quarterdeck.operators.machines.drivers.simulator.persistence import dump, load
from quarterdeck.operators.machines.drivers.simulator.settings import SimulatorSettings
from quarterdeck.operators.machines.machine import Power, VMSpec
from quarterdeck.operators.machines.records import ConfigRecord
from quarterdeck.operators.machines.simulation import DEFAULT_ENDPOINT, Controls
from quarterdeck.runtime import Context

SETTINGS = SimulatorSettings()
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
    assert told == ["InvalidControl: VM 'nobody' not found; available: none"]
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


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param([], "must be a map with boot_s, latencies, scale only", id="a list"),
        pytest.param({"nodes": 5}, "must be a map with boot_s", id="another setting"),
        pytest.param({"scale": -1}, "scale: -1.0 must be at least 0", id="scale"),
        pytest.param({"boot_s": [5, 1]}, "boot_s: 5.0-1.0 must be a range", id="reversed range"),
        pytest.param(
            {"latencies": {"clone_vm": [-1, 1]}}, "clone_vm: -1.0-1.0 must be", id="negative"
        ),
        pytest.param({"latencies": 5}, "latencies must be a map", id="latencies"),
        pytest.param({"latencies": {"clone_vm": "x"}}, "Expected `array`", id="not a range"),
    ],
)
def test_wrong_timing_is_refused(document: object, message: str) -> None:
    with pytest.raises(InvalidControl, match=message):
        parse_settings(document, SETTINGS)


def test_timing_changes_only_what_it_names() -> None:
    changed = parse_settings({"latencies": {"clone_vm": [0, 1]}, "scale": 2}, SETTINGS)
    assert changed.latencies == {**SETTINGS.latencies, "clone_vm": (0.0, 1.0)}
    assert (changed.scale, changed.boot_s) == (2.0, SETTINGS.boot_s)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param([{"id": "1", "action": "explode"}], "unknown value 'explode'", id="action"),
        pytest.param([{"id": "1", "action": "rename"}], r"actions\[0\].value is empty", id="name"),
        pytest.param(["power-off"], "Expected `object`", id="text"),
    ],
)
def test_wrong_actions_are_refused(document: object, message: str) -> None:
    with pytest.raises(InvalidControl, match=message):
        parse_actions(document)


def test_wrong_rules_are_refused() -> None:
    with pytest.raises(InvalidControl, match=r"rules\[1\].op: unknown value 'fly'"):
        parse_rules([{"op": "clone_vm"}, {"op": "fly"}])
    with pytest.raises(InvalidControl, match="Expected `object`"):
        parse_rules([5])
    assert parse_rules(None) == ()


async def test_actions_change_vms_by_name_or_id() -> None:
    simulators = Simulators(VirtualClock())
    world = simulators.get(DEFAULT_ENDPOINT)
    vm = world.make_vm(100, VMSpec("web", 1, 1024, 1024), node="sim-1", description="")
    world.set_power(vm, Power.RUNNING, 0.0)
    told = await control(
        simulators,
        "{id: a1, action: rename, vm: web, value: api}",
        "{id: a2, action: retag, vm: api, value: 'blue,,green'}",
        "{id: a3, action: power-off, vm: '100'}",
        "{id: a4, action: partition}",
        "{id: a5, action: rotate-credentials, value: other}",
        "{id: a6, action: forget-tasks}",
    )
    assert told == []
    assert (vm.name, vm.tags, vm.power) == ("api", ("blue", "green"), Power.STOPPED)
    assert (world.is_partitioned, world.token) == (True, "other")
    told = await control(simulators, "{id: b1, action: heal}", "{id: b2, action: delete, vm: api}")
    assert told == []
    assert not world.is_partitioned
    assert 100 not in world.vms


async def test_nodes_that_run_are_not_revived() -> None:
    simulators = Simulators(VirtualClock())
    world = simulators.get(DEFAULT_ENDPOINT)
    vm = world.make_vm(100, VMSpec("web", 1, 1024, 1024), node="sim-1", description="")
    world.set_power(vm, Power.RUNNING, 0.0)
    assert await control(simulators, REVIVE) == []
    assert vm.power is Power.RUNNING
    told = await control(simulators, "{id: a9, action: kill-node, node: sim-9}")
    assert told == ["InvalidControl: node 'sim-9' not found; available: sim-1, sim-2, sim-3"]
