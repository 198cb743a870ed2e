"""Simulated hypervisors that outlive their process, however it ends."""

import asyncio
from pathlib import Path

import pytest

from quarterdeck.app.simulator_file import SimulatorFile
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.errors import Code, HypervisorError
from quarterdeck.operators.machines.machine import (
    AccessData,
    CloudInit,
    Owner,
    Power,
    PowerAction,
    TemplateRef,
    VMSpec,
)
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings

ENDPOINT = "mock://lab"
OWNER = Owner("operator", "claim-uid", "default/web-1", "web-1", is_tagged=False)
SPEC = VMSpec("web-1", 2, 1 << 30, 4 << 30)
SEED = CloudInit("meta", "user", "network")


async def open_saved(path: Path, clock: VirtualClock) -> tuple[Simulators, Hypervisor]:
    """A new process: the simulators of the file, and a connection to one of them."""
    simulators = Simulators(clock)
    file = SimulatorFile(simulators, path, clock=clock)
    file.load()
    simulators.save = file.save
    settings = ProviderSettings("default/lab", ENDPOINT, AccessData(), (), "", "", clock)
    return simulators, await simulators.open(settings)


async def clone(hypervisor: Hypervisor, vmid: int = 100) -> None:
    template = await hypervisor.validate_template(TemplateRef(id=9000))
    await hypervisor.clone_vm(template, SPEC, vmid=vmid, node="sim-1", linked=False, owner=OWNER)


async def test_each_change_is_saved_before_its_call_returns(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, first = await open_saved(path, clock)
    await clone(first)
    _, second = await open_saved(path, clock)
    assert (await second.get_vm(100)).tags == ()
    await second.configure_vm(100, SPEC, owner=OWNER)
    await second.inject_cloud_init(100, SEED, owner=OWNER)
    simulators, third = await open_saved(path, clock)
    vm = await third.get_vm(100)
    assert (vm.tags, vm.cpu) == (ownership.tags_of(OWNER), 2)
    assert simulators.get(ENDPOINT).vms[100].seed == SEED
    task = await third.power(100, PowerAction.ON, owner=OWNER)
    assert task is not None
    await clock.advance(60)
    await third.task_status(task)
    _, fourth = await open_saved(path, clock)
    assert (await fourth.get_vm(100)).power is Power.RUNNING


async def test_calls_at_the_same_time_are_all_saved(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, first = await open_saved(path, clock)
    await asyncio.gather(*(clone(first, vmid) for vmid in range(100, 120)))
    _, second = await open_saved(path, clock)
    assert [vm.id for vm in await second.list_vms()] == list(range(100, 120))


async def test_a_file_that_cannot_be_written_fails_the_call(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, hypervisor = await open_saved(path, clock)
    path.mkdir()
    with pytest.raises(HypervisorError, match="cannot save simulated hypervisors") as caught:
        await clone(hypervisor)
    assert caught.value.code is Code.UNAVAILABLE
    path.rmdir()
    await hypervisor.get_vm(100)
    _, second = await open_saved(path, clock)
    assert (await second.get_vm(100)).name == "web-1"


async def test_a_file_that_cannot_be_read_starts_empty(tmp_path: Path) -> None:
    path = tmp_path / "simulator.json"
    path.write_text("{")
    _, hypervisor = await open_saved(path, VirtualClock())
    assert list(await hypervisor.list_vms()) == []
