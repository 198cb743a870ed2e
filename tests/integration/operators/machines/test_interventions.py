"""What people do to machines while the operator works: pause, switch, lock, move and remove."""

from dataclasses import replace

import pytest
from tests.integration.operators.machines.world import (
    MachineClaim,
    World,
    condition,
    open_world,
)

from quarterdeck.apis.hypervisor.names import PAUSED
from quarterdeck.operators.machines.drivers.simulator import SimulatorSettings
from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import Power
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop

SLOW = SimulatorSettings(
    seed=1, nodes=3, boot_s=(20.0, 20.0), latencies={"power_shutdown": (30, 30), "power_on": (9, 9)}
)


def get_vm(world: World, name: str = "m1") -> SimulatedVM:
    return world.lab.vms[world.vms[name].id]


async def wait_for_step(world: World, step: str) -> None:
    async def holds() -> bool:
        status = (await world.get(MachineClaim, "m1")).status
        return status.step == step and status.task_ref is not None

    await world.until(holds)


async def test_paused_claim_waits_until_the_annotation_goes() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(annotations={PAUSED: "true"})
        await world.advance(60)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "Paused").status == "True"
        assert world.vms == {}
        patch = {"metadata": {"annotations": {PAUSED: None}}}
        await world.patch(MachineClaim, "m1", patch)
        claim = await world.phase("Ready")
        assert condition(claim, "Paused").status == "Unknown"


async def test_machine_switched_on_while_it_shuts_down_is_started_again() -> None:
    async with open_world(SLOW) as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "Off"}})
        await wait_for_step(world, "Stop")
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "On"}})
        await world.until(lambda: world.vms["m1"].power is Power.STOPPED)
        await world.until(lambda: world.vms["m1"].power is Power.RUNNING)


async def test_machine_switched_off_while_it_starts_is_shut_down() -> None:
    async with open_world(SLOW) as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "Off"}})
        await world.until(lambda: world.vms["m1"].power is Power.STOPPED)
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "On"}})
        await wait_for_step(world, "Start")
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "Off"}})
        await world.advance(120)
        assert world.vms["m1"].power is Power.STOPPED
        claim = await world.get(MachineClaim, "m1")
        assert (claim.status.phase, condition(claim, "PoweredOn").status) == ("Ready", "False")


@pytest.mark.parametrize(
    ("state", "latest", "reason"),
    [
        pytest.param("Off", Power.STOPPED, "Stopping", id="shutdown"),
        pytest.param("On", Power.RUNNING, "Starting", id="start"),
    ],
)
async def test_task_that_changes_nothing_is_reported_and_tried_again(
    state: str, latest: Power, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_world(SLOW) as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        if state == "On":
            await world.patch(MachineClaim, "m1", {"spec": {"powerState": "Off"}})
            await world.until(lambda: world.vms["m1"].power is Power.STOPPED)
            await world.advance(60)
        with monkeypatch.context() as patched:
            patched.setattr(world.lab, "set_power", lambda *_: None)
            await world.patch(MachineClaim, "m1", {"spec": {"powerState": state}})

            async def is_reported() -> bool:
                return reason in await world.events()

            await world.until(is_reported)
        await world.until(lambda: world.vms["m1"].power is latest)
        assert (await world.get(MachineClaim, "m1")).status.phase == "Ready"


async def test_locked_machine_is_left_alone_until_the_lock_goes() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        vm = get_vm(world)
        vm.lock = "backup"
        world.lab.set_power(vm, Power.STOPPED, 0.0)
        await world.advance(120)
        assert vm.power is Power.STOPPED
        vm.lock = ""
        await world.until(lambda: vm.power is Power.RUNNING)


async def test_machine_that_moved_shows_its_new_node() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        vm = get_vm(world)
        vm.node = next(name for name in world.lab.nodes if name != vm.node)

        async def has_moved() -> bool:
            ref = (await world.get(MachineClaim, "m1")).status.vm_ref
            return ref is not None and ref.node == vm.node

        await world.until(has_moved)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param("remove", "VMMissing", id="removed"),
        pytest.param("rename", "VMNotOwned", id="renamed"),
        pytest.param("stop", "VMStopped", id="stopped"),
    ],
)
async def test_machine_that_is_lost_while_it_boots_fails(change: str, reason: str) -> None:
    async with open_world(SLOW) as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Bootstrapping")
        await world.advance(8)
        vm = get_vm(world)
        match change:
            case "remove":
                world.lab.remove(vm.id)
            case "rename":
                vm.name = "database"
            case _:
                world.lab.set_power(vm, Power.STOPPED, 0.0)
        claim = await world.phase("Failed")
        assert claim.status.failure_reason == reason


async def test_claim_waits_for_a_cluster_that_cannot_be_reached() -> None:
    async def refuse(settings: ProviderSettings) -> Hypervisor:
        raise make_error(Code.UNAVAILABLE, "connection refused")

    async with open_world() as world:
        async with world.operator():
            await world.set_up()
            await world.claim()
            await world.phase("Ready")
        async with world.operator(providers={"mock": refuse}):
            await world.delete(MachineClaim, "m1")

            async def is_reported() -> bool:
                claim = await world.get(MachineClaim, "m1")
                return condition(claim, "VMCleanedUp").reason == "ClusterNotReady"

            await world.until(is_reported)
            message = condition(await world.get(MachineClaim, "m1"), "VMCleanedUp").message
            assert "HypervisorCluster default/lab is not connected" in message
            assert "hyperfleet.io/force-delete removes the claim without its VM" in message
            await world.claim("m2")

            async def waits() -> bool:
                claim = await world.get(MachineClaim, "m2")
                return condition(claim).reason in ("ClusterNotReady", "TemplateInvalid")

            await world.until(waits)
            assert world.ours() == ["m1"]
        async with world.operator():
            await world.gone(MachineClaim, "m1")
            await world.phase("Ready", "m2")
            assert world.ours() == ["m2"]


def restore(world: World, vmid: int) -> SimulatedVM:
    """What a person does who restores a backup of a machine to another id."""
    copy = replace(get_vm(world), id=vmid, uuid=f"restored-{vmid}", power=Power.STOPPED)
    world.lab.vms[vmid] = copy
    return copy


async def test_restored_copy_of_a_machine_is_kept_and_no_longer_managed() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        original = get_vm(world)
        copy = restore(world, 500)
        await world.advance(900)
        assert world.lab.vms[500] is copy
        assert (copy.tags, copy.description) == ((), "")
        assert world.lab.vms[original.id] is original
        assert original.tags
        found = [each for each in await world.events() if "CopyReleased" in each]
        assert len(found) == 1
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        await world.advance(900)
        assert world.lab.vms[500] is copy


async def test_restored_copy_survives_a_restart_and_an_early_deletion_of_its_machine() -> None:
    async with open_world() as world:
        async with world.operator():
            await world.set_up()
            await world.claim()
            await world.phase("Ready")
        copy = restore(world, 500)
        async with world.operator():
            await world.advance(60)
            await world.delete(MachineClaim, "m1")
            await world.gone(MachineClaim, "m1")
            await world.advance(900)
            assert world.lab.vms[500] is copy
