"""A fleet of simulated machines on a synced store: from nothing to ready, then rolled over.

`python -m bench.peers.machine_fleet MACHINES NODES` prints the figures of each stage as one JSON
object as soon as the stage has ended.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable

from bench.peers.machine_world import World, open_world
from quarterdeck.apis.hypervisor.fleet import Fleet

_LIMIT_S = 600.0
_SHARED_CALLS = frozenset({"list_vms", "list_nodes", "validate_template", "test_connection"})
"""Calls that are made once for all machines."""


async def create_fleet(world: World, count: int) -> dict[str, float]:
    """Bring a fleet from 0 to ready; returns how long it took and what it cost."""
    journal = world.hypervisor.journal
    journal.clear()
    spec = {
        "replicas": count,
        "image": "first",
        "selector": {"app": "web"},
        "strategy": {"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": "5%"}},
    }
    start, spent = time.perf_counter(), time.process_time()
    await world.create(Fleet, "web", spec)
    await _until(world, lambda fleet: fleet.status.ready_replicas == count, lambda: None)
    took_s, cpu_s = time.perf_counter() - start, time.process_time() - spent
    own = sum(made for name, made in journal.counts.items() if name not in _SHARED_CALLS)
    return {
        "ready_s": took_s,
        "ready_cpu_s": cpu_s,
        "calls_each": own / count,
        "list_vms": float(journal.counts["list_vms"]),
    }


async def roll_fleet(world: World, count: int) -> dict[str, float]:
    """Replace every machine; notes the fewest that were ready and the most that existed."""
    lowest, highest = count, count

    def look() -> None:
        nonlocal lowest, highest
        vms = list(world.hypervisor.list_vm_infos())
        lowest = min(lowest, sum(bool(vm.ips) for vm in vms))
        highest = max(highest, len(vms))

    start, spent = time.perf_counter(), time.process_time()
    patch = {"spec": {"image": "second"}}
    await world.client.resource(Fleet.KIND.gvr).patch("web", patch, namespace="default")
    await _until(world, lambda fleet: _is_rolled(fleet, count), look)
    return {
        "roll_s": time.perf_counter() - start,
        "roll_cpu_s": time.process_time() - spent,
        "roll_lowest_%": lowest / count * 100,
        "roll_highest_%": highest / count * 100,
    }


def _is_rolled(fleet: Fleet, count: int) -> bool:
    status = fleet.status
    return (
        status.updated_replicas == count
        and status.ready_replicas == count
        and status.replicas == count
        and status.observed_generation == fleet.metadata.generation
        and status.current_revision == status.update_revision
    )


async def _until(world: World, holds: Callable[[Fleet], bool], look: Callable[[], None]) -> None:
    """Wait for the fleet; `look` is called each time."""
    deadline = time.perf_counter() + _LIMIT_S
    while time.perf_counter() < deadline:
        look()
        fleet = await world.client.get(Fleet, "web", "default")
        if holds(fleet):
            return
        await asyncio.sleep(0.1)
    raise TimeoutError(f"the fleet took longer than {_LIMIT_S} s: {fleet.status}")


async def run(count: int, nodes: int) -> None:
    """Print the figures of both stages."""
    async with open_world(nodes=nodes, most_machines=count) as world, world.run_operator():
        for stage in (create_fleet, roll_fleet):
            print(json.dumps(await stage(world, count)), flush=True)


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]), int(sys.argv[2])))
