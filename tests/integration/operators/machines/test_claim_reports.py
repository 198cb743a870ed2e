"""What a claim shows when its hypervisor fails in the middle of something."""

import pytest
from tests.integration.operators.machines.world import (
    HypervisorMachineTemplate,
    MachineClaim,
    World,
    condition,
    open_world,
)

from quarterdeck.meta.identity import GVR
from quarterdeck.operators.machines.drivers.simulator import FailureRule, FaultKind
from quarterdeck.operators.machines.errors import Code
from quarterdeck.operators.machines.machine import Power
from quarterdeck.operators.machines.plan.claim import MOST_ATTEMPTS

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


async def _has_reason(world: World, type_: str, reason: str) -> bool:
    found = (await world.get(MachineClaim, "m1")).status.conditions
    return any(each.type == type_ and each.reason == reason for each in found)


async def test_failure_stands_in_ready_until_it_is_over() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(FailureRule(op="configure_vm", code=Code.LOCKED, times=4))
        await world.claim()
        await world.until(lambda: _has_reason(world, "Ready", "CallFailed"))
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "Provisioning").message == condition(claim).message
        assert "configure_vm" in condition(claim).message
        claim = await world.phase("Ready", within_s=300.0)
        assert condition(claim).reason == "MachineReady"


async def test_failure_while_booting_is_forgotten_by_a_machine_that_is_ready() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Bootstrapping")
        world.lab.faults.add(FailureRule(op="list_vms", code=Code.CONFLICT, times=2))
        claim = await world.phase("Ready")
        assert condition(claim, "Provisioning").reason == "Provisioned"


async def test_a_missing_template_is_one_event_until_it_is_there() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(templateRef={"name": "later"})
        await world.until(lambda: _has_reason(world, "TemplateResolved", "TemplateNotFound"))
        await world.advance(100)  # it is looked for again every half minute
        listed = await world.client.resource(GVR("", "v1", "events")).list("default")
        (event,) = [each for each in listed if each["reason"] == "TemplateNotFound"]
        assert (event["type"], event["count"]) == ("Warning", 1)
        assert event["message"] == "HypervisorMachineTemplate default/later not found"
        assert event["involvedObject"]["name"] == "m1"
        await world.create_template("later")
        await world.phase("Ready")


async def test_refused_credentials_say_what_to_check() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(FailureRule(op="configure_vm", code=Code.UNAUTHORIZED))
        await world.claim()
        await world.until(lambda: _has_reason(world, "Ready", "CallFailed"))
        message = condition(await world.get(MachineClaim, "m1")).message
        assert message.endswith("check the credentials of HypervisorCluster default/lab")
        assert "CallFailed" in await world.events()
        await world.phase("Ready", within_s=400.0)


async def test_machine_stays_ready_when_credentials_are_refused() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.advance(31)
        world.lab.faults.add(FailureRule(op="list_vms", code=Code.UNAUTHORIZED, times=0))
        seen = world.lab.journal.counts["list_vms"]
        await world.patch(MachineClaim, "m1", {"metadata": {"annotations": {"look": "now"}}})
        await world.until(lambda: world.lab.journal.counts["list_vms"] > seen + 1, within_s=90.0)
        assert condition(await world.get(MachineClaim, "m1")).status == "True"


async def test_deletion_names_the_lock_that_it_waits_for() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(timeouts={"delete": "1m"})
        await world.phase("Ready")
        vm = world.lab.vms[world.vms["m1"].id]
        vm.lock = "backup"
        await world.delete(MachineClaim, "m1")
        await world.until(lambda: _has_reason(world, "VMCleanedUp", "Terminating"))
        message = condition(await world.get(MachineClaim, "m1"), "VMCleanedUp").message
        assert "is locked (backup)" in message
        assert "force-delete" not in message
        await world.advance(90)
        message = condition(await world.get(MachineClaim, "m1"), "VMCleanedUp").message
        assert "annotation hyperfleet.io/force-delete removes the claim without its VM" in message
        vm.lock = ""
        await world.gone(MachineClaim, "m1")
        assert world.ours() == []


async def test_failed_removal_is_reported_and_tried_again() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        world.lab.faults.add(FailureRule(op="delete_vm", kind=FaultKind.PARTIAL, times=3))
        await world.delete(MachineClaim, "m1")
        await world.until(lambda: _has_reason(world, "VMCleanedUp", "CleanupFailed"))
        claim = await world.get(MachineClaim, "m1")
        assert "removing VM" in condition(claim, "VMCleanedUp").message
        await world.gone(MachineClaim, "m1", within_s=300.0)
        assert world.ours() == []
        assert "CleanupFailed" in await world.events()


async def test_machine_is_ready_again_when_its_template_is_back() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.delete(HypervisorMachineTemplate, "small")
        await world.patch(HypervisorMachineTemplate, "small", {"metadata": {"finalizers": None}})
        await world.gone(HypervisorMachineTemplate, "small")
        await world.patch(MachineClaim, "m1", {"metadata": {"annotations": {"look": "now"}}})
        await world.until(lambda: _has_reason(world, "Ready", "TemplateNotFound"))
        await world.create_template("small")
        await world.until(lambda: _has_reason(world, "Ready", "MachineReady"), within_s=120.0)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim).status == "True"
        assert condition(claim, "TemplateResolved").status == "True"


async def _switch(world: World, state: str, latest: Power) -> None:
    await world.patch(MachineClaim, "m1", {"spec": {"powerState": state}})
    await world.until(lambda: world.vms["m1"].power is latest)
    await world.advance(60)


async def test_failures_of_a_machine_that_recovered_do_not_add_up() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        for _ in range(MOST_ATTEMPTS):
            world.lab.faults.add(FailureRule(op="power", code=Code.FAILED))
            await _switch(world, "Off", Power.STOPPED)
            await _switch(world, "On", Power.RUNNING)
        claim = await world.get(MachineClaim, "m1")
        assert (claim.status.phase, claim.status.attempts) == ("Ready", 0)
