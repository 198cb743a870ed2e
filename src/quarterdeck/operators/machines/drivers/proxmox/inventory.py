"""Reads nodes, VMs and storages of Proxmox VE.

`/cluster/resources` shows every VM in one request, but without descriptions, which name the owner
of a VM. They are read once for each VM and kept for as long as id, node, name and tags stay the
same. A list is therefore good for watching only; before anything is changed the VM's own
configuration is read.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from quarterdeck.kit.ip_address import parse_address
from quarterdeck.operators.machines.drivers.proxmox import vmconfig
from quarterdeck.operators.machines.drivers.proxmox.api import Api, build_path
from quarterdeck.operators.machines.drivers.proxmox.records import (
    AgentInterfaces,
    Config,
    CurrentStatus,
    NodeRow,
    Resource,
    StorageRow,
    parse_config,
)
from quarterdeck.operators.machines.errors import Code, HypervisorError, TransientError, make_error
from quarterdeck.operators.machines.machine import Node, Power, VMInfo
from quarterdeck.operators.machines.ownership import MANAGED_TAG

ONLINE = "online"
SILENT = "unknown"
"""The status of a VM whose node does not answer."""
_READERS = 8
_FAILURES_OF_ALL = (Code.UNAUTHORIZED, Code.TLS, Code.TIMEOUT, Code.RATE_LIMITED)
"""Failures of the server, not of the one VM or node that is read."""
_NOT_MACHINES = ("lo", "docker", "veth", "br-", "cni", "flannel")
_PAUSED = {"paused": Power.PAUSED, "suspended": Power.SUSPENDED, "prelaunch": Power.PAUSED}


class Location(NamedTuple):
    """A VM and the node that it is on."""

    vmid: int
    node: str

    def path(self, *parts: str | int) -> str:
        """A path of the API below the VM."""
        return build_path("nodes", self.node, "qemu", self.vmid, *parts)


class _Seen(NamedTuple):
    node: str
    name: str
    tags: str
    lock: str


class Inventory:
    """Reads of one Proxmox VE."""

    def __init__(self, api: Api, *, storage: str) -> None:
        self._api = api
        self._storage = storage
        self._nodes: dict[int, str] = {}
        self._configs: dict[int, tuple[_Seen, Config]] = {}

    async def list_resources(self) -> list[Resource]:
        """Every VM, container and template; also records the node of each VM."""
        rows = await self._api.get("/cluster/resources", list[Resource], {"type": "vm"})
        self._nodes = {row.vmid: row.node for row in rows if row.type == "qemu"}
        return rows

    async def list_node_rows(self) -> list[NodeRow]:
        """Every node."""
        return await self._api.get("/nodes", list[NodeRow])

    async def list_storages(self, node: str) -> list[StorageRow]:
        """Every storage that a node sees."""
        return await self._api.get(build_path("nodes", node, "storage"), list[StorageRow])

    async def list_nodes(self) -> list[Node]:
        """Nodes with the capacity that is not reserved for VMs.

        A node whose storages cannot be read counts as offline: no VM can be made on it, but on the
        others.
        """
        rows, resources = await self.list_node_rows(), await self.list_resources()
        found = []
        for row in rows:
            free = await self._read_free_storage(row) if row.status == ONLINE else None
            found.append(_read_node(row, resources, free))
        return found

    async def _read_free_storage(self, row: NodeRow) -> int | None:
        """The bytes that are free for disks on a node; None if they cannot be read now."""
        try:
            storages = await self.list_storages(row.node)
        except TransientError as error:
            if error.code in _FAILURES_OF_ALL:
                raise
            return None
        return next((each.avail for each in storages if each.storage == self._storage), 0)

    async def list_vms(self) -> list[VMInfo]:
        """Every VM that is not a template."""
        rows = [
            row for row in await self.list_resources() if row.type == "qemu" and not row.template
        ]
        await self._read_configs(rows)
        listed = []
        for row in rows:
            config = self._configs[row.vmid][1] if row.vmid in self._configs else {}
            listed.append(_list_vm(row, config))
        return listed

    async def _read_configs(self, rows: Sequence[Resource]) -> None:
        """Read the configurations of VMs that are new or have changed, a few at a time.

        Those of a node that does not answer are read when it does: each would wait for it. One that
        cannot be read keeps no other VM from the list.
        """
        wanted = {row.vmid: _Seen(row.node, row.name, row.tags, row.lock) for row in rows}
        for vmid, (seen, _) in list(self._configs.items()):
            if wanted.get(vmid) != seen:
                del self._configs[vmid]
        limit = asyncio.Semaphore(_READERS)

        async def read(vmid: int, seen: _Seen) -> None:
            async with limit:
                try:
                    config = await self.read_config(Location(vmid, seen.node))
                except HypervisorError as error:
                    if error.code in _FAILURES_OF_ALL:
                        raise
                    return  # gone meanwhile, on a node that is down, not ours to see, or broken
                self._configs[vmid] = (seen, config)

        known = {*self._configs, *(row.vmid for row in rows if row.status == SILENT)}
        missing = [item for item in wanted.items() if item[0] not in known]
        await asyncio.gather(*(read(vmid, seen) for vmid, seen in missing))

    def forget(self, vmid: int) -> None:
        """Drop the cached configuration of a VM, because it is about to change."""
        self._configs.pop(vmid, None)

    async def locate(self, vmid: int) -> tuple[Location, Config]:
        """Find the node of a VM, also after a migration, and read its configuration.

        Raises:
            PermanentError: NOT_FOUND.
            ConfigurationError: FORBIDDEN if it exists, and the credentials may not see it.
        """
        if vmid <= 0:
            raise make_error(Code.NOT_FOUND, f"{vmid} is not the id of a VM")
        if (node := self._nodes.get(vmid)) is not None:
            try:
                return Location(vmid, node), await self.read_config(Location(vmid, node))
            except HypervisorError as error:
                if error.code is not Code.NOT_FOUND:
                    raise
        rows = await self.list_resources()
        if (node := self._nodes.get(vmid)) is not None:
            return Location(vmid, node), await self.read_config(Location(vmid, node))
        if any(row.vmid == vmid for row in rows) or await self.is_free(vmid):
            raise make_error(Code.NOT_FOUND, f"VM {vmid} not found")
        text = f"VM {vmid} exists, but the credentials may not read it; they need VM.Audit on it"
        raise make_error(Code.FORBIDDEN, text)

    async def is_free(self, vmid: int) -> bool:
        """Whether the server reports an id as free; it also counts VMs that we may not see.

        Lists leave such VMs out without an error.
        """
        try:
            await self._api.get("/cluster/nextid", str, {"vmid": vmid})
        except HypervisorError as error:
            if error.code in (Code.ALREADY_EXISTS, Code.INVALID_SPEC):
                return False
            raise
        return True

    async def read_config(self, at: Location) -> Config:
        """The configuration of a VM."""
        return parse_config(await self._api.get(at.path("config"), dict[str, Any]))

    async def read_status(self, at: Location) -> CurrentStatus:
        """The current power state of a VM."""
        return await self._api.get(at.path("status", "current"), CurrentStatus)

    async def read_vm(self, at: Location, config: Config) -> VMInfo:
        """A VM with its addresses."""
        current = await self.read_status(at)
        power = _read_power(current)
        is_asked = power is Power.RUNNING and vmconfig.has_agent(config)
        ips = await self._read_addresses(at) if is_asked else ()
        return build_info(at, config)._replace(
            power=power,
            lock=current.lock or config.get("lock", ""),
            uptime_s=float(current.uptime),
            ips=ips,
        )

    async def _read_addresses(self, at: Location) -> tuple[str, ...]:
        """The addresses that the guest agent reports; none while it does not answer."""
        path = at.path("agent", "network-get-interfaces")
        try:
            found = await self._api.get(path, AgentInterfaces)
        except HypervisorError as error:
            if error.code in (Code.UNAUTHORIZED, Code.TLS):
                raise
            return ()
        return tuple(
            address.address
            for interface in found.result
            if not interface.name.startswith(_NOT_MACHINES)
            for address in interface.addresses
            if _is_reachable(address.address)
        )


def _is_reachable(text: str) -> bool:
    """Whether a text is an address of more than the host itself; guests may report any text."""
    found = parse_address(text)
    if found is None:
        return False
    return not (found.is_loopback or found.is_link_local or found.is_unspecified)


def build_info(at: Location, config: Config) -> VMInfo:
    """Describe a VM by its configuration alone, which does not have its power state."""
    return VMInfo(
        id=at.vmid,
        name=config.get("name", ""),
        uuid=vmconfig.find_uuid(config),
        node=at.node,
        power=Power.UNKNOWN,
        lock=config.get("lock", ""),
        mac=vmconfig.find_mac(config),
        tags=vmconfig.parse_tags(config.get("tags", "")),
        description=config.get("description", ""),
        is_template=config.get("template", "0") == "1",
        cpu=int(config.get("cores", "1")) * int(config.get("sockets", "1")),
        memory_bytes=vmconfig.parse_memory(config.get("memory", "0")),
    )


def _list_vm(row: Resource, config: Config) -> VMInfo:
    info = build_info(Location(row.vmid, row.node), config)
    powers = {"running": Power.RUNNING, "stopped": Power.STOPPED, "paused": Power.PAUSED}
    return info._replace(
        name=row.name or info.name,
        tags=vmconfig.parse_tags(row.tags) or info.tags,
        power=powers.get(row.status, Power.UNKNOWN),
        lock=row.lock or info.lock,
        uptime_s=float(row.uptime),
    )


def _read_power(current: CurrentStatus) -> Power:
    if current.status == "stopped":
        return Power.STOPPED
    if current.status != "running":
        return Power.UNKNOWN
    return _PAUSED.get(current.qmpstatus, Power.RUNNING)


def _read_node(row: NodeRow, resources: Sequence[Resource], storage_free: int | None) -> Node:
    """Read a node, which is offline if its free storage is not known.

    Stopped VMs count too if they are managed, because they are started soon.
    """
    here = [each for each in resources if each.node == row.node and not each.template]
    promised = [
        each
        for each in here
        if each.status == "running" or MANAGED_TAG in vmconfig.parse_tags(each.tags)
    ]
    return Node(
        row.node,
        storage_free is not None,
        cpu_total=row.maxcpu,
        cpu_free=max(0, row.maxcpu - int(sum(each.maxcpu for each in promised))),
        memory_total=row.maxmem,
        memory_free=max(0, row.maxmem - sum(each.maxmem for each in promised)),
        storage_free=storage_free or 0,
        vms=len(here),
    )
