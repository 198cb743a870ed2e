"""Controls of the simulator by ConfigMap."""

import pytest
from tests.integration.operators.machines.world import ENDPOINT, MachineClaim, World, open_world

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines import simulation

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


async def control(world: World, **data: str) -> None:
    labels = {"hyperfleet.io/config": "simulator"}
    metadata = ObjectMeta(name="controls", namespace="default", labels=labels)
    await world.client.create(ConfigMap(metadata=metadata, data={"endpoint": ENDPOINT, **data}))


async def test_rules_timing_and_actions_take_effect_once() -> None:
    async with open_world() as world, world.operator() as manager:
        manager.add(simulation.controller(world.simulators))
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await control(
            world,
            rules="[{op: clone_vm, kind: partial, times: 2}]",
            timing="{scale: 0.5, boot_s: [1, 1]}",
            actions="[{id: a1, action: power-off, vm: m1}]",
        )
        await world.until(lambda: len(world.lab.faults.rules) == 1)
        assert world.lab.settings.scale == 0.5
        await world.until(lambda: _is_stopped(world), within_s=90.0)
        await world.until(lambda: bool(world.vms["m1"].ips), within_s=120.0)


async def _is_stopped(world: World) -> bool:
    claim = await world.get(MachineClaim, "m1")
    return "VMStopped" in [each.reason for each in claim.status.conditions]


async def test_control_that_makes_no_sense_is_reported() -> None:
    async with open_world() as world, world.operator() as manager:
        manager.add(simulation.controller(world.simulators))
        await control(world, actions="[{id: a1, action: dance}]")

        async def reported() -> bool:
            return "BadControl" in await world.events()

        await world.until(reported)
