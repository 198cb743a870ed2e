"""A Proxmox VE as the operator uses it."""

from collections.abc import Sequence
from urllib.parse import quote

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.nocloud import build_seed_image
from quarterdeck.operators.machines.drivers.proxmox import vmconfig
from quarterdeck.operators.machines.drivers.proxmox.api import Api
from quarterdeck.operators.machines.drivers.proxmox.clones import CLONE_LOCK, CloneRequest, Clones
from quarterdeck.operators.machines.drivers.proxmox.identifiers import Identifiers
from quarterdeck.operators.machines.drivers.proxmox.inventory import (
    ONLINE,
    Inventory,
    Location,
    build_info,
)
from quarterdeck.operators.machines.drivers.proxmox.records import Config, Version
from quarterdeck.operators.machines.drivers.proxmox.seeds import Seeds
from quarterdeck.operators.machines.drivers.proxmox.slots import Slots
from quarterdeck.operators.machines.drivers.proxmox.tasks import Tasks
from quarterdeck.operators.machines.drivers.proxmox.templates import Templates
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import (
    Capability,
    CloudInit,
    ConnectionInfo,
    Node,
    Owner,
    PowerAction,
    TaskInfo,
    TaskRef,
    TaskState,
    TemplateInfo,
    TemplateRef,
    VMInfo,
    VMSpec,
)
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings

SEED_DRIVE = "ide2"
EMPTY_DRIVE = "none,media=cdrom"
_SHUTDOWN_S = 120
_VERBS = {
    PowerAction.ON: "start",
    PowerAction.OFF: "stop",
    PowerAction.SHUTDOWN: "shutdown",
    PowerAction.REBOOT: "reboot",
}
_STARTS = (PowerAction.ON, PowerAction.REBOOT)


class ProxmoxProvider:
    """One operator's connection to one Proxmox VE, cluster or single host."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._clock: Clock = settings.clock
        self._api = Api(settings)
        self._inventory = Inventory(self._api, storage=settings.storage)
        self._templates = Templates(self._inventory)
        self._seeds = Seeds(self._api, self._inventory, storage=settings.storage)
        self._tasks = Tasks(self._api, self._inventory, clock=settings.clock)
        self._identifiers = Identifiers(self._inventory, clock=settings.clock)
        self._clones = Clones(
            self._api,
            self._inventory,
            slots=Slots(
                settings.max_concurrent_operations,
                clock=settings.clock,
                is_running=self._tasks.is_running,
            ),
        )

    @property
    def name(self) -> str:
        """The provider's name."""
        return "proxmox"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Everything but snapshots and live resize, which the operator does not use."""
        return frozenset(Capability) - {Capability.SNAPSHOTS, Capability.LIVE_RESIZE}

    # --- inventory

    async def test_connection(self) -> ConnectionInfo:
        """Read the version, which requires valid credentials."""
        version = await self._api.get("/version", Version)
        metadata = {"provider": "proxmox", "type": "pve", "release": version.release}
        return ConnectionInfo(version.version, metadata)

    async def list_nodes(self) -> Sequence[Node]:
        """Every node."""
        return await self._inventory.list_nodes()

    async def validate_template(self, template: TemplateRef) -> TemplateInfo:
        """The template that the reference matches."""
        return await self._templates.find(template)

    async def list_vms(self) -> Sequence[VMInfo]:
        """Every VM; power states may be some seconds old."""
        return [self._clones.name_vm(vm) for vm in await self._inventory.list_vms()]

    async def get_vm(self, vmid: int) -> VMInfo:
        """One VM, as it is now."""
        at, config = await self._inventory.locate(vmid)
        vm = self._clones.name_vm(await self._inventory.read_vm(at, config))
        if vm.lock == CLONE_LOCK and ownership.read_owner(vm) is None:
            raise make_error(
                Code.LOCKED,
                f"VM {vmid} is being cloned; its owner is known when the clone task has ended",
                operation="get_vm",
                retry_after_s=2.0,
            )
        if vm.lock != CLONE_LOCK:
            self._clones.forget(vmid)
        return vm

    # --- provisioning

    async def reserve_id(self, *, start: int, end: int, taken: frozenset[int]) -> int:
        """Reserve a free id; concurrent calls get different ones."""
        return await self._identifiers.reserve(start=start, end=end, taken=taken)

    async def clone_vm(
        self,
        template: TemplateInfo,
        spec: VMSpec,
        *,
        vmid: int,
        node: str,
        linked: bool,
        owner: Owner,
    ) -> TaskRef | None:
        """Clone a template, once node and storage have a free slot."""
        source = await self._templates.choose_source(template, node)
        storage = spec.storage or self._settings.storage
        request = CloneRequest(spec, vmid, node, linked, owner, storage)
        task = await self._clones.start(source, request)
        return _build_reference(task, source.location.node, "clone_vm")

    async def configure_vm(self, vmid: int, spec: VMSpec, *, owner: Owner) -> TaskRef | None:
        """Grow the disk, replace a copied vTPM, then set everything else in one task."""
        at, config = await self._get_owned(vmid, owner, "configure_vm")
        await self._grow_disk(at, config, spec.disk_bytes)
        storage = spec.storage or self._settings.storage
        fields: dict[str, str | int] = {
            "cores": spec.cpu,
            "sockets": 1,
            "memory": max(16, spec.memory_bytes // vmconfig.MIB),
            "tags": vmconfig.build_tags((*ownership.build_owner_tags(owner), *spec.tags)),
            "description": ownership.describe(owner),
            **vmconfig.build_nics(config, spec.nics),
        }
        if spec.has_tpm or "tpmstate0" in config:
            await self._remove_tpm(at, config)
            fields["tpmstate0"] = vmconfig.build_tpm(storage)
        if spec.has_tpm:
            fields |= vmconfig.build_firmware(config, storage)
        self._inventory.forget(vmid)
        task = await self._api.change("POST", at.path("config"), fields)
        return _build_reference(task, at.node, "configure_vm")

    async def _remove_tpm(self, at: Location, config: Config) -> None:
        """Delete the state of a cloned vTPM, because it has the keys of the template."""
        if "tpmstate0" in config:
            fields: dict[str, str | int] = {"delete": "tpmstate0", "force": 1}
            await self._tasks.finish(await self._api.change("PUT", at.path("config"), fields))

    async def _grow_disk(self, at: Location, config: Config, size: int) -> None:
        disk, before = vmconfig.find_disk(config), vmconfig.read_disk_size(config)
        if disk and before and size > before:
            fields = {"disk": disk, "size": f"{-(-size // vmconfig.MIB)}M"}
            await self._tasks.finish(await self._api.change("PUT", at.path("resize"), fields))

    async def inject_cloud_init(self, vmid: int, data: CloudInit, *, owner: Owner) -> None:
        """Upload the seed, attach it, and remove those that it replaces."""
        image = build_seed_image(data)
        at, _ = await self._get_owned(vmid, owner, "inject_cloud_init")
        volume, task = await self._seeds.upload(at.node, image, owner)
        await self._tasks.finish(task)
        fields = {SEED_DRIVE: f"{volume},media=cdrom"}
        await self._tasks.finish(await self._api.change("PUT", at.path("config"), fields))
        await self._seeds.remove(at.node, owner, keep=volume)

    async def detach_cloud_init(self, vmid: int, *, owner: Owner) -> None:
        """Empty the drive, which works while the guest runs, and remove its images."""
        at, config = await self._get_owned(vmid, owner, "detach_cloud_init")
        if SEED_DRIVE in config and config[SEED_DRIVE] != EMPTY_DRIVE:
            fields = {SEED_DRIVE: EMPTY_DRIVE}
            await self._tasks.finish(await self._api.change("PUT", at.path("config"), fields))
        await self._seeds.remove(at.node, owner)

    async def delete_vm(self, vmid: int, *, owner: Owner) -> TaskRef | None:
        """Delete a stopped VM; its seed first, because no later step would delete it."""
        if vmid <= 0:
            return None
        try:
            at, _ = await self._get_owned(vmid, owner, "delete_vm")
            if (await self._inventory.read_status(at)).status != "stopped":
                raise make_error(
                    Code.RUNNING, f"VM {vmid} is running; stop it first", operation="delete_vm"
                )
            await self._seeds.remove(at.node, owner)
            fields = {"purge": 1, "destroy-unreferenced-disks": 1}
            self._inventory.forget(vmid)
            task = await self._api.change("DELETE", at.path(), fields)
        except HypervisorError as error:
            if error.code is not Code.NOT_FOUND:
                raise
            self._clones.forget(vmid)
            await self._remove_left_seed(owner)
            return None
        return _build_reference(task, at.node, "delete_vm")

    async def _remove_left_seed(self, owner: Owner) -> None:
        """Delete the seed of a VM that was removed by hand, on whichever node it is."""
        for row in await self._inventory.list_node_rows():
            if row.status == ONLINE and row.node in self._settings.nodes:
                await self._seeds.remove(row.node, owner)

    # --- operation

    async def power(self, vmid: int, action: PowerAction, *, owner: Owner) -> TaskRef | None:
        """Change the power state; None if the VM is in that state already."""
        at, _ = await self._get_owned(vmid, owner, "power")
        current = await self._inventory.read_status(at)
        is_running = current.status == "running"
        if action is not PowerAction.REBOOT and is_running == (action in _STARTS):
            return None
        verb = "start" if not is_running else _VERBS[action]
        fields: dict[str, str | int] = {"timeout": _SHUTDOWN_S} if verb == "shutdown" else {}
        task = await self._api.change("POST", at.path("status", verb), fields)
        return _build_reference(task, at.node, f"power_{verb}")

    async def task_status(self, task: TaskRef) -> TaskInfo:
        """The state of a task; frees the slots of a clone that has ended."""
        info = await self._tasks.read(task.id)
        if info.state is not TaskState.RUNNING:
            self._clones.note_end(task.id)
        return info

    async def tag_vm(
        self, vmid: int, *, tags: Sequence[str], description: str, owner: Owner | None
    ) -> None:
        """Replace tags and description."""
        if owner is None:
            at, config = await self._inventory.locate(vmid)
            _check_unlocked(build_info(at, config), "tag_vm")
        else:
            at, config = await self._get_owned(vmid, owner, "tag_vm")
        values = {"tags": vmconfig.build_tags(tags), "description": description}
        fields = {key: value for key, value in values.items() if value}
        if gone := ",".join(key for key, value in values.items() if not value and key in config):
            fields["delete"] = gone
        self._inventory.forget(vmid)
        await self._tasks.finish(await self._api.change("PUT", at.path("config"), fields))

    async def console_url(self, vmid: int, *, owner: Owner) -> str:
        """The URL of the console in the web interface, which requires a login."""
        at, _ = await self._get_owned(vmid, owner, "console_url")
        return (
            f"{self._settings.endpoint}/?console=kvm&novnc=1&vmid={vmid}"
            f"&vmname={quote(owner.vm_name)}&node={quote(at.node)}"
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._api.aclose()

    async def _get_owned(self, vmid: int, owner: Owner, operation: str) -> tuple[Location, Config]:
        """Locate a VM and check by its own configuration that it is the owner's and not locked."""
        at, config = await self._inventory.locate(vmid)
        vm = self._clones.name_vm(build_info(at, config))
        if vm.lock == CLONE_LOCK:
            _check_unlocked(vm, operation)
        ownership.check_owned(vm, owner, operation)
        _check_unlocked(vm, operation)
        return at, config


def _check_unlocked(vm: VMInfo, operation: str) -> None:
    if vm.lock:
        text = (
            f"VM {vm.id} is locked ({vm.lock}); if no task of that kind runs, remove the lock "
            f"with qm unlock {vm.id} on node {vm.node}"
        )
        raise make_error(Code.LOCKED, text, operation=operation)


def _build_reference(task: str, node: str, operation: str) -> TaskRef | None:
    return TaskRef(task, node, operation) if task else None


async def open_provider(settings: ProviderSettings) -> Hypervisor:
    """Build the provider for the Proxmox VE at `spec.endpoint`; nothing is sent yet."""
    return ProxmoxProvider(settings)
