"""Clones of templates: starts them, and fills in their owner until Proxmox VE has stored it.

Proxmox VE writes name and description of a clone last. Until then only this module has its owner.
"""

from typing import NamedTuple

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.proxmox.api import Api
from quarterdeck.operators.machines.drivers.proxmox.inventory import Inventory
from quarterdeck.operators.machines.drivers.proxmox.slots import Slots
from quarterdeck.operators.machines.drivers.proxmox.templates import Source
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import Owner, VMInfo, VMSpec

CLONE_LOCK = "clone"


class CloneRequest(NamedTuple):
    """A VM to be cloned."""

    spec: VMSpec
    vmid: int
    node: str
    linked: bool
    owner: Owner
    storage: str
    """The storage of a full clone's disk; empty for that of the template."""


class Clones:
    """Starts clones, as many at once as there are slots, and has the names of unfinished ones."""

    def __init__(self, api: Api, inventory: Inventory, *, slots: Slots) -> None:
        self._api = api
        self._inventory = inventory
        self._slots = slots
        self._cloning: dict[int, tuple[str, str]] = {}
        """Name and description of VMs that are being cloned."""

    async def start(self, source: Source, request: CloneRequest) -> str:
        """Clone a template, once node and storage have a free slot.

        Returns the id of the task.

        Raises:
            HypervisorError: STORAGE_UNSUPPORTED, TEMPLATE_NOT_FOUND, or why the call failed.
        """
        if request.linked and not source.can_link:
            raise make_error(
                Code.STORAGE_UNSUPPORTED,
                f"storage {source.storage} of type {source.storage_type} has no linked clones; "
                "set linkedClone: false in the template",
                operation="clone_vm",
            )
        vmid, node = request.vmid, request.node
        storage = source.storage if request.linked else request.storage
        places = (f"node {node}", await self._name_storage(source, storage, node))
        await self._slots.acquire(vmid, places)
        self._cloning[vmid] = (request.spec.name, ownership.describe(request.owner))
        self._inventory.forget(vmid)
        task = ""
        try:
            task = await self._copy(source, request)
        finally:
            self._slots.record_task(vmid, task)
        return task

    def name_vm(self, vm: VMInfo) -> VMInfo:
        """Fill in name and description of a VM that we are cloning, which it does not have yet."""
        known = self._cloning.get(vm.id)
        if vm.lock != CLONE_LOCK or known is None or ownership.read_owner(vm) is not None:
            return vm
        return vm._replace(name=known[0], description=known[1])

    def forget(self, vmid: int) -> None:
        """Remove the record of a clone that is not in progress any more."""
        self._cloning.pop(vmid, None)

    def note_end(self, task: str) -> None:
        """Free the slots of a clone whose task has ended."""
        self._slots.release_task(task)

    async def _name_storage(self, source: Source, storage: str, node: str) -> str:
        """Name the slots of a storage; local storage has slots of its own on each node."""
        is_shared = source.is_shared
        if storage != source.storage:
            rows = await self._inventory.list_storages(node)
            is_shared = any(row.shared for row in rows if row.storage == storage)
        return f"storage {storage}" if is_shared else f"storage {storage} of node {node}"

    async def _copy(self, source: Source, request: CloneRequest) -> str:
        try:
            fields = _build_fields(source, request)
            return await self._api.change("POST", source.location.path("clone"), fields)
        except HypervisorError as error:
            error.operation = "clone_vm"
            if error.code is Code.ALREADY_EXISTS:
                self.forget(request.vmid)
            if error.code is Code.NOT_FOUND:
                text = f"template {source.location.vmid} is gone: {error.message}"
                raise make_error(Code.TEMPLATE_NOT_FOUND, text, operation="clone_vm") from error
            raise


def _build_fields(source: Source, request: CloneRequest) -> dict[str, str | int]:
    fields: dict[str, str | int] = {
        "newid": request.vmid,
        "name": request.spec.name,
        "description": ownership.describe(request.owner),
        "full": 0 if request.linked else 1,
    }
    if request.node != source.location.node:
        fields["target"] = request.node
    if request.storage and not request.linked:
        fields["storage"] = request.storage
    return fields
