"""Simulated hypervisors that outlive their process, however it ends."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.app.simulator_file import SimulatorFile
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.drivers.simulator.controls import (
    Action,
    InvalidControl,
    perform,
)
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
    assert (vm.tags, vm.cpu) == (ownership.build_owner_tags(OWNER), 2)
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


@pytest.mark.parametrize("text", ["{", "[]", '{"mock://lab": 1}', '{"mock://lab": "{}"}'])
async def test_a_file_that_cannot_be_read_starts_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "simulator.json"
    path.write_text(text)
    _, hypervisor = await open_saved(path, VirtualClock())
    assert list(await hypervisor.list_vms()) == []


async def test_a_change_writes_its_vm_and_not_all_others(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, hypervisor = await open_saved(path, clock)
    await asyncio.gather(*(clone(hypervisor, vmid) for vmid in range(100, 130)))
    await clock.advance(60)
    before = path.read_bytes()
    await hypervisor.inject_cloud_init(120, SEED, owner=OWNER)
    after = path.read_bytes()
    assert after.startswith(before)
    assert len(after) - len(before) < len(before) / 10


async def test_many_changes_of_one_vm_do_not_fill_the_disk(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, hypervisor = await open_saved(path, clock)
    await clone(hypervisor)
    await clock.advance(60)
    for number in range(200):
        seed = CloudInit("meta", "x" * 2000, str(number))
        await hypervisor.inject_cloud_init(100, seed, owner=OWNER)
    assert path.stat().st_size < 80_000
    simulators, _ = await open_saved(path, clock)
    assert simulators.get(ENDPOINT).vms[100].seed == CloudInit("meta", "x" * 2000, "199")


async def test_a_line_that_was_written_in_part_is_left_out(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, first = await open_saved(path, clock)
    await clone(first, 100)
    whole = path.read_bytes()
    await clone(first, 101)
    path.write_bytes(path.read_bytes()[: len(whole) + 50])
    _, second = await open_saved(path, clock)
    assert [vm.id for vm in await second.list_vms()] == [100]
    await clone(second, 102)
    _, third = await open_saved(path, clock)
    assert [vm.id for vm in await third.list_vms()] == [100, 102]


async def test_a_file_that_someone_deletes_is_written_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "simulator.json", VirtualClock()
    _, first = await open_saved(path, clock)
    await clone(first, 100)
    path.unlink()
    await clone(first, 101)
    _, second = await open_saved(path, clock)
    assert [vm.id for vm in await second.list_vms()] == [100, 101]


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["clone", "seed", "on", "off", "delete", "rename", "restart"]),
            st.integers(100, 103),
        ),
        max_size=30,
    )
)
def test_what_is_loaded_is_what_was_there(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("data") / "simulator.json"
    asyncio.run(replay(steps, path))


async def replay(steps: list[tuple[str, int]], path: Path) -> None:
    """Perform steps; after each, a new process must find the VMs that the present one has."""
    clock = VirtualClock()
    simulators, hypervisor = await open_saved(path, clock)
    for step, vmid in steps:
        if step == "restart":
            simulators, hypervisor = await open_saved(path, clock)
        with contextlib.suppress(HypervisorError, InvalidControl):
            await perform_step(step, vmid, simulators, hypervisor)
        await clock.advance(60)
        await hypervisor.list_vms()
        loaded, _ = await open_saved(path, clock)
        assert describe_vms(loaded) == describe_vms(simulators)


async def perform_step(
    step: str, vmid: int, simulators: Simulators, hypervisor: Hypervisor
) -> None:
    match step:
        case "clone":
            await clone(hypervisor, vmid)
        case "seed":
            await hypervisor.inject_cloud_init(vmid, SEED, owner=OWNER)
        case "on":
            await hypervisor.power(vmid, PowerAction.ON, owner=OWNER)
        case "off":
            await hypervisor.power(vmid, PowerAction.OFF, owner=OWNER)
        case "delete":
            await hypervisor.delete_vm(vmid, owner=OWNER)
        case "rename":
            world = simulators.get(ENDPOINT)
            perform(world, Action(id="1", action="rename", vm=str(vmid), value="other"))


def describe_vms(simulators: Simulators) -> dict[int, tuple[object, ...]]:
    vms = simulators.get(ENDPOINT).vms.values()
    return {
        vm.id: (vm.name, vm.uuid, vm.mac, vm.node, vm.power, vm.seed, vm.tags)
        for vm in vms
        if not vm.is_template
    }
