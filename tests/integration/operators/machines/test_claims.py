"""The life of a machine, from claim to gone, on the simulator."""

from collections.abc import Sequence

import pytest
from tests.integration.operators.machines.world import (
    HypervisorCluster,
    HypervisorMachineTemplate,
    MachineClaim,
    World,
    condition,
    open_world,
)

from quarterdeck.operators.machines.drivers.simulator import (
    FailureRule,
    FaultKind,
    SimulatorProvider,
)
from quarterdeck.operators.machines.errors import Code
from quarterdeck.operators.machines.machine import Power, VMInfo, VMSpec
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


async def test_claim_becomes_a_running_machine() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        claim = await world.phase("Ready")
        vm = world.vms["m1"]
        assert vm.power is Power.RUNNING
        assert claim.status.vm_ref is not None
        assert claim.status.vm_ref.vm_id == vm.id
        assert claim.status.network_info is not None
        assert claim.status.network_info.ip_address == vm.ips[0]
        assert claim.status.provider_id == f"mock://{vm.uuid}"
        assert condition(claim).status == "True"
        assert [each.phase for each in claim.status.phase_transitions] == [
            "Provisioning",
            "Bootstrapping",
            "Ready",
        ]


async def test_deleted_claim_takes_its_vm_along() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        assert world.vms == {}
        assert "CleanedUp" in await world.events()


async def test_claim_without_a_vm_goes_at_once() -> None:
    async with open_world() as world, world.operator():
        await world.claim()
        await world.phase("Pending")
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1", within_s=1.0)


async def test_attestation_waits_for_the_bootstrap_service() -> None:
    async with open_world() as world, world.operator():
        await world.set_up(attestation="tpm")
        await world.claim()
        await world.phase("Bootstrapping")
        await world.advance(1000)
        claim = await world.get(MachineClaim, "m1")
        assert claim.status.phase == "Bootstrapping"
        assert condition(claim, "Bootstrapped").reason == "BootstrapServiceMissing"


async def test_vm_removed_behind_our_back_is_noticed_within_a_sweep() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        world.lab.remove(world.vms["m1"].id)
        claim = await world.phase("Failed", within_s=61.0)
        assert claim.status.failure_reason == "VMMissing"


async def test_stopped_machine_without_owner_is_started_again() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        vm = world.lab.vms[world.vms["m1"].id]
        world.lab.set_power(vm, Power.STOPPED, 0.0)
        await world.advance(65)
        assert world.vms["m1"].power is Power.RUNNING


async def test_power_state_off_shuts_the_machine_down_and_on_starts_it() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "Off"}})
        await world.until(lambda: world.vms["m1"].power is Power.STOPPED)
        await world.advance(100)
        assert world.vms["m1"].power is Power.STOPPED
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "On"}})
        await world.until(lambda: world.vms["m1"].power is Power.RUNNING)
        await world.until(lambda: _has_reason(world, "PoweredOn", "Started"))


async def test_renamed_vm_is_left_alone() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        world.lab.vms[world.vms["m1"].id].name = "database"
        claim = await world.phase("Failed", within_s=61.0)
        assert claim.status.failure_reason == "VMNotOwned"
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        assert list(world.vms) == ["database"]


async def test_retain_leaves_the_vm_without_our_marks() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(deletionPolicy="Retain")
        await world.phase("Ready")
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        assert world.vms["m1"].power is Power.RUNNING
        assert world.ours() == []
        await world.advance(700)
        assert "m1" in world.vms


async def test_existing_vm_is_adopted_by_annotation() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim("donor", deletionPolicy="Retain")
        await world.phase("Ready", "donor")
        await world.delete(MachineClaim, "donor")
        await world.gone(MachineClaim, "donor")
        vmid = world.vms["donor"].id
        await world.claim("m1", annotations={"hyperfleet.io/adopt-vm": str(vmid)})
        claim = await world.phase("Ready")
        assert claim.status.vm_ref is not None
        assert (claim.status.vm_ref.vm_id, claim.status.vm_ref.name) == (vmid, "donor")
        assert world.ours() == ["donor"]


async def test_adopted_vm_keeps_its_tags_and_notes_and_gets_them_back() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        vm = world.lab.make_vm(
            150, VMSpec("db", 1, 1 << 30, 1 << 30), node="sim-1", description="by Ann"
        )
        vm.tags = ("production",)
        annotations = {"hyperfleet.io/adopt-vm": "150"}
        await world.claim("m1", annotations=annotations, deletionPolicy="Retain")
        await world.phase("Ready")
        assert world.ours() == ["db"]
        assert "production" in vm.tags
        assert vm.description.startswith("by Ann\n")
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        assert (vm.tags, vm.description) == (("production",), "by Ann")


async def test_vm_of_another_claim_is_not_adopted() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim("m1")
        vmid = (await world.phase("Ready", "m1")).status.vm_ref
        assert vmid is not None
        await world.claim("m2", annotations={"hyperfleet.io/adopt-vm": str(vmid.vm_id)})
        claim = await world.phase("Failed", "m2")
        assert claim.status.failure_reason == "AdoptionRefused"


async def test_full_hypervisor_keeps_the_claim_pending_until_there_is_room() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        for node in world.lab.nodes.values():
            node.memory_used = node.memory_bytes
        await world.claim()
        await world.until(
            lambda: _has_reason(world, "Provisioning", "InsufficientCapacity"), within_s=60.0
        )
        for node in world.lab.nodes.values():
            node.memory_used = 0
        await world.phase("Ready", within_s=120.0)


async def _has_reason(world: World, type_: str, reason: str) -> bool:
    claim = await world.get(MachineClaim, "m1")
    return condition(claim, type_).reason == reason


async def test_failed_clone_is_removed_and_tried_again() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(FailureRule(op="clone_vm", kind=FaultKind.PARTIAL, times=2))
        await world.claim()
        claim = await world.phase("Ready")
        assert claim.status.attempts == 0
        assert world.ours() == ["m1"]


async def test_id_of_a_vm_that_may_not_be_read_is_given_up_at_once() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(
            FailureRule(op="clone_vm", code=Code.ALREADY_EXISTS),
            FailureRule(op="get_vm", code=Code.FORBIDDEN),
        )
        await world.claim()
        await world.phase("Ready", within_s=60.0)
        assert "IdTaken" in await world.events()
        assert world.ours() == ["m1"]


async def test_claim_fails_after_five_tries() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(FailureRule(op="clone_vm", kind=FaultKind.PARTIAL, times=0))
        await world.claim()
        claim = await world.phase("Failed")
        assert claim.status.failure_reason == "ProvisionFailed"
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        assert world.ours() == []


async def test_start_that_reports_failure_but_runs_is_accepted() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(FailureRule(op="power", kind=FaultKind.PARTIAL))
        await world.claim()
        claim = await world.phase("Ready")
        assert claim.status.attempts == 0


async def test_force_delete_goes_without_the_hypervisor() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        world.lab.is_partitioned = True
        await world.delete(MachineClaim, "m1")
        await world.advance(30)
        await world.get(MachineClaim, "m1")
        force = {"metadata": {"annotations": {"hyperfleet.io/force-delete": "true"}}}
        await world.patch(MachineClaim, "m1", force)
        await world.gone(MachineClaim, "m1")
        assert "m1" in world.vms


async def test_vm_whose_claim_is_gone_is_collected_after_its_grace() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        world.lab.is_partitioned = True
        await world.delete(MachineClaim, "m1")
        force = {"metadata": {"annotations": {"hyperfleet.io/force-delete": "true"}}}
        await world.patch(MachineClaim, "m1", force)
        await world.gone(MachineClaim, "m1")
        world.lab.is_partitioned = False
        await world.advance(500)
        assert world.ours() == ["m1"]
        await world.until(lambda: world.ours() == [], within_s=400.0)


async def test_pre_drain_hook_holds_the_deletion_until_its_timeout() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(
            annotations={"pre-drain.hyperfleet.io/backup": "true"}, timeouts={"drain": "2m"}
        )
        await world.phase("Ready")
        await world.delete(MachineClaim, "m1")
        await world.advance(100)
        claim = await world.get(MachineClaim, "m1")
        assert claim.status.phase == "Draining"
        await world.gone(MachineClaim, "m1", within_s=60.0)


async def test_slow_provisioning_times_out() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        world.lab.faults.add(FailureRule(op="clone_vm", times=0, code=Code.LOCKED))
        await world.claim(timeouts={"provision": "3m"})
        claim = await world.phase("Failed", within_s=400.0)
        assert claim.status.failure_reason == "ProvisionTimeout"
        assert "last: CallFailed: clone_vm: " in claim.status.failure_message


async def test_cluster_and_template_are_protected_while_in_use() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.delete(HypervisorMachineTemplate, "small")
        await world.delete(HypervisorCluster, "lab")
        await world.advance(60)
        cluster = await world.get(HypervisorCluster, "lab")
        template = await world.get(HypervisorMachineTemplate, "small")
        assert condition(cluster, "Deleting").reason == "InUse"
        assert condition(template, "Deleting").reason == "InUse"
        text = "used by MachineClaim default/m1: delete these objects first"
        assert condition(template, "Deleting").message == text
        assert "used by HypervisorMachineTemplate default/small, MachineClaim default/m1" in (
            condition(cluster, "Deleting").message
        )
        assert "InUse" in await world.events()
        await world.delete(MachineClaim, "m1")
        await world.gone(MachineClaim, "m1")
        await world.gone(HypervisorMachineTemplate, "small")
        await world.gone(HypervisorCluster, "lab")


async def test_fields_that_nothing_acts_on_are_named() -> None:
    async with open_world() as world, world.operator():
        await world.set_up(dns={"domain": "lab.local", "registerVMs": True})

        async def names_field() -> bool:
            cluster = await world.get(HypervisorCluster, "lab")
            return "spec.dns.registerVMs" in condition(cluster, "Unsupported").message

        await world.until(names_field)


class OneAtATime(SimulatorProvider):
    """A hypervisor that shows addresses only when it is asked for one VM, as Proxmox VE does."""

    async def list_vms(self) -> Sequence[VMInfo]:
        return [vm._replace(ips=()) for vm in await super().list_vms()]


async def test_address_that_no_list_shows_is_asked_for() -> None:
    async def open_provider(settings: ProviderSettings) -> Hypervisor:
        return OneAtATime(world.lab)

    async with open_world() as world, world.operator(providers={"mock": open_provider}):
        await world.set_up()
        await world.claim()
        claim = await world.phase("Ready", within_s=60.0)
        assert claim.status.network_info is not None
        assert claim.status.network_info.ip_address == world.vms["m1"].ips[0]
        await world.advance(120)
        claim = await world.get(MachineClaim, "m1")
        assert claim.status.phase == "Ready"
        assert claim.status.network_info is not None
        assert claim.status.network_info.ip_address


async def test_machines_at_rest_cost_one_list_every_half_minute() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        for number in range(5):
            await world.claim(f"m{number}")
        for number in range(5):
            await world.phase("Ready", f"m{number}")
        await world.advance(35)
        world.lab.journal.clear()
        await world.advance(240)
        counts = world.lab.journal.counts
        assert 7 <= counts["list_vms"] <= 9
        assert set(counts) <= {"list_vms", "test_connection", "list_nodes", "validate_template"}


async def test_breaker_keeps_a_sick_hypervisor_from_being_asked() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        for number in range(10):
            await world.claim(f"m{number}")
        for number in range(10):
            await world.phase("Ready", f"m{number}")
        world.lab.is_partitioned = True
        for number in range(10):
            await world.delete(MachineClaim, f"m{number}")
        await world.advance(20)
        world.lab.journal.clear()
        await world.advance(120)
        assert len(world.lab.journal.entries) < 20
        world.lab.is_partitioned = False
        await world.until(lambda: world.ours() == [], within_s=600.0)


async def test_what_a_claim_waits_for_stands_in_its_ready_condition() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(annotations={"hyperfleet.io/adopt-vm": "1²"})
        await world.until(lambda: _has_reason(world, "Ready", "AdoptionRefused"))
        assert "AdoptionRefused" in await world.events()
        static = {"mode": "static", "staticConfig": {"pool": ["10.0.0.1/24"]}}
        await world.claim("m2", network=static)
        await world.phase("Ready", "m2")
        await world.claim("m3", network=static)

        async def waits() -> bool:
            claim = await world.get(MachineClaim, "m3")
            return condition(claim).reason == "NoFreeAddress"

        await world.until(waits)
        await world.delete(MachineClaim, "m2")
        await world.phase("Ready", "m3")


class Addresses(SimulatorProvider):
    """A hypervisor whose guests report these addresses."""

    ips: tuple[str, ...] = ()

    async def list_vms(self) -> Sequence[VMInfo]:
        return [self._set_addresses(vm) for vm in await super().list_vms()]

    async def get_vm(self, vmid: int) -> VMInfo:
        return self._set_addresses(await super().get_vm(vmid))

    def _set_addresses(self, vm: VMInfo) -> VMInfo:
        return vm._replace(ips=self.ips) if vm.ips else vm


@pytest.mark.parametrize(
    ("ips", "shown"),
    [
        pytest.param(("2001:db8::9", "10.0.0.1"), "10.0.0.1", id="behind another address"),
        pytest.param(("2001:db8::9",), "2001:db8::9", id="never reported"),
    ],
)
async def test_static_address_stays_taken_after_a_restart(ips: tuple[str, ...], shown: str) -> None:
    async def open_provider(settings: ProviderSettings) -> Hypervisor:
        provider = Addresses(world.lab)
        provider.ips = ips
        return provider

    static = {"mode": "static", "staticConfig": {"pool": ["10.0.0.1/24"]}}
    async with open_world() as world:
        async with world.operator(providers={"mock": open_provider}):
            await world.set_up()
            await world.claim(network=static)
            claim = await world.phase("Ready")
            assert claim.status.network_info is not None
            assert claim.status.network_info.ip_address == shown
        async with world.operator(providers={"mock": open_provider}):
            await world.claim("m2", network=static)

            async def waits() -> bool:
                claim = await world.get(MachineClaim, "m2")
                return condition(claim).reason == "NoFreeAddress"

            await world.until(waits)


async def test_claim_that_waits_for_room_is_pending() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(nodeName="nowhere")
        claim = await world.phase("Pending")
        assert condition(claim).reason == "InsufficientCapacity"


async def test_claim_with_a_bad_gateway_makes_no_vm() -> None:
    static = {"ip": "10.0.0.9/24", "gateway": "zz"}
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(network={"mode": "static", "staticConfig": static})
        claim = await world.phase("Pending")
        assert condition(claim).reason == "TemplateInvalid"
        assert (
            "spec.network.staticConfig.gateway: 'zz' must be an IP address"
            in condition(claim).message
        )
        assert world.ours() == []


async def test_hypervisor_that_hangs_delays_the_poll_of_no_other() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        other = world.simulators.get("mock://other")
        lab = await world.client.resource(HypervisorCluster.KIND.gvr).get("lab", "default")
        await world.create(HypervisorCluster, "other", {**lab["spec"], "endpoint": "mock://other"})
        await world.create_template("elsewhere", hypervisorClusterRef={"name": "other"})
        await world.claim(templateRef={"name": "elsewhere"})
        await world.phase("Ready")
        world.lab.faults.add(FailureRule(op="list_vms", kind=FaultKind.HANG, times=0))
        await world.advance(60)
        vm = next(each for each in other.vms.values() if each.name == "m1")
        other.set_power(vm, Power.STOPPED, 0.0)
        await world.until(lambda: vm.power is Power.RUNNING, within_s=120.0)


async def test_timeouts_beyond_all_years_never_run_out() -> None:
    endless = "99999999999h"
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(timeouts={"provision": endless, "bootstrap": endless, "drain": endless})
        await world.phase("Ready")


async def test_machine_made_switched_off_shows_its_address_after_the_first_start() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim(powerState="Off")
        claim = await world.phase("Ready")
        assert claim.status.network_info is None
        await world.patch(MachineClaim, "m1", {"metadata": {"annotations": {"seen": "while off"}}})
        await world.advance(60)
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "On"}})
        await world.phase("Bootstrapping")
        claim = await world.phase("Ready")
        assert claim.status.network_info is not None
        assert claim.status.network_info.ip_address == world.vms["m1"].ips[0]
        assert condition(claim, "PoweredOn").status == "True"


@pytest.mark.parametrize("provider", [SimulatorProvider, OneAtATime], ids=["listed", "asked"])
async def test_restarted_machine_shows_its_new_address(provider: type[SimulatorProvider]) -> None:
    async def open_provider(settings: ProviderSettings) -> Hypervisor:
        return provider(world.lab)

    async with open_world() as world, world.operator(providers={"mock": open_provider}):
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.advance(60)
        vm = world.lab.vms[world.vms["m1"].id]
        world.lab.set_power(vm, Power.STOPPED, 0.0)
        vm.ip = "10.9.9.9"
        await world.until(lambda: _has_address(world, "10.9.9.9"), within_s=300.0)
        await world.advance(300)
        world.lab.journal.clear()
        await world.advance(120)
        assert world.lab.journal.counts["get_vm"] <= (2 if provider is OneAtATime else 0)


@pytest.mark.parametrize("provider", [SimulatorProvider, OneAtATime], ids=["listed", "asked"])
async def test_new_lease_of_a_running_machine_is_seen(provider: type[SimulatorProvider]) -> None:
    async def open_provider(settings: ProviderSettings) -> Hypervisor:
        return provider(world.lab)

    async with open_world() as world, world.operator(providers={"mock": open_provider}):
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        world.lab.vms[world.vms["m1"].id].ip = "10.9.9.9"
        await world.until(lambda: _has_address(world, "10.9.9.9"), within_s=200.0)


async def _has_address(world: World, address: str) -> bool:
    network = (await world.get(MachineClaim, "m1")).status.network_info
    return network is not None and network.ip_address == address
