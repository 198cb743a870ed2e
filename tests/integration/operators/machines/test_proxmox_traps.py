"""The known traps of Proxmox VE, one test each; the numbers are those of the specification."""

import asyncio
import functools

import pytest
from fake_pve import Fault
from fake_pve.state import Storage
from tests.contract.hypervisor.proxmox_rig import ProxmoxRig, open_rig, settings_of
from tests.contract.hypervisor.rig import make, owner_of, spec_of, wait

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.proxmox import open_provider
from quarterdeck.operators.machines.errors import (
    Code,
    ConfigurationError,
    HypervisorError,
    TransientError,
)
from quarterdeck.operators.machines.machine import (
    CloudInit,
    PowerAction,
    TaskState,
    TemplateRef,
)
from quarterdeck.operators.machines.plan.claim import Verdict, assess_vm

SEED = CloudInit("#cloud-config\nhostname: a\n", "instance-id: a\n")


async def test_1_destroy_waits_for_the_end_of_the_stop() -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        vmid = await make(rig)
        await wait(rig, await hypervisor.power(vmid, PowerAction.ON, owner=owner))
        stopping = await hypervisor.power(vmid, PowerAction.OFF, owner=owner)
        with pytest.raises(TransientError) as caught:
            await hypervisor.delete_vm(vmid, owner=owner)
        assert caught.value.code is Code.RUNNING
        assert rig.fake.count(f"DELETE /nodes/pve1/qemu/{vmid}$") == 0
        await wait(rig, stopping)
        await wait(rig, await hypervisor.delete_vm(vmid, owner=owner))
        assert vmid not in rig.fake.state.vms


async def test_1_destroy_that_was_accepted_and_failed_is_reported() -> None:
    async with open_rig() as rig:
        hypervisor, owner = rig.hypervisor, owner_of()
        vmid = await make(rig)
        rig.fake.state.failing["qmdestroy"] = "can't lock file 'lock-200.conf' - got timeout"
        info = await wait(rig, await hypervisor.delete_vm(vmid, owner=owner))
        assert info is not None
        assert info.state is TaskState.FAILED
        assert "can't lock file" in info.message
        assert (await hypervisor.get_vm(vmid)).id == vmid


async def test_2_id_of_a_failed_clone_is_another_vm_now() -> None:
    async with open_rig() as rig:
        hypervisor = rig.hypervisor
        template = await hypervisor.validate_template(rig.template)
        rig.fake.state.failing["qmclone"] = "clone failed: got timeout"
        task = await hypervisor.clone_vm(
            template, spec_of(1), vmid=230, node="pve1", linked=True, owner=owner_of(1)
        )
        info = await wait(rig, task)
        assert info is not None
        assert info.state is TaskState.FAILED
        await make(rig, 2, vmid=230)
        with pytest.raises(HypervisorError) as caught:
            await hypervisor.delete_vm(230, owner=owner_of(1, is_tagged=False))
        assert caught.value.code is Code.OWNERSHIP_MISMATCH
        assert 230 in rig.fake.state.vms


async def test_3_vm_removed_by_hand_is_deleted_without_a_loop() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.inject_cloud_init(vmid, SEED, owner=owner_of())
        await rig.destroy_behind(vmid)
        assert await rig.hypervisor.delete_vm(vmid, owner=owner_of()) is None
        assert rig.fake.state.storages["local"].files == {}


async def test_3_vm_that_the_credentials_may_not_see_is_not_taken_for_removed() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        rig.fake.state.hidden.add(vmid)
        assert list(await rig.hypervisor.list_vms()) == []
        for call in (
            rig.hypervisor.get_vm(vmid),
            rig.hypervisor.delete_vm(vmid, owner=owner_of()),
        ):
            with pytest.raises(ConfigurationError, match=r"VM\.Audit") as caught:
                await call
            assert caught.value.code is Code.FORBIDDEN
        assert vmid in rig.fake.state.vms


@pytest.mark.parametrize("vmid", [-1, 0])
async def test_4_delete_of_an_unknown_id_asks_nobody(vmid: int) -> None:
    async with open_rig() as rig:
        assert await rig.hypervisor.delete_vm(vmid, owner=owner_of()) is None
        assert rig.fake.journal == []


async def test_5_ids_asked_for_at_once_differ() -> None:
    async with open_rig() as rig:
        rig.fake.state.add_template(201, "hidden")
        rig.fake.state.hidden.add(201)
        nobody: frozenset[int] = frozenset()
        ids = await asyncio.gather(
            *(rig.hypervisor.reserve_id(start=200, end=299, taken=nobody) for _ in range(20))
        )
        assert len(set(ids)) == 20
        assert 201 not in ids


async def test_5_ids_of_many_vms_that_may_not_be_seen_are_passed_over() -> None:
    async with open_rig() as rig:
        for vmid in range(200, 280):
            rig.fake.state.add_template(vmid, f"of-others-{vmid}")
            rig.fake.state.hidden.add(vmid)
        reserve = functools.partial(rig.hypervisor.reserve_id, start=200, taken=frozenset())
        for _ in range(2):
            with pytest.raises(TransientError, match="may not see") as caught:
                await reserve(end=299)
            assert caught.value.retry_after_s is not None
        assert await reserve(end=299) == 280
        with pytest.raises(HypervisorError) as full:
            await reserve(end=280)
        assert full.value.code is Code.IDS_EXHAUSTED


async def test_5_an_id_that_another_operator_took_first_is_reported_as_taken() -> None:
    async with open_rig() as rig:
        other = rig.second()
        nobody: frozenset[int] = frozenset()
        first = await rig.hypervisor.reserve_id(start=200, end=299, taken=nobody)
        assert await other.reserve_id(start=200, end=299, taken=nobody) == first
        await make(rig, 1, vmid=first)
        template = await other.validate_template(rig.template)
        with pytest.raises(HypervisorError) as caught:
            await other.clone_vm(
                template, spec_of(2), vmid=first, node="pve1", linked=True, owner=owner_of(2)
            )
        assert caught.value.code is Code.ALREADY_EXISTS


async def test_6_clones_on_one_node_are_bounded_until_their_tasks_end() -> None:
    async with open_rig() as rig:
        template = await rig.hypervisor.validate_template(rig.template)
        two_run = asyncio.Barrier(2)

        async def clone(number: int) -> None:
            task = await rig.hypervisor.clone_vm(
                template,
                spec_of(number),
                vmid=200 + number,
                node="pve1",
                linked=True,
                owner=owner_of(number),
            )
            assert task is not None
            await two_run.wait()  # neither ends before the other has begun
            while (await rig.hypervisor.task_status(task)).state is TaskState.RUNNING:
                pass  # the fake ends a task when it has been asked for twice

        await asyncio.gather(*(clone(number) for number in range(6)))
        assert len(rig.fake.state.vms) == 7
        assert rig.fake.state.most_clones == 2


async def test_6_a_lock_timeout_is_worth_trying_again() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        reason = "can't lock file '/var/lock/qemu-server/lock-200.conf' - got timeout"
        rig.fake.faults.append(Fault("POST .*/status/start", 500, reason))
        with pytest.raises(TransientError) as caught:
            await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        assert caught.value.code is Code.LOCKED
        assert reason in str(caught.value)


@pytest.mark.parametrize("is_running", [True, False])
async def test_7_a_start_is_judged_by_the_vm_not_by_its_task(is_running: bool) -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        rig.fake.state.failing["qmstart"] = "start failed: got timeout"
        rig.fake.state.started_anyway = is_running
        info = await wait(rig, await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of()))
        assert info is not None
        assert info.state is (TaskState.OK if is_running else TaskState.FAILED)
        assert "start failed" in info.message


async def test_8_templates_on_local_storage_exist_per_node() -> None:
    async with open_rig() as rig:
        state, hypervisor = rig.fake.state, rig.hypervisor
        only_here = await hypervisor.validate_template(TemplateRef(id=9000))
        assert only_here.nodes == ("pve1",)
        with pytest.raises(HypervisorError) as missing:
            await _clone(rig, only_here.id, node="pve2")
        assert missing.value.code is Code.TEMPLATE_NOT_FOUND
        state.add_template(9001, "debian-12", node="pve2")
        template = await hypervisor.validate_template(TemplateRef(name="debian-12"))
        assert (template.id, template.nodes) == (9000, ("pve1", "pve2"))
        task = await hypervisor.clone_vm(
            template, spec_of(), vmid=240, node="pve2", linked=True, owner=owner_of()
        )
        await wait(rig, task)
        assert state.vms[240].node == "pve2"
        assert rig.fake.count("POST /nodes/pve2/qemu/9001/clone") == 1


async def test_8_a_template_is_cloned_while_the_node_of_another_copy_is_down() -> None:
    async with open_rig() as rig:
        state, by_name = rig.fake.state, TemplateRef(name="debian-12")
        state.add_template(9001, "debian-12", node="pve2")
        state.nodes["pve1"] = "offline"
        template = await rig.hypervisor.validate_template(by_name)
        assert template.nodes == ("pve2",)
        await _clone(rig, template.id, node="pve2")
        state.nodes["pve2"] = "offline"
        with pytest.raises(TransientError) as caught:
            await rig.hypervisor.validate_template(by_name)
        assert caught.value.code is Code.UNAVAILABLE
        state.nodes |= {"pve1": "online", "pve2": "online"}
        assert (await rig.hypervisor.validate_template(by_name)).nodes == ("pve1", "pve2")


async def test_8_two_templates_of_one_name_on_one_node_are_ambiguous() -> None:
    async with open_rig() as rig:
        rig.fake.state.add_template(9001, "debian-12")
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.validate_template(TemplateRef(name="debian-12"))
        assert caught.value.code is Code.AMBIGUOUS
        assert "9000, 9001" in str(caught.value)


async def test_8_a_template_on_shared_storage_is_cloned_to_any_node() -> None:
    async with open_rig() as rig:
        rig.fake.state.storages["ceph"] = Storage("ceph", "rbd", "images", is_shared=True)
        rig.fake.state.add_template(9002, "shared", scsi0="ceph:base-9002-disk-0,size=2G")
        await _clone(rig, 9002, node="pve2")
        assert rig.fake.state.vms[240].node == "pve2"


async def _clone(rig: ProxmoxRig, template_id: int, *, node: str) -> None:
    template = await rig.hypervisor.validate_template(TemplateRef(id=template_id))
    task = await rig.hypervisor.clone_vm(
        template, spec_of(), vmid=240, node=node, linked=True, owner=owner_of()
    )
    await wait(rig, task)


async def test_9_a_seed_on_shared_storage_is_uploaded_once() -> None:
    async with open_rig() as rig:
        state = rig.fake.state
        state.storages["nfs"] = Storage("nfs", "nfs", "iso", is_shared=True)
        vmid = await make(rig)
        await rig.hypervisor.inject_cloud_init(vmid, SEED, owner=owner_of())
        state.vms[vmid].node = "pve2"  # somebody migrated it
        await rig.hypervisor.inject_cloud_init(vmid, SEED, owner=owner_of())
        assert rig.fake.count("POST .*/upload") == 1
        assert len(state.storages["nfs"].files) == 1
        changed = SEED._replace(user_data="#cloud-config\nhostname: b\n")
        await rig.hypervisor.inject_cloud_init(vmid, changed, owner=owner_of())
        (((_, volume), image),) = state.storages["nfs"].files.items()
        assert b"hostname: b" in image
        assert state.vms[vmid].config["ide2"] == f"{volume},media=cdrom"


async def test_10_tags_come_back_in_lower_case_and_any_order() -> None:
    async with open_rig() as rig:
        owner = owner_of()._replace(claim_uid="CLAIM-ABC", operator_uid="OP-1-0000")
        template = await rig.hypervisor.validate_template(rig.template)
        await wait(
            rig,
            await rig.hypervisor.clone_vm(
                template, spec_of(), vmid=250, node="pve1", linked=True, owner=owner
            ),
        )
        spec = spec_of()._replace(tags=("Team-Blue",))
        fresh = owner._replace(is_tagged=False)
        await wait(rig, await rig.hypervisor.configure_vm(250, spec, owner=fresh))
        vm = await rig.hypervisor.get_vm(250)
        assert "team-blue" in vm.tags
        assert list(vm.tags) == sorted(vm.tags)
        assert ownership.is_owned(vm, owner)


async def test_a_clone_has_its_templates_tags_until_it_is_configured() -> None:
    async with open_rig() as rig:
        rig.fake.state.vms[9000].config["tags"] = "debian;golden"
        template = await rig.hypervisor.validate_template(rig.template)
        assert template.tags == ("debian", "golden")
        fresh = owner_of(is_tagged=False)._replace(inherited_tags=template.tags)
        task = await rig.hypervisor.clone_vm(
            template, spec_of(), vmid=251, node="pve1", linked=True, owner=fresh
        )
        await wait(rig, task)
        vm = await rig.hypervisor.get_vm(251)
        assert set(vm.tags) == {"debian", "golden"}
        assert ownership.is_owned(vm, owner_of(is_tagged=False))
        await rig.change_behind(251, tags=("production",))
        with pytest.raises(HypervisorError) as caught:
            await rig.hypervisor.delete_vm(251, owner=owner_of(is_tagged=False))
        assert caught.value.code is Code.OWNERSHIP_MISMATCH


async def test_11_an_expired_task_is_unknown_and_the_vm_tells() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        task = await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        assert task is not None
        await rig.pass_time()
        await rig.forget_tasks()
        with pytest.raises(TransientError) as caught:
            await rig.hypervisor.task_status(task)
        assert caught.value.code is Code.TASK_UNKNOWN
        assert (await rig.hypervisor.get_vm(vmid)).power == "Running"


async def test_a_clone_under_way_is_not_taken_for_somebody_elses_after_a_restart() -> None:
    async with open_rig() as rig:
        template = await rig.hypervisor.validate_template(rig.template)
        task = await rig.hypervisor.clone_vm(
            template, spec_of(), vmid=260, node="pve1", linked=True, owner=owner_of()
        )
        restarted = rig.second()
        with pytest.raises(TransientError) as caught:
            await restarted.get_vm(260)
        assert caught.value.code is Code.LOCKED
        await wait(rig, task)
        vm = await restarted.get_vm(260)
        assert ownership.is_owned(vm, owner_of(is_tagged=False))


async def test_a_clone_gets_a_vtpm_of_its_own() -> None:
    async with open_rig() as rig:
        template = rig.fake.state.vms[9000]
        template.config["tpmstate0"] = "local-lvm:base-9000-disk-1,size=4M,version=v2.0"
        template.keys = "endorsement key of the template"
        vmid = await make(rig)
        vm = rig.fake.state.vms[vmid]
        assert vm.keys not in ("", template.keys)
        assert "version=v2.0" in vm.config["tpmstate0"]


async def test_a_vm_with_a_vtpm_boots_by_uefi_on_q35() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        config = rig.fake.state.vms[vmid].config
        assert not {"bios", "machine", "efidisk0"} & set(config)
        spec = spec_of()._replace(has_tpm=True)
        for _ in range(2):  # what is there already stays
            await wait(rig, await rig.hypervisor.configure_vm(vmid, spec, owner=owner_of()))
            assert (config["bios"], config["machine"]) == ("ovmf", "q35")
            assert config["efidisk0"] == f"local-lvm:vm-{vmid}-disk-8,efitype=4m,size=4M"
            assert "version=v2.0" in config["tpmstate0"]


async def test_linked_clones_on_thick_lvm_are_refused_before_anything_is_made() -> None:
    async with open_rig() as rig:
        rig.fake.state.storages["thick"] = Storage("thick", "lvm", "images")
        rig.fake.state.add_template(9003, "thick", scsi0="thick:base-9003-disk-0,size=2G")
        with pytest.raises(HypervisorError) as caught:
            await _clone(rig, 9003, node="pve1")
        assert caught.value.code is Code.STORAGE_UNSUPPORTED
        assert rig.fake.count("POST .*/clone") == 0


async def test_sizes_and_network_are_what_was_asked_for() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        config = rig.fake.state.vms[vmid].config
        assert (config["cores"], config["memory"]) == ("1", "256")
        assert "size=4096M" in config["scsi0"]
        rig.fake.state.agents[vmid] = ["10.1.2.3", "fe80::1"]
        await wait(rig, await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of()))
        vm = await rig.hypervisor.get_vm(vmid)
        assert vm.ips == ("10.1.2.3",)
        assert vm.mac == config["net0"].partition("=")[2][:17]


async def test_what_a_guest_reports_is_used_if_it_is_an_address() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        reported = ["-oProxyCommand=id", "web.example.com", "x" * 9999, "FE80::1", "0.0.0.0", "::1"]
        rig.fake.state.agents[vmid] = [*reported, "10.1.2.3", "fd00::7"]
        await wait(rig, await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of()))
        assert (await rig.hypervisor.get_vm(vmid)).ips == ("10.1.2.3", "fd00::7")


async def test_watching_at_rest_is_one_request() -> None:
    async with open_rig() as rig:
        await make(rig)
        await rig.hypervisor.list_vms()
        before = len(rig.fake.journal)
        await rig.hypervisor.list_vms()
        assert rig.fake.journal[before:] == ["GET /cluster/resources"]


async def test_machines_of_a_node_that_is_down_are_unknown_not_foreign() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.list_vms()
        rig.fake.state.nodes["pve1"] = "offline"
        (listed,) = await rig.hypervisor.list_vms()
        assert listed.power == "Unknown"
        assert ownership.is_owned(listed, owner_of())
        with pytest.raises(TransientError) as caught:
            await rig.hypervisor.delete_vm(vmid, owner=owner_of())
        assert caught.value.code is Code.UNAVAILABLE
        nodes = {node.name: node.is_online for node in await rig.hypervisor.list_nodes()}
        assert nodes == {"pve1": False, "pve2": True}


@pytest.mark.parametrize(
    "reason", ["No route to host", "Connection timed out", "Connection refused"]
)
async def test_node_that_is_down_hides_no_vm_of_the_others_after_a_restart(reason: str) -> None:
    async with open_rig() as rig:
        first, second = await make(rig), await make(rig, 2)
        rig.fake.state.vms[second].node = "pve2"
        rig.fake.state.nodes["pve1"] = "offline"
        rig.fake.state.silence = reason
        listed = {vm.id: vm for vm in await rig.second().list_vms()}
        assert ownership.is_owned(listed[second], owner_of(2))
        assert listed[first].power == "Unknown"


async def test_machines_of_a_silent_node_are_unknown_after_a_restart_and_not_asked_for() -> None:
    async with open_rig() as rig:
        await make(rig)
        rig.fake.state.nodes["pve1"] = "offline"
        before, restarted = len(rig.fake.journal), rig.second()
        (listed,) = await restarted.list_vms()
        assert assess_vm(listed, owner_of()) is Verdict.UNKNOWN
        assert rig.fake.journal[before:] == ["GET /cluster/resources"]
        rig.fake.state.nodes["pve1"] = "online"
        (listed,) = await restarted.list_vms()
        assert assess_vm(listed, owner_of()) is Verdict.STOPPED


async def test_a_migrated_vm_is_found_on_its_new_node() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        rig.fake.state.vms[vmid].node = "pve2"
        assert (await rig.hypervisor.get_vm(vmid)).node == "pve2"
        await wait(rig, await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of()))
        assert rig.fake.state.vms[vmid].status == "running"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param(500, "unable to parse config file", id="broken"),
        pytest.param(500, "can't lock file '/var/lock/x' - got timeout", id="locked"),
        pytest.param(400, "Parameter verification failed.", id="refused"),
    ],
)
async def test_vm_whose_configuration_cannot_be_read_keeps_no_other_from_the_list(
    status: int, reason: str
) -> None:
    async with open_rig() as rig:
        broken, sound = await make(rig, 1), await make(rig, 2)
        rig.fake.faults.append(Fault(f"GET .*/qemu/{broken}/config", status, reason, times=9))
        fresh = await open_provider(settings_of(rig.fake))
        try:
            listed = {vm.id: vm for vm in await fresh.list_vms()}
            assert ownership.is_owned(listed[sound], owner_of(2))
            assert listed[broken].description == ""
            with pytest.raises(HypervisorError) as caught:
                await fresh.get_vm(broken)
            assert caught.value.code is not Code.NOT_FOUND, "it is not taken for deleted"
            rig.fake.faults.clear()
            listed = {vm.id: vm for vm in await fresh.list_vms()}
            assert ownership.is_owned(listed[broken], owner_of(1))
        finally:
            await fresh.aclose()


@pytest.mark.parametrize("status", [500, 596], ids=["broken storage", "no answer of the node"])
async def test_node_whose_storages_cannot_be_read_keeps_no_other_from_the_list(status: int) -> None:
    async with open_rig() as rig:
        rig.fake.faults.append(Fault("GET /nodes/pve2/storage", status, "got no answer", times=1))
        nodes = {node.name: node for node in await rig.hypervisor.list_nodes()}
        assert (nodes["pve1"].is_online, nodes["pve2"].is_online) == (True, False)
        assert nodes["pve1"].storage_free > nodes["pve2"].storage_free == 0
        assert all(node.is_online for node in await rig.hypervisor.list_nodes())


async def test_nodes_cannot_be_listed_if_the_credentials_may_not_read_storages() -> None:
    async with open_rig() as rig:
        reason = "Permission check failed"
        rig.fake.faults.append(Fault("GET /nodes/pve2/storage", 403, reason, times=1))
        with pytest.raises(ConfigurationError, match=reason):
            await rig.hypervisor.list_nodes()


async def test_list_fails_if_the_credentials_are_refused_meanwhile() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        rig.fake.faults.append(Fault(f"GET .*/qemu/{vmid}/config", 401, "no ticket", times=9))
        fresh = await open_provider(settings_of(rig.fake))
        try:
            with pytest.raises(HypervisorError) as caught:
                await fresh.list_vms()
            assert caught.value.code is Code.UNAUTHORIZED
        finally:
            await fresh.aclose()
