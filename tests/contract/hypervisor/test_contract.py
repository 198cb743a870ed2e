"""What every provider keeps to: one suite over all of them."""

import pytest
from tests.contract.hypervisor.conftest import OpenRig
from tests.contract.hypervisor.rig import Rig, make, owner_of, spec_of, wait

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.errors import Code, HypervisorError, TransientError
from quarterdeck.operators.machines.machine import (
    CloudInit,
    Owner,
    Power,
    PowerAction,
    TemplateRef,
)
from quarterdeck.operators.machines.ports import Hypervisor

SEED = CloudInit("#cloud-config\n# join-token-1234\n", "instance-id: i-1\n")


async def test_connection_names_provider_and_version(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        info = await rig.hypervisor.test_connection()
        assert info.version
        assert info.metadata["provider"] == rig.hypervisor.name


async def test_nodes_report_their_free_capacity(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        nodes = {node.name: node for node in await rig.hypervisor.list_nodes()}
        node = nodes[rig.node]
        assert node.is_online
        assert 0 < node.memory_free <= node.memory_total
        assert 0 < node.cpu_free <= node.cpu_total


async def test_missing_template_is_a_configuration_error(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.validate_template(TemplateRef(id=77, name="", image="/none.qcow2"))
        assert caught.value.code is Code.TEMPLATE_NOT_FOUND


async def test_reserved_ids_avoid_those_taken(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig, vmid=200)
        assert vmid == 200
        taken = frozenset({201})
        assert await rig.hypervisor.reserve_id(start=200, end=203, taken=taken) == 202
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.reserve_id(start=200, end=201, taken=taken)
        assert caught.value.code is Code.IDS_EXHAUSTED


async def test_clone_is_owned_from_the_first_moment(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        template = await hypervisor.validate_template(rig.template)
        task = await hypervisor.clone_vm(
            template, spec_of(), vmid=210, node=rig.node, linked=True, owner=owner
        )
        vm = await hypervisor.get_vm(210)
        assert ownership.is_owned(vm, owner._replace(is_tagged=False))
        await wait(rig, task)
        vm = await hypervisor.get_vm(210)
        assert (vm.name, vm.node, vm.power) == ("machine-1", rig.node, Power.STOPPED)


async def test_clone_onto_a_taken_id_is_refused(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        template = await rig.hypervisor.validate_template(rig.template)
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.clone_vm(
                template, spec_of(2), vmid=vmid, node=rig.node, linked=True, owner=owner_of(2)
            )
        assert caught.value.code is Code.ALREADY_EXISTS


async def test_configured_vm_carries_its_tags(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        listed = {vm.id: vm for vm in await rig.hypervisor.list_vms()}
        assert ownership.is_owned(listed[vmid], owner_of())
        assert rig.template.id not in listed


async def test_a_machine_is_cloned_started_stopped_and_deleted(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        vmid = await make(rig)
        await wait(rig, await hypervisor.power(vmid, PowerAction.ON, owner=owner))
        assert (await hypervisor.get_vm(vmid)).power is Power.RUNNING
        with pytest.raises(HypervisorError) as caught:
            await wait(rig, await hypervisor.delete_vm(vmid, owner=owner))
        assert caught.value.code is Code.RUNNING
        await wait(rig, await hypervisor.power(vmid, PowerAction.OFF, owner=owner))
        assert (await hypervisor.get_vm(vmid)).power is Power.STOPPED
        await wait(rig, await hypervisor.delete_vm(vmid, owner=owner))
        with pytest.raises(HypervisorError) as caught:
            await hypervisor.get_vm(vmid)
        assert caught.value.code is Code.NOT_FOUND


async def test_starting_twice_and_deleting_twice_succeed(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        vmid = await make(rig)
        for _ in range(2):
            await wait(rig, await hypervisor.power(vmid, PowerAction.ON, owner=owner))
        for _ in range(2):
            await wait(rig, await hypervisor.power(vmid, PowerAction.OFF, owner=owner))
        for _ in range(2):
            await wait(rig, await hypervisor.delete_vm(vmid, owner=owner))


async def test_another_operators_vm_is_never_touched(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await _expect_refused(rig, vmid, other=rig.second(), owner=owner_of(1, "op-2"))


async def test_another_claims_vm_is_never_touched(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await _expect_refused(rig, vmid, other=rig.hypervisor, owner=owner_of(2))


async def test_a_renamed_vm_is_never_touched(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.change_behind(vmid, name="database")
        await _expect_refused(rig, vmid, other=rig.hypervisor, owner=owner_of())


async def test_a_retagged_vm_is_never_touched(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.change_behind(vmid, tags=("database",))
        await _expect_refused(rig, vmid, other=rig.hypervisor, owner=owner_of())


async def _expect_refused(rig: Rig, vmid: int, *, other: Hypervisor, owner: Owner) -> None:
    before = await rig.hypervisor.get_vm(vmid)
    with pytest.raises(HypervisorError) as deleting:
        await other.delete_vm(vmid, owner=owner)
    with pytest.raises(HypervisorError) as starting:
        await other.power(vmid, PowerAction.ON, owner=owner)
    with pytest.raises(HypervisorError) as configuring:
        await other.configure_vm(vmid, spec_of(), owner=owner)
    for caught in (deleting, starting, configuring):
        assert caught.value.code is Code.OWNERSHIP_MISMATCH
    assert await rig.hypervisor.get_vm(vmid) == before


async def test_a_detached_seed_is_gone_from_drive_and_storage(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        vmid = await make(rig)
        await hypervisor.detach_cloud_init(vmid, owner=owner)
        await hypervisor.inject_cloud_init(vmid, SEED, owner=owner)
        seed = await rig.read_seed(vmid)
        assert seed is not None
        assert b"join-token-1234" in seed
        await wait(rig, await hypervisor.power(vmid, PowerAction.ON, owner=owner))
        for _ in range(2):
            await hypervisor.detach_cloud_init(vmid, owner=owner)
            assert await rig.read_seed(vmid) is None
        assert (await hypervisor.get_vm(vmid)).power is Power.RUNNING


async def test_the_seed_of_another_claim_stays(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.inject_cloud_init(vmid, SEED, owner=owner_of())
        with pytest.raises(HypervisorError) as caught:
            await rig.second().detach_cloud_init(vmid, owner=owner_of(2))
        assert caught.value.code is Code.OWNERSHIP_MISMATCH
        assert await rig.read_seed(vmid) is not None


async def test_a_vm_removed_by_hand_counts_as_deleted(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.destroy_behind(vmid)
        assert await wait(rig, await rig.hypervisor.delete_vm(vmid, owner=owner_of())) is None


async def test_a_reused_id_is_not_deleted(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig, 1)
        await rig.destroy_behind(vmid)
        await make(rig, 2, vmid=vmid)
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.delete_vm(vmid, owner=owner_of(1))
        assert caught.value.code is Code.OWNERSHIP_MISMATCH
        assert (await rig.hypervisor.get_vm(vmid)).name == "machine-2"


async def test_a_clone_whose_answer_is_lost_can_be_found(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        template = await hypervisor.validate_template(rig.template)
        await rig.lose_answer("clone_vm")
        with pytest.raises(TransientError):
            await hypervisor.clone_vm(
                template, spec_of(), vmid=220, node=rig.node, linked=True, owner=owner
            )
        vm = await hypervisor.get_vm(220)
        assert ownership.is_owned(vm, owner._replace(is_tagged=False))


async def test_a_forgotten_task_is_a_transient_error(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        vmid = await make(rig)
        task = await hypervisor.power(vmid, PowerAction.ON, owner=owner)
        if task is None:
            pytest.skip("the provider starts VMs without a task")
        await wait(rig, task)
        await rig.forget_tasks()
        with pytest.raises(TransientError) as caught:
            await hypervisor.task_status(task)
        assert caught.value.code is Code.TASK_UNKNOWN


async def test_released_vm_has_no_owner(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.tag_vm(vmid, tags=("kept",), description="", owner=owner_of())
        vm = await rig.hypervisor.get_vm(vmid)
        assert ownership.read_owner(vm) is None
        assert set(vm.tags) == {"kept"}


async def test_vm_without_an_owner_can_be_adopted_and_removed(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of(2)._replace(vm_name="machine-1")
        vmid = await make(rig)
        await hypervisor.tag_vm(vmid, tags=("kept",), description="by Ann", owner=owner_of())
        before = await hypervisor.get_vm(vmid)
        tags, text = (*before.tags, *ownership.build_owner_tags(owner)), before.description
        text = ownership.add_owner(text, owner)
        await hypervisor.tag_vm(vmid, tags=tags, description=text, owner=None)
        vm = await hypervisor.get_vm(vmid)
        assert ownership.is_owned(vm, owner)
        assert vm.description.startswith("by Ann")
        await wait(rig, await hypervisor.delete_vm(vmid, owner=owner))
        assert vmid not in {each.id for each in await hypervisor.list_vms()}
