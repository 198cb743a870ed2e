"""Many machines at rest: what an operator costs that has nothing to do.

`python -m bench.peers.machine_rest CLAIMS NODES` prints its figures as one JSON object. One claim
is brought to Ready by the operator; the others are stored as copies of it, each with a VM of its
own, and a second operator starts on them, as after a restart. To make 10,000 machines step by
step would take minutes and change nothing about their rest.
"""

import asyncio
import json
import sys
import time

import msgspec

from bench.peers.machine_world import CLUSTER, OPERATOR_UID, World, open_world
from quarterdeck.apis.hypervisor.claim import MachineClaim, MachineClaimSpec, MachineClaimStatus
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.operators.machines.drivers.simulator.settings import GIB
from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM, Simulator
from quarterdeck.operators.machines.machine import Power, VMSpec
from quarterdeck.operators.machines.machinespec import build_owner
from quarterdeck.operators.machines.ownership import build_owner_tags, describe
from quarterdeck.operators.machines.shared_parts import Machines

POLLS = 2
"""How many polls are measured; one comes every 30 s."""
_LIMIT_S = 600.0
_AT_ONCE = 32
_FIRST_ID = 1_000_000


async def run(claims: int, nodes: int) -> dict[str, float]:
    """Processor time of the process with many claims at rest, over two polls."""
    async with open_world(nodes=nodes, most_machines=claims) as world:
        start = time.perf_counter()
        first = await _make_first(world)
        await _copy_claims(world, first, claims, nodes)
        stored_s = time.perf_counter() - start
        async with world.run_operator() as operator:
            async with asyncio.timeout(_LIMIT_S):
                await _await_rest(world, operator, claims)
            figures = await _measure(world.hypervisor)
    return {**figures, "rest_stored_s": stored_s}


async def _make_first(world: World) -> MachineClaim:
    """One claim, made Ready by the operator."""
    await world.client.create(_new_claim("rest-0"))
    async with world.run_operator(), asyncio.timeout(_LIMIT_S):
        while True:
            claim = await world.client.get(MachineClaim, "rest-0", "default")
            if claim.status.phase == "Ready":
                return claim
            await asyncio.sleep(0.1)


def _new_claim(name: str, finalizers: tuple[str, ...] = ()) -> MachineClaim:
    return MachineClaim(
        metadata=ObjectMeta(name=name, namespace="default", finalizers=finalizers),
        spec=MachineClaimSpec(template_ref=ObjectReference(name="first")),
    )


async def _copy_claims(world: World, first: MachineClaim, claims: int, nodes: int) -> None:
    """Store the other claims, each with its VM."""
    numbers = iter(range(1, claims))

    async def copy_next() -> None:
        for number in numbers:
            await _copy(world, first, number, f"sim-{number % nodes + 1}")

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(copy_next())


async def _copy(world: World, first: MachineClaim, number: int, node: str) -> None:
    name = f"rest-{number}"
    made = await world.client.create(_new_claim(name, first.metadata.finalizers))
    assert first.status.vm_ref is not None
    ref = msgspec.structs.replace(
        first.status.vm_ref, name=name, vm_id=_FIRST_ID + number, node=node
    )
    claim = replace(made, status=msgspec.structs.replace(first.status, vm_ref=ref))
    vm = _add_vm(world.hypervisor, claim, node)
    await world.client.update_status(replace(claim, status=_describe(first.status, vm)))


def _add_vm(hypervisor: Simulator, claim: MachineClaim, node: str) -> SimulatedVM:
    """A VM that has run for a while, as the operator would have made it for the claim."""
    owner = build_owner(claim, OPERATOR_UID)
    spec = VMSpec(name=owner.vm_name, cpu=1, memory_bytes=GIB, disk_bytes=10 * GIB)
    assert claim.status.vm_ref is not None
    vm = hypervisor.make_vm(claim.status.vm_ref.vm_id, spec, node=node, description=describe(owner))
    vm.tags, vm.power, vm.boot_s = build_owner_tags(owner), Power.RUNNING, 0.0
    return vm


def _describe(first: MachineClaimStatus, vm: SimulatedVM) -> MachineClaimStatus:
    """The status of the first claim with the names and addresses of another VM."""
    assert first.vm_ref is not None and first.network_info is not None
    copied = msgspec.structs.replace
    conditions = [
        copied(
            each,
            message=each.message.replace(f"VM {first.vm_ref.vm_id} ", f"VM {vm.id} ").replace(
                f"node {first.vm_ref.node}", f"node {vm.node}"
            ),
        )
        for each in first.conditions
    ]
    return copied(
        first,
        vm_ref=copied(first.vm_ref, name=vm.name, vm_id=vm.id, node=vm.node),
        network_info=copied(first.network_info, ip_address=vm.ip, mac_address=vm.mac),
        conditions=tuple(conditions),
    )


async def _await_rest(world: World, operator: Machines, claims: int) -> None:
    """Wait until the operator has seen every machine, and for the end of one poll after that."""
    while True:
        known = operator.expected_machines.list_cluster(CLUSTER)
        if sum(each.verdict is not None for each in known) == claims:
            break
        await asyncio.sleep(0.5)
    for claim in await world.client.list(MachineClaim, "default"):
        if claim.status.phase != "Ready":
            raise RuntimeError(f"claim {claim.metadata.name} is {claim.status.phase}, not Ready")
    await _await_polls(world.hypervisor, 1)


async def _await_polls(hypervisor: Simulator, polls: int) -> None:
    """Wait until the VMs have been listed so often, and for what follows from the last list."""
    counts = hypervisor.journal.counts
    last = counts["list_vms"] + polls
    while counts["list_vms"] < last:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    await asyncio.sleep(1.0)


async def _measure(hypervisor: Simulator) -> dict[str, float]:
    """From the end of one poll to the end of another: never a part of one."""
    listed = hypervisor.journal.counts["list_vms"]
    spent, start = time.process_time(), time.perf_counter()
    await _await_polls(hypervisor, POLLS)
    took_s = time.perf_counter() - start
    made = hypervisor.journal.counts["list_vms"] - listed
    return {
        "rest_%": (time.process_time() - spent) / took_s * 100,
        "rest_lists_a_minute": made / took_s * 60,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(run(int(sys.argv[1]), int(sys.argv[2])))), flush=True)
