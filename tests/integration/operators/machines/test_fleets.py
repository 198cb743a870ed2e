"""Fleets on the simulator: numbers, roll-outs, repair, expiry."""

from collections import Counter
from typing import Any

import pytest
from tests.integration.operators.machines.world import (
    Fleet,
    HypervisorCluster,
    HypervisorMachineTemplate,
    MachineClaim,
    World,
    condition,
    open_world,
)

from quarterdeck.meta.identity import GVR
from quarterdeck.operators.machines.drivers.simulator import FailureRule, FaultKind
from quarterdeck.operators.machines.drivers.simulator.controls import Action, perform
from quarterdeck.operators.machines.machine import Power
from quarterdeck.wire.status import Invalid

pytestmark = pytest.mark.slow  # on a busy machine: virtual time needs many turns of the loop


async def make(world: World, replicas: int = 3, **spec: Any) -> None:
    await world.set_up()
    await world.create(
        Fleet,
        "web",
        {"replicas": replicas, "image": "small", "selector": {"app": "web"}, **spec},
    )


async def complete(world: World, replicas: int = 3, within_s: float = 300.0) -> Fleet:
    """Wait until all machines have the newest revision and are available."""

    async def holds() -> Fleet | None:
        fleet = await world.get(Fleet, "web")
        status = fleet.status
        is_seen = status.observed_generation == fleet.metadata.generation
        is_done = condition(fleet, "Progressing").reason == "UpdateComplete"
        right = status.available_replicas == status.updated_replicas == replicas
        return fleet if is_seen and is_done and right else None

    try:
        found: Fleet = await world.until(holds, within_s=within_s)
    except AssertionError:
        fleet = await world.get(Fleet, "web")
        raise AssertionError(f"not complete: {fleet.status}") from None
    return found


async def test_fleet_has_as_many_machines_as_it_should() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        fleet = await complete(world)
        assert len(world.ours()) == 3
        assert fleet.status.selector == "app=web"
        claims = await world.list_all(MachineClaim)
        assert {claim.metadata.labels["app"] for claim in claims} == {"web"}
        nodes = {claim.status.vm_ref.node for claim in claims if claim.status.vm_ref}
        assert len(nodes) == 3


async def test_scale_subresource_changes_the_number() -> None:
    async with open_world() as world, world.operator():
        await make(world, 2)
        await complete(world, 2)
        fleets = world.client.resource(GVR("hypervisor.hyperfleet.io", "v1alpha1", "fleets"))
        await fleets.patch("web", {"spec": {"replicas": 4}}, namespace="default")
        await complete(world, 4)
        await world.patch(Fleet, "web", {"spec": {"replicas": 1}})
        await complete(world, 1)
        await world.until(lambda: len(world.ours()) == 1)


async def test_claims_are_applied_by_the_named_field_manager() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1)
        await complete(world, 1)
        claims = world.client.resource(MachineClaim.KIND.gvr)
        (claim,) = await claims.list("default")
        managers = {each["manager"] for each in claim["metadata"]["managedFields"]}
        assert "hyperfleet-controller" in managers


async def _watch_roll_out(world: World, replicas: int) -> tuple[int, int]:
    """Let an update finish; returns the fewest ready and the most VMs that were ever seen."""
    lowest, highest = replicas, replicas

    async def holds() -> bool:
        nonlocal lowest, highest
        ready = sum(bool(vm.ips) for vm in world.lab.list_vm_infos())
        lowest, highest = min(lowest, ready), max(highest, len(world.vms))
        fleet = await world.get(Fleet, "web")
        reason = condition(fleet, "Progressing").reason
        return (
            fleet.status.current_revision == fleet.status.update_revision
            and fleet.status.observed_generation == fleet.metadata.generation
            and reason == "UpdateComplete"
            and len(world.ours()) == replicas
        )

    await world.until(holds, within_s=600.0)
    return lowest, highest


async def test_changed_template_rolls_the_fleet_within_its_limits() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        before = await complete(world)
        old = set(world.ours())
        patch = {"spec": {"resources": {"cpu": 2}}}
        await world.patch(HypervisorMachineTemplate, "small", patch)
        await world.until(
            lambda: _revision_differs(world, before.status.update_revision), within_s=30.0
        )
        lowest, highest = await _watch_roll_out(world, 3)
        assert lowest >= 3
        assert highest <= 4
        assert not old & set(world.ours())
        assert {vm.cpu for vm in world.lab.vms.values() if not vm.is_template} == {2}


async def _revision_differs(world: World, revision: str) -> bool:
    return (await world.get(Fleet, "web")).status.update_revision != revision


async def test_surge_zero_never_has_more_machines_than_its_number() -> None:
    async with open_world() as world, world.operator():
        strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        await make(world, strategy=strategy)
        before = await complete(world)
        await world.create_template("next", resources={"cpu": 2, "memory": "1Gi", "disk": "10Gi"})
        await world.patch(Fleet, "web", {"spec": {"image": "next"}})
        await world.until(lambda: _revision_differs(world, before.status.update_revision))
        lowest, highest = await _watch_roll_out(world, 3)
        assert (lowest >= 2, highest) == (True, 3)


async def test_paused_fleet_waits_and_old_image_rolls_back() -> None:
    async with open_world() as world, world.operator():
        await make(world, 2)
        first = await complete(world, 2)
        await world.create_template("next", resources={"cpu": 2, "memory": "1Gi", "disk": "10Gi"})
        await world.patch(Fleet, "web", {"spec": {"image": "next", "paused": True}})
        await world.advance(120)
        assert {vm.cpu for vm in world.lab.vms.values() if not vm.is_template} == {1}
        await world.patch(Fleet, "web", {"spec": {"paused": False}})
        await _watch_roll_out(world, 2)
        await world.patch(Fleet, "web", {"spec": {"image": "small"}})
        await world.until(lambda: _revision_is(world, first.status.update_revision))
        await _watch_roll_out(world, 2)
        fleet = await world.get(Fleet, "web")
        assert [each.revision for each in fleet.status.revisions] == [2, 3]
        assert {vm.cpu for vm in world.lab.vms.values() if not vm.is_template} == {1}


async def _revision_is(world: World, revision: str) -> bool:
    return (await world.get(Fleet, "web")).status.update_revision == revision


async def test_stopped_machine_is_repaired() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await complete(world)
        victim = world.vms[world.ours()[0]]
        world.lab.set_power(world.lab.vms[victim.id], Power.STOPPED, 0.0)
        await world.until(lambda: victim.name not in world.ours(), within_s=120.0)
        await complete(world)
        assert len(world.ours()) == 3


async def test_mass_loss_is_not_repaired_in_an_endless_loop() -> None:
    async with open_world() as world, world.operator():
        await make(world, 5)
        await complete(world, 5)
        for name in world.ours()[:3]:
            world.lab.remove(world.vms[name].id)
        await world.advance(200)
        fleet = await world.get(Fleet, "web")
        assert condition(fleet, "RemediationAllowed").reason == "TooManyUnhealthy"
        assert len(world.ours()) == 2, "what is lost is not replaced"
        assert len(await world.list_all(MachineClaim)) == 5
        await world.patch(Fleet, "web", {"spec": {"healthCheck": {"maxUnhealthy": "100%"}}})
        await complete(world, 5)
        assert len(await world.list_all(MachineClaim)) == 5


async def test_fleet_of_one_machine_is_repaired() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1)
        await complete(world, 1)
        lost = world.ours()
        world.lab.remove(world.vms[lost[0]].id)
        await world.until(lambda: world.ours() not in ([], lost), within_s=120.0)
        await complete(world, 1)
        assert len(await world.list_all(MachineClaim)) == 1


async def test_machines_that_never_start_are_replaced_with_growing_pauses() -> None:
    async with open_world() as world, world.operator():
        world.lab.faults.add(FailureRule(op="clone_vm", kind=FaultKind.PARTIAL, times=12))
        await make(world, 1)
        await complete(world, 1, within_s=900.0)
        assert len(world.ours()) == 1


async def test_old_machines_are_replaced() -> None:
    async with open_world() as world, world.operator():
        await make(world, 2, maxLifetime="5m")
        await complete(world, 2)
        old = set(world.ours())
        await world.advance(340)
        await complete(world, 2)
        await world.until(lambda: not old & set(world.ours()) and len(world.ours()) == 2)


async def test_machines_are_counted_although_the_image_is_unknown() -> None:
    async with open_world() as world, world.operator():
        await make(world, 3)
        await complete(world, 3)
        await world.patch(Fleet, "web", {"spec": {"image": "nginx:latest"}})
        await world.until(lambda: _image_reason(world, "ImageNotFound"))
        for claim in (await world.list_all(MachineClaim))[:2]:
            await world.delete(MachineClaim, claim.metadata.name)

        async def is_counted() -> bool:
            status = (await world.get(Fleet, "web")).status
            return (status.replicas, status.available_replicas) == (1, 1)

        await world.until(is_counted)
        fleet = await world.get(Fleet, "web")
        assert fleet.status.unavailable_replicas == 2
        assert condition(fleet, "Available").status == "False"
        assert condition(fleet, "Available").message == "1 of 3 machines are available"
        await world.patch(Fleet, "web", {"spec": {"image": "small"}})
        await complete(world, 3)


async def test_a_fleet_shrinks_although_the_image_is_unknown() -> None:
    async with open_world() as world, world.operator():
        await make(world, 3)
        await complete(world, 3)
        await world.patch(Fleet, "web", {"spec": {"image": "nginx:latest", "replicas": 1}})
        await world.until(lambda: len(world.ours()) == 1, within_s=120.0)
        await world.advance(60)
        fleet = await world.get(Fleet, "web")
        assert (fleet.status.replicas, len(world.ours())) == (1, 1)
        assert condition(fleet, "ImageResolved").reason == "ImageNotFound"
        assert condition(fleet, "Available").status == "True"


async def test_quiet_time_does_not_count_for_the_deadline() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1, progressDeadlineSeconds=60)
        await complete(world, 1)
        await world.advance(700)
        await world.patch(Fleet, "web", {"spec": {"replicas": 2}})
        await complete(world, 2)
        assert "DeadlineExceeded" not in await world.events()


async def test_pause_does_not_count_for_the_deadline() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1, progressDeadlineSeconds=60)
        await complete(world, 1)
        await world.create_template("large")
        await world.patch(Fleet, "web", {"spec": {"paused": True, "image": "large"}})
        await world.advance(700)
        await world.patch(Fleet, "web", {"spec": {"paused": False}})
        await complete(world, 1)
        assert "DeadlineExceeded" not in await world.events()


async def test_unknown_image_is_reported_and_found_later() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1, image="nginx:latest")
        await world.until(lambda: _image_reason(world, "ImageNotFound"))
        labels = {"hyperfleet.io/image": "nginx", "hyperfleet.io/image-tag": "latest"}
        await world.patch(HypervisorMachineTemplate, "small", {"metadata": {"labels": labels}})
        await complete(world, 1)


async def _image_reason(world: World, reason: str) -> bool:
    return condition(await world.get(Fleet, "web"), "ImageResolved").reason == reason


async def test_deleted_fleet_takes_its_machines_along() -> None:
    async with open_world() as world, world.operator():
        await make(world, 2)
        await complete(world, 2)
        await world.delete(Fleet, "web")
        await world.until(lambda: world.ours() == [], within_s=120.0)
        await world.gone(Fleet, "web")


async def test_machines_of_a_dead_node_are_replaced_and_removed_when_it_returns() -> None:
    async with open_world() as world, world.operator():
        await make(world)
        await complete(world)
        victim = next(vm for vm in world.vms.values() if vm.node == "sim-1")
        world.lab.nodes["sim-1"].is_online = False
        await world.advance(100)
        assert len(world.vms) == 3

        async def is_replaced() -> bool:
            claims = await world.list_all(MachineClaim)
            ready = [claim for claim in claims if claim.status.phase == "Ready"]
            nodes = {claim.status.vm_ref.node for claim in ready if claim.status.vm_ref}
            return len(ready) == 3 and "sim-1" not in nodes

        await world.until(is_replaced, within_s=300.0)
        assert victim.name in world.vms
        perform(world.lab, Action(id="1", action="revive-node", node="sim-1"))
        await world.until(lambda: victim.name not in world.vms, within_s=400.0)
        assert len(world.ours()) == 3


async def test_roll_out_survives_restarts_of_the_operator() -> None:
    async with open_world() as world:
        async with world.operator():
            await make(world)
            await complete(world)
            old = {vm.uuid for vm in world.lab.list_vm_infos()}
            await world.create_template(
                "next", resources={"cpu": 2, "memory": "1Gi", "disk": "10Gi"}
            )
            await world.patch(Fleet, "web", {"spec": {"image": "next"}})
            await world.advance(1.0)
        for number in range(6):
            async with world.operator():
                await world.advance(0.7 + number * 0.9)
            assert len(world.vms) <= 4
        async with world.operator():
            await complete(world)
            await world.until(lambda: not old & {vm.uuid for vm in world.lab.list_vm_infos()})
            await world.until(lambda: len(world.ours()) == 3)
        assert {vm.cpu for vm in world.lab.vms.values() if not vm.is_template} == {2}
        vmids = [vm.id for vm in world.lab.list_vm_infos()]
        claims = await world.list_all(MachineClaim)
        assert sorted(vmids) == sorted(c.status.vm_ref.vm_id for c in claims if c.status.vm_ref)


async def _add_cluster(world: World, name: str) -> None:
    """Another cluster, with a template of the image `debian:12` on it."""
    spec = {
        "provider": "mock",
        "endpoint": f"mock://{name}",
        "nodes": ["sim-1", "sim-2", "sim-3"],
        "defaultStorage": "s",
        "defaultNetwork": "n",
    }
    await world.create(HypervisorCluster, name, spec)
    template = {
        "hypervisorClusterRef": {"name": name},
        "template": {"mock": {}},
        "resources": {"cpu": 1, "memory": "1Gi", "disk": "10Gi"},
        "bootstrap": {"method": "none"},
    }
    labels = {"hyperfleet.io/image": "debian", "hyperfleet.io/image-tag": "12"}
    await world.create(HypervisorMachineTemplate, f"debian-{name}", template, labels=labels)

    async def is_available() -> bool:
        found = await world.get(HypervisorMachineTemplate, f"debian-{name}")
        return found.status.template_available

    await world.until(is_available)


async def _count_by_cluster(world: World) -> Counter[str]:
    claims = await world.list_all(MachineClaim)
    ready = [each for each in claims if each.status.phase == "Ready" and each.status.vm_ref]
    return Counter(each.metadata.labels["hyperfleet.io/cluster"] for each in ready)


@pytest.mark.parametrize(
    ("placement", "counts"),
    [
        ({"spread": "cluster"}, {"east": 2, "north": 2, "west": 2}),
        ({"clusters": ["east", "west"]}, {"east": 3, "west": 3}),
        ({"clusters": ["north"]}, {"north": 6}),
    ],
)
async def test_machines_are_spread_over_clusters(
    placement: dict[str, Any], counts: dict[str, int]
) -> None:
    async with open_world() as world, world.operator():
        for name in ("east", "north", "west"):
            await _add_cluster(world, name)
        spec = {"image": "debian:12", "selector": {"app": "web"}, "replicas": 6}
        await world.create(Fleet, "web", {**spec, "placement": placement})

        async def holds() -> bool:
            return await _count_by_cluster(world) == counts

        await world.until(holds)


async def test_fleet_names_the_clusters_that_lack_its_image() -> None:
    async with open_world() as world, world.operator():
        await _add_cluster(world, "east")
        spec = {"image": "debian:12", "selector": {"app": "web"}, "replicas": 1}
        await world.create(Fleet, "web", {**spec, "placement": {"clusters": ["west"]}})

        async def holds() -> bool:
            fleet = await world.get(Fleet, "web")
            found = condition(fleet, "ImageResolved")
            return "on east" in found.message and "allows only west" in found.message

        await world.until(holds)
        await _add_cluster(world, "west")

        async def is_there() -> bool:
            return await _count_by_cluster(world) == {"west": 1}

        await world.until(is_there)


async def test_machines_avoid_a_cluster_whose_template_is_gone() -> None:
    async with open_world() as world, world.operator():
        for name in ("east", "west"):
            await _add_cluster(world, name)
        world.simulators.get("mock://west").remove(9000)
        spec = {"image": "debian:12", "selector": {"app": "web"}, "replicas": 3}

        async def is_noticed() -> bool:
            west = await world.get(HypervisorMachineTemplate, "debian-west")
            return condition(west, "TemplateValid").reason == "ValidationFailed"

        await world.until(is_noticed, within_s=400.0)
        await world.create(Fleet, "web", {**spec, "placement": {"spread": "cluster"}})

        async def holds() -> bool:
            return await _count_by_cluster(world) == {"east": 3}

        await world.until(holds)


async def test_labels_of_a_selector_may_stand_in_match_labels() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1, selector={"matchLabels": {"app": "web"}})
        fleet = await complete(world, 1)
        assert fleet.status.selector == "app=web"
        (claim,) = await world.list_all(MachineClaim)
        assert claim.metadata.labels["app"] == "web"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"app": "web"}, {"app": "api"}, id="another value"),
        pytest.param({"app": "web"}, {"app": None, "tier": "web"}, id="another label"),
        pytest.param(
            {"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "api"}}, id="in matchLabels"
        ),
    ],
)
async def test_selector_cannot_be_changed(before: dict[str, Any], after: dict[str, Any]) -> None:
    async with open_world() as world:
        await make(world, 1, selector=before)
        with pytest.raises(Invalid, match="selector is immutable"):
            await world.client.resource(Fleet.KIND.gvr).patch(
                "web", {"spec": {"selector": after}}, namespace="default"
            )


async def test_name_that_is_too_long_for_a_label_stalls_the_fleet() -> None:
    name = "web-" + "x" * 60
    async with open_world() as world, world.operator():
        await world.set_up()
        spec = {"replicas": 1, "image": "small", "selector": {"app": "web"}}
        await world.create(Fleet, name, spec)

        async def holds() -> str:
            fleet = await world.get(Fleet, name)
            found = [each for each in fleet.status.conditions if each.type == "Progressing"]
            return found[0].message if found and found[0].reason == "InvalidLabels" else ""

        assert await world.until(holds, within_s=60.0) == (
            f"machines cannot get the label hyperfleet.io/fleet={name}: "
            "must be no more than 63 characters"
        )


async def test_selector_that_names_no_label_stalls_the_fleet() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1, selector={"app": 5})

        async def holds() -> str:
            fleet = await world.get(Fleet, "web")
            found = [each for each in fleet.status.conditions if each.type == "Progressing"]
            return found[0].message if found and found[0].reason == "InvalidSelector" else ""

        assert (
            await world.until(holds, within_s=60.0) == "spec.selector.app must be a string, not 5"
        )


async def test_fleet_says_why_its_machines_do_not_start() -> None:
    static = {"pool": ["10.0.0.9/24"], "gateway": "zz"}
    network = {"mode": "static", "staticConfig": static}
    async with open_world() as world, world.operator():
        await make(world, 1, template={"spec": {"network": network}})

        async def holds() -> Fleet | None:
            fleet = await world.get(Fleet, "web")
            return fleet if condition(fleet, "ReplicaFailure").status == "True" else None

        found = condition(await world.until(holds), "ReplicaFailure")
        assert found.reason == "TemplateInvalid"
        assert "1 machine not started, web-" in found.message
        assert "spec.network.staticConfig.gateway: 'zz' must be an IP address" in found.message


async def test_lifetime_of_zero_replaces_nothing() -> None:
    async with open_world() as world, world.operator():
        await make(world, 1, maxLifetime="0s")
        await complete(world, 1)
        before = world.ours()
        await world.advance(600)
        assert world.ours() == before


async def test_schedule_that_cannot_be_read_is_named() -> None:
    budget = {"nodes": 1, "schedule": "61 * * * *"}
    async with open_world() as world, world.operator():
        await make(world, 1, disruption={"budgets": [budget]})
        found = condition(await complete(world, 1), "Unsupported")
        assert found.status == "True"
        assert "spec.disruption.budgets[0].schedule" in found.message
        assert "'61' is not within 0-59" in found.message
