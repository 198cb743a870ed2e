"""Saves a simulated hypervisor, so that its VMs outlive the process as real ones do."""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from quarterdeck.operators.machines.drivers.simulator.world import SimulatedVM, Simulator
from quarterdeck.operators.machines.machine import CloudInit, Power, VMSpec

_LONG_AGO_S = 1e6


def dump(world: Simulator) -> bytes:
    """Encode everything but tasks, which a restarted hypervisor does not have."""
    world.settle()
    return _encode(world, world.vms, removed=[])


def dump_changes(world: Simulator, vmids: Collection[int]) -> bytes:
    """Encode these VMs as they are now, for `merge_changes` to add to an earlier `dump`."""
    return _encode(
        world,
        [each for each in vmids if each in world.vms],
        removed=[each for each in vmids if each not in world.vms],
    )


def _encode(world: Simulator, vmids: Iterable[int], *, removed: list[int]) -> bytes:
    found = (world.vms[each] for each in vmids)
    vms = [dataclasses.replace(vm, previous=None) for vm in found if not vm.is_template]
    offline = [node.name for node in world.nodes.values() if not node.is_online]
    stored = {"vms": vms, "removed": removed, "offline": offline, "token": world.token}
    return msgspec.json.encode({**stored, "performed": sorted(world.performed)})


def merge_changes(dumps: Iterable[bytes]) -> bytes:
    """Combine a `dump` and the `dump_changes` that followed it into one dump.

    Raises:
        msgspec.DecodeError: if one of them is not what these functions wrote.
    """
    stored: dict[str, Any] = {}
    vms: dict[int, Any] = {}
    for each in dumps:
        stored = msgspec.json.decode(each)
        vms.update((vm["id"], vm) for vm in stored["vms"])
        for vmid in stored.get("removed", ()):
            vms.pop(vmid, None)
    return msgspec.json.encode({**stored, "vms": list(vms.values()), "removed": []})


def load(world: Simulator, data: bytes) -> None:
    """Restore what `dump` has encoded into a new world.

    Raises:
        msgspec.DecodeError: if the data is not what `dump` wrote.
    """
    stored: dict[str, Any] = msgspec.json.decode(data)
    world.token = stored["token"]
    world.performed = set(stored.get("performed", ()))
    world.random.seed(data)  # identities that were given out before do not come again
    for name in stored["offline"]:
        if name in world.nodes:
            world.nodes[name].is_online = False
    for each in stored["vms"]:
        if each["node"] in world.nodes and each["id"] not in world.vms:
            _restore(world, each)


def _restore(world: Simulator, stored: dict[str, Any]) -> None:
    spec = VMSpec(stored["name"], stored["cpu"], stored["memory_bytes"], stored["disk_bytes"])
    vm: SimulatedVM = world.make_vm(
        stored["id"], spec, node=stored["node"], description=stored["description"]
    )
    for name in ("uuid", "mac", "ip", "boot_s"):
        setattr(vm, name, stored[name])
    vm.profile = stored.get("profile", "none")
    vm.tags = tuple(stored["tags"])
    vm.power = Power(stored["power"])
    vm.seed = CloudInit(*stored["seed"]) if stored["seed"] else None
    if vm.power is Power.RUNNING:
        vm.started_at = world.clock.monotonic() - _LONG_AGO_S
