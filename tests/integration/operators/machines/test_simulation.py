"""Controls of the simulator by ConfigMap."""

from pathlib import Path

import pytest
from tests.contract.hypervisor.rig import make, owner_of, spec_of
from tests.contract.hypervisor.simulator_rig import open_rig
from tests.integration.operators.machines.world import (
    ENDPOINT,
    FAST,
    MachineClaim,
    World,
    open_world,
)

from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines import simulation
from quarterdeck.operators.machines.drivers.simulator import SimulatorProvider, Simulators
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.machine import CloudInit, PowerAction, TemplateRef

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


async def control(world: World, **data: str) -> None:
    labels = {"hyperfleet.io/config": "simulator"}
    metadata = ObjectMeta(name="controls", namespace="default", labels=labels)
    await world.client.create(ConfigMap(metadata=metadata, data={"endpoint": ENDPOINT, **data}))


async def test_rules_timing_and_actions_take_effect_once() -> None:
    async with open_world() as world, world.operator() as manager:
        manager.add(simulation.build_controller(world.simulators))
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
        manager.add(simulation.build_controller(world.simulators))
        await control(world, actions="[{id: a1, action: dance}]")

        async def reported() -> bool:
            return "InvalidControl" in await world.events()

        await world.until(reported)


async def test_console_shows_boots_and_power_downs_and_goes_with_its_machine(
    tmp_path: Path,
) -> None:
    clock = VirtualClock()
    lab = Simulators(clock, FAST, folder=tmp_path).get(ENDPOINT)
    provider, owner = SimulatorProvider(lab), owner_of()
    template = await provider.validate_template(TemplateRef(name="simulated"))
    await provider.clone_vm(template, spec_of(), vmid=200, node="sim-1", linked=True, owner=owner)
    await provider.configure_vm(200, spec_of(), owner=owner._replace(is_tagged=False))
    await provider.inject_cloud_init(200, CloudInit("secret", "secret"), owner=owner)
    await provider.power(200, PowerAction.ON, owner=owner)
    url = await provider.console_url(200, owner=owner)
    log = Path(url.removeprefix("file://"))
    assert "machine-1" in log.read_text()
    assert "login:" not in log.read_text()
    await clock.advance(2.0)
    assert (await provider.get_vm(200)).ips
    assert log.read_text().endswith("machine-1 login:\n")
    assert "secret" not in log.read_text()
    await provider.power(200, PowerAction.OFF, owner=owner)
    assert log.read_text().endswith("reboot: Power down\n")
    assert log.stat().st_mode & 0o077 == 0
    await provider.delete_vm(200, owner=owner)
    assert not log.exists()


async def test_simulator_without_a_folder_has_no_consoles() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.console_url(vmid, owner=owner_of())
        assert caught.value.code is Code.NOT_SUPPORTED


async def test_machines_of_a_flaky_template_get_there_and_slow_ones_take_longer() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        for name in ("flaky", "slow"):
            mock = {"failureProfile": name, "bootSeconds": 3}
            await world.create_template(name, template={"mock": mock})
            for number in range(3):
                await world.claim(f"{name}-{number}", templateRef={"name": name})
        for name in ("flaky-0", "flaky-1", "flaky-2", "slow-0", "slow-1", "slow-2"):
            claim = await world.phase("Ready", name)
            assert "Unsupported" not in [each.type for each in claim.status.conditions]
        failed = [each for each in world.lab.journal.entries if each.result == "Locked"]
        assert failed
        assert all(each.name.startswith("flaky-") for each in failed)
        boots = {vm.name: vm.boot_s for vm in world.lab.vms.values()}
        assert (boots["flaky-0"], boots["slow-0"]) == (3.0, 15.0)
        await world.delete(MachineClaim, "flaky-0")
        await world.gone(MachineClaim, "flaky-0")
        assert "flaky-0" not in world.vms
