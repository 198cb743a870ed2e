"""Clusters and templates are checked for real, and notice when what they stand for is gone."""

import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from tests.integration.operators.machines.world import (
    ENDPOINT,
    HypervisorCluster,
    HypervisorMachineTemplate,
    MachineClaim,
    World,
    condition,
    open_world,
)

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.client.intercept import InterceptingApi
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.drivers.simulator import Simulator, SimulatorProvider
from quarterdeck.operators.machines.drivers.simulator.faults import FailureRule
from quarterdeck.operators.machines.drivers.simulator.persistence import dump, load
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import VMInfo
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings
from quarterdeck.testing import faults

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


CREDENTIALS = {
    "tokenId": {"name": "access", "key": "id"},
    "tokenSecret": {"name": "access", "key": "secret"},
}


async def cluster_is(world: World, reason: str, within_s: float = 400.0) -> HypervisorCluster:
    async def holds() -> HypervisorCluster | None:
        cluster = await world.get(HypervisorCluster, "lab")
        return cluster if condition(cluster).reason == reason else None

    found: HypervisorCluster = await world.until(holds, within_s=within_s)
    return found


async def template_is(world: World, reason: str, within_s: float = 400.0) -> Any:
    async def holds() -> HypervisorMachineTemplate | None:
        template = await world.get(HypervisorMachineTemplate, "small")
        is_it = condition(template, "TemplateValid").reason == reason
        return template if is_it else None

    return await world.until(holds, within_s=within_s)


async def test_cluster_reports_nodes_and_room() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        cluster = await cluster_is(world, "ConnectionSuccessful")
        assert cluster.status.connected_nodes == 3
        assert cluster.status.provider_version == "mock-1.0.0"
        assert {node.name for node in cluster.status.nodes} == {"sim-1", "sim-2", "sim-3"}
        assert cluster.status.available_resources is not None
        assert cluster.status.available_resources.memory == "768Gi"


async def test_unknown_provider_and_missing_nodes_are_named() -> None:
    async with open_world() as world, world.operator():
        await world.set_up(provider="vmware")
        cluster = await cluster_is(world, "ProviderUnknown")
        assert "proxmox" in condition(cluster).message
        await world.patch(HypervisorCluster, "lab", {"spec": {"provider": "MOCK"}})
        await cluster_is(world, "ConnectionSuccessful")
        await world.patch(HypervisorCluster, "lab", {"spec": {"nodes": ["sim-1", "sim-9"]}})
        assert "sim-9" in condition(await cluster_is(world, "NodesMissing")).message


@pytest.mark.parametrize("is_os_error", [False, True])
async def test_provider_that_cannot_be_opened_is_reported_and_tried_again(
    is_os_error: bool,
) -> None:
    async with open_world() as world:
        failures = [OSError("no route") if is_os_error else make_error(Code.TLS, "bad bundle")]

        async def open_late(settings: ProviderSettings) -> Hypervisor:
            if failures:
                raise failures.pop()
            return await world.simulators.open(settings)

        async with world.operator(providers={"mock": open_late}):
            await world.set_up()
            reason = "Unreachable" if is_os_error else "TLSVerificationFailed"
            cluster = await cluster_is(world, reason)
            assert ("no route" if is_os_error else "bad bundle") in condition(cluster).message
            await cluster_is(world, "ConnectionSuccessful")


async def test_rotated_credentials_are_noticed() -> None:
    async with open_world() as world, world.operator():
        world.lab.token = "old"
        await world.set_up(credentials=CREDENTIALS)
        await cluster_is(world, "CredentialsNotFound")
        metadata = ObjectMeta(name="access", namespace="default")
        data = {"id": "me", "secret": "old"}
        await world.client.create(Secret(metadata=metadata, string_data=data))
        first = await cluster_is(world, "ConnectionSuccessful", within_s=5.0)
        assert "old" not in first.status.credentials_hash
        world.lab.token = "new"
        await cluster_is(world, "AuthenticationFailed", within_s=400.0)
        secrets = world.client.resource(Secret.KIND.gvr)
        patch = {"stringData": {"secret": "new"}}
        await secrets.patch("access", patch, namespace="default")
        again = await cluster_is(world, "ConnectionSuccessful", within_s=100.0)
        assert again.status.credentials_hash != first.status.credentials_hash
        assert "CredentialsRotated" in await world.events()


async def test_unreachable_cluster_stops_new_machines_and_recovers() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await cluster_is(world, "ConnectionSuccessful")
        world.lab.is_partitioned = True
        await cluster_is(world, "Unreachable")
        await world.claim()
        await world.phase("Pending")
        await world.advance(120)
        assert world.ours() == []
        world.lab.is_partitioned = False
        await world.phase("Ready", within_s=400.0)


async def test_vanished_template_is_noticed_and_found_again() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        template = await template_is(world, "ValidationSucceeded")
        assert template.status.template_available
        vm = world.lab.vms.pop(9000)
        template = await template_is(world, "ValidationFailed")
        assert not template.status.template_available
        world.lab.vms[9000] = vm
        await template_is(world, "ValidationSucceeded")


async def test_template_larger_than_every_node_is_refused() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        patch = {"spec": {"resources": {"memory": "2Ti"}}}
        await world.patch(HypervisorMachineTemplate, "small", patch)
        template = await template_is(world, "ValidationFailed")
        assert "large enough" in condition(template, "TemplateValid").message


def _config(name: str, purpose: str, **data: str) -> ConfigMap:
    labels = {"hyperfleet.io/config": purpose}
    metadata = ObjectMeta(name=name, namespace="default", labels=labels)
    return ConfigMap(metadata=metadata, data=data)


async def test_feature_flags_are_followed_while_running() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        await world.claim()
        await world.phase("Ready")
        await world.client.create(_config("flags", "features", orphanCollection="false"))
        world.lab.is_partitioned = True
        await world.delete(MachineClaim, "m1")
        force = {"metadata": {"annotations": {"hyperfleet.io/force-delete": "true"}}}
        await world.patch(MachineClaim, "m1", force)
        await world.gone(MachineClaim, "m1")
        world.lab.is_partitioned = False
        await world.advance(700)
        assert world.ours() == ["m1"]
        maps = world.client.resource(ConfigMap.KIND.gvr)
        await maps.patch("flags", {"data": {"orphanCollection": "true"}}, namespace="default")
        await world.until(lambda: world.ours() == [], within_s=120.0)


async def abandon(world: World, *names: str) -> None:
    """Make machines, and delete their claims while the hypervisor does not answer."""
    await world.set_up()
    for name in names:
        await world.claim(name)
    for name in names:
        await world.phase("Ready", name)
    world.lab.is_partitioned = True
    force = {"metadata": {"annotations": {"hyperfleet.io/force-delete": "true"}}}
    for name in names:
        await world.delete(MachineClaim, name)
        await world.patch(MachineClaim, name, force)
    for name in names:
        await world.gone(MachineClaim, name)
    world.lab.is_partitioned = False


async def test_vm_that_cannot_be_removed_keeps_no_other_vm_without_a_claim() -> None:
    async with open_world() as world, world.operator():
        await abandon(world, "m1", "m2")
        world.lab.faults.add(FailureRule(op="power", name="m1", times=0, code=Code.LOCKED))
        await world.until(lambda: world.ours() == ["m1"], within_s=900.0)
        world.lab.faults.clear()
        await world.until(lambda: world.ours() == [], within_s=120.0)


async def test_api_server_that_fails_does_not_end_the_removal_of_vms() -> None:
    async with open_world() as world:
        failing = faults.fail("get", 500, resource="machineclaims", times=3)
        api = InterceptingApi(world.client.raw, [failing])
        async with world.operator(api=SimpleNamespace(raw=api)):
            await abandon(world, "m1")
            await world.until(lambda: world.ours() == [], within_s=1200.0)


class Buggy(SimulatorProvider):
    """A provider that raises what no provider should raise."""

    failures = 3

    async def list_vms(self) -> Sequence[VMInfo]:
        if self.failures:
            self.failures -= 1
            raise ValueError("a bug")
        return await super().list_vms()


async def test_provider_with_a_bug_does_not_end_the_poller() -> None:
    async with open_world() as world:
        provider = Buggy(world.lab)

        async def open_provider(settings: ProviderSettings) -> Hypervisor:
            return provider

        async with world.operator(providers={"mock": open_provider}):
            await world.set_up()
            await world.until(lambda: provider.failures == 0, within_s=600.0)
            await world.claim()
            await world.phase("Ready")


async def test_machines_of_a_cluster_that_is_deleted_go_after_a_restart() -> None:
    async with open_world() as world:
        async with world.operator():
            await world.set_up()
            await world.claim()
            await world.phase("Ready")
            await world.delete(HypervisorCluster, "lab")
            await world.until(lambda: _is_kept(world))
        async with world.operator():
            await world.delete(MachineClaim, "m1")
            await world.gone(MachineClaim, "m1")
            assert world.ours() == []
            await world.delete(HypervisorMachineTemplate, "small")
            await world.gone(HypervisorCluster, "lab")


async def _is_kept(world: World) -> bool:
    cluster = await world.get(HypervisorCluster, "lab")
    return condition(cluster, "Deleting").reason == "InUse"


async def test_static_addresses_come_from_the_pool_and_reach_the_seed() -> None:
    async with open_world() as world, world.operator():
        await world.set_up()
        static = {"pool": ["10.1.0.5-10.1.0.6/24"], "gateway": "10.1.0.1"}
        await world.create_template(
            "fixed",
            network={"mode": "static", "staticConfig": static},
            cloudInit={
                "userData": "runcmd: [echo ${Hostname} ${StaticIP}]",
                "sshAuthorizedKeys": ["ssh-ed25519 AAAA me"],
            },
        )
        for name in ("a", "b", "c"):
            await world.claim(name, templateRef={"name": "fixed"})
        await world.phase("Ready", "a")
        await world.phase("Ready", "b")
        seeds = {vm.name: vm.seed for vm in world.lab.vms.values() if vm.seed is not None}
        networks = [seed.network_data for seed in seeds.values()]
        assert sorted(text.count("10.1.0.5/24") for text in networks) == [0, 1]
        user = seeds["a"].user_data
        assert user.startswith("#cloud-config\n")
        assert "ssh-ed25519 AAAA me" in user
        assert "echo a 10.1.0." in user
        assert (await world.get(MachineClaim, "c")).status.phase in (None, "Pending")


def test_simulated_hypervisor_survives_its_process() -> None:
    clock = VirtualClock()
    world = Simulator(clock)
    from quarterdeck.operators.machines.machine import Power, VMSpec

    spec = VMSpec("m1", 2, 1024**3, 1024**3)
    vm = world.make_vm(150, spec, node="sim-2", description="text")
    vm.tags = ("a", "b")
    world.set_power(vm, Power.RUNNING, 0.0)
    again = Simulator(clock)
    load(again, dump(world))
    (restored,) = again.list_vm_infos()
    assert (restored.id, restored.name, restored.tags) == (150, "m1", ("a", "b"))
    assert (restored.power, restored.uuid, restored.ips) == (Power.RUNNING, vm.uuid, (vm.ip,))
    assert again.nodes["sim-2"].cpu_used == 2


async def test_deleted_cluster_is_forgotten_by_polls_and_metrics(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)

    def count_warnings() -> int:
        return sum("hypervisor cannot be read" in each.getMessage() for each in caplog.records)

    async with open_world() as world, world.operator() as manager:

        def list_series() -> list[str]:
            lines = manager.metrics.registry.render().decode().splitlines()
            return [line for line in lines if 'cluster="default/lab"' in line]

        lab = {
            "provider": "mock",
            "endpoint": ENDPOINT,
            "nodes": list(world.lab.nodes),
            "defaultStorage": "local-lvm",
            "defaultNetwork": "vmbr0",
        }
        await world.create(HypervisorCluster, "lab", lab)
        await world.until(
            lambda: any("hyperfleet_foreign_vms" in s for s in list_series()), within_s=120
        )
        world.lab.is_partitioned = True
        await world.until(lambda: count_warnings() == 1, within_s=120)
        await world.advance(120)
        assert count_warnings() == 1
        await world.delete(HypervisorCluster, "lab")
        await world.gone(HypervisorCluster, "lab")
        await world.until(
            lambda: not any("hyperfleet_foreign_vms" in s for s in list_series()), within_s=120
        )
        assert not [each for each in list_series() if "_capacity" in each or "_phase" in each]
        await world.create(HypervisorCluster, "lab", lab)
        await world.until(lambda: count_warnings() == 2, within_s=120)
