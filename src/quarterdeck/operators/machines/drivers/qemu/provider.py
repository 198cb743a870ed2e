"""Local QEMU as the operator uses it."""

import asyncio
import socket
import uuid
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from quarterdeck.operators.machines import ownership
from quarterdeck.operators.machines.drivers.nocloud import build_seed_image
from quarterdeck.operators.machines.drivers.qemu import host, process, programs, qmp
from quarterdeck.operators.machines.drivers.qemu.folder import (
    Folder,
    VmFolder,
    VmRecord,
    erase,
    write_private,
)
from quarterdeck.operators.machines.drivers.qemu.images import Images
from quarterdeck.operators.machines.drivers.qemu.launcher import Launcher
from quarterdeck.operators.machines.drivers.qemu.observer import VmObserver
from quarterdeck.operators.machines.drivers.qemu.tpm import Tpms
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
from quarterdeck.runtime import get_logger

FOLDER = "qemu"
_DATA = Path(".quarterdeck")
"""The default data folder."""
_SHUTDOWN = "shutdown"


class QemuProvider:
    """VMs of one folder of this host."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._clock = settings.clock
        self._node = settings.nodes[0] if settings.nodes else socket.gethostname()
        self._folder = Folder((settings.folder or _DATA) / FOLDER, settings.clock)
        self._images = Images(self._folder)
        self._tpms = Tpms(self._folder)
        self._launcher = Launcher(self._folder, self._images, self._tpms)
        self._observer = VmObserver(self._folder, node=self._node, clock=settings.clock)
        self._log = get_logger("machines.qemu", cluster=settings.cluster)
        self._unreadable: dict[int, str] = {}
        """Why records could not be read at the last time, by VM id."""
        self._locks: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def name(self) -> str:
        """The provider's name."""
        return "qemu"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """A vTPM only where swtpm is installed."""
        always = {Capability.LINKED_CLONE, Capability.CLOUD_INIT_ISO, Capability.CONSOLE}
        return frozenset(always | ({Capability.VTPM} if self._tpms.is_supported else set()))

    # --- inventory

    async def test_connection(self) -> ConnectionInfo:
        """Read the version of QEMU, and whether KVM works."""
        await asyncio.to_thread(self._folder.prepare)
        programs.find(programs.QEMU_IMG)
        out = await programs.check(programs.QEMU, ["--version"], folder=self._folder.path)
        words = out.decode().split("\n", 1)[0].split()
        version = words[3] if len(words) > 3 else "unknown"
        accelerator = await self._launcher.choose_accelerator()
        metadata = {"provider": "qemu", "type": "local", "accelerator": accelerator.name}
        return ConnectionInfo(f"qemu-{version}", metadata)

    async def list_nodes(self) -> Sequence[Node]:
        """This host, less the capacity reserved for its VMs."""
        records = await self._read_all()
        await asyncio.to_thread(self._folder.prepare)
        return [host.build_node(self._node, records, self._folder.path)]

    async def validate_template(self, template: TemplateRef) -> TemplateInfo:
        """The image of a template."""
        image = await self._images.find(template)
        await asyncio.to_thread(self._folder.keep_source, image.id, image.source)
        return TemplateInfo(
            image.id,
            image.name,
            (self._node,),
            disk_bytes=image.disk_bytes,
            has_agent=True,  # an address is shown when the guest has brought its network up
            has_tpm=self._tpms.is_supported,
            storage_type="qcow2",
        )

    async def list_vms(self) -> Sequence[VMInfo]:
        """Every VM whose record can be read; one with a process counts as running.

        The others are not deleted: `get_vm` raises CONFLICT for them, not NOT_FOUND.
        """
        records = await self._read_all()
        return await asyncio.gather(
            *(self._observer.describe_process(record) for record in records)
        )

    async def get_vm(self, vmid: int) -> VMInfo:
        """One VM, with the state that QEMU reports."""
        return await self._observer.query(await self._read(vmid))

    # --- provisioning

    async def reserve_id(self, *, start: int, end: int, taken: frozenset[int]) -> int:
        """The lowest free id."""
        used = taken | frozenset(await asyncio.to_thread(self._folder.list_ids))
        for vmid in range(start, end + 1):
            if vmid not in used:
                return vmid
        text = f"no free id in {start}-{end}; extend spec.vmidRange"
        raise make_error(Code.IDS_EXHAUSTED, text, operation="reserve_id")

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
        """Write the record, then create the disk; both exist when this returns.

        If the disk cannot be created, nothing is left: the claim may get another id.
        """
        if node != self._node:
            raise make_error(Code.UNAVAILABLE, f"node {node} not found on this host")
        identity = uuid.uuid4()
        source = await asyncio.to_thread(self._folder.read_source, template.id)
        record = VmRecord(
            id=vmid,
            name=spec.name,
            uuid=str(identity),
            description=ownership.describe(owner),
            source=source,
            is_linked=linked,
            mac=build_mac(identity),
            cpu=spec.cpu,
            memory_bytes=spec.memory_bytes,
        )
        async with self._locks[vmid]:
            at = await asyncio.to_thread(self._folder.create, record)
            try:
                await self._images.ensure_disk(at, record)
            except HypervisorError:
                await asyncio.to_thread(self._folder.remove, vmid)
                raise
        return None

    async def configure_vm(self, vmid: int, spec: VMSpec, *, owner: Owner) -> TaskRef | None:
        """Set sizes and tags, and make the vTPM; a running VM has them after its next start."""
        async with self._locks[vmid]:
            record = await self._get_owned(vmid, owner, "configure_vm")
            at = self._folder.at(vmid)
            if not self._observer.is_running(record):
                await self._images.ensure_disk(at, record)
                await self._images.grow_disk(at, spec.disk_bytes)
            if spec.has_tpm:
                await self._tpms.ensure(at)
            changed = msgspec.structs.replace(
                record,
                cpu=spec.cpu,
                memory_bytes=spec.memory_bytes,
                disk_bytes=spec.disk_bytes,
                has_tpm=spec.has_tpm,
                mac=spec.nics[0].mac if spec.nics and spec.nics[0].mac else record.mac,
                tags=tuple(dict.fromkeys((*ownership.build_owner_tags(owner), *spec.tags))),
                description=ownership.describe(owner),
            )
            await asyncio.to_thread(self._folder.update, changed)
        return None

    async def inject_cloud_init(self, vmid: int, data: CloudInit, *, owner: Owner) -> None:
        """Write the seed beside the disk; only its owner can read it."""
        image = build_seed_image(data)
        async with self._locks[vmid]:
            await self._get_owned(vmid, owner, "inject_cloud_init")
            seed = self._folder.at(vmid).seed
            await asyncio.to_thread(erase, seed)
            await asyncio.to_thread(write_private, seed, image)

    async def detach_cloud_init(self, vmid: int, *, owner: Owner) -> None:
        """Erase the seed; a guest that runs reads zeros from its drive from then on."""
        async with self._locks[vmid]:
            await self._get_owned(vmid, owner, "detach_cloud_init")
            await asyncio.to_thread(erase, self._folder.at(vmid).seed)

    async def delete_vm(self, vmid: int, *, owner: Owner) -> TaskRef | None:
        """Remove a stopped VM's folder."""
        async with self._locks[vmid]:
            try:
                record = await self._get_owned(vmid, owner, "delete_vm")
            except HypervisorError as error:
                if error.code is Code.NOT_FOUND:
                    return None
                raise
            if self._observer.is_running(record):
                text = f"VM {vmid} is running; stop it first"
                raise make_error(Code.RUNNING, text, operation="delete_vm")
            await asyncio.to_thread(self._folder.remove, vmid)
        self._locks.pop(vmid, None)
        return None

    # --- operation

    async def power(self, vmid: int, action: PowerAction, *, owner: Owner) -> TaskRef | None:
        """Start or stop the VM; only a shutdown, which the guest carries out, is a task."""
        async with self._locks[vmid]:
            record = await self._get_owned(vmid, owner, "power")
            at, is_running = self._folder.at(vmid), self._observer.is_running(record)
            match action:
                case PowerAction.ON | PowerAction.REBOOT if not is_running:
                    await self._launcher.start(at, record)
                case PowerAction.REBOOT:
                    await _send_command(at, "system_reset")
                case PowerAction.OFF:
                    await process.stop(at, record.uuid, self._clock)
                case PowerAction.SHUTDOWN if is_running:
                    await _send_command(at, "system_powerdown")
                    return TaskRef(f"{_SHUTDOWN}:{vmid}:{record.uuid}", self._node, "power")
                case _:
                    pass
        return None

    async def task_status(self, task: TaskRef) -> TaskInfo:
        """The state of a shutdown, the only task; it is done when the process has ended."""
        kind, _, rest = task.id.partition(":")
        vmid, _, identity = rest.partition(":")
        if kind != _SHUTDOWN or not vmid.isdigit():
            raise make_error(Code.TASK_UNKNOWN, f"{task.id!r} is not the id of a task")
        is_running = process.find_pid(self._folder.at(int(vmid)), identity)
        return TaskInfo(TaskState.RUNNING if is_running else TaskState.OK)

    async def tag_vm(
        self, vmid: int, *, tags: Sequence[str], description: str, owner: Owner | None
    ) -> None:
        """Replace tags and description."""
        async with self._locks[vmid]:
            record = (
                await self._read(vmid)
                if owner is None
                else await self._get_owned(vmid, owner, "tag_vm")
            )
            changed = msgspec.structs.replace(record, tags=tuple(tags), description=description)
            await asyncio.to_thread(self._folder.update, changed)

    async def console_url(self, vmid: int, *, owner: Owner) -> str:
        """The socket of the serial console; its output is in `console.log` in the same folder."""
        await self._get_owned(vmid, owner, "console_url")
        return f"unix://{self._folder.at(vmid).console_socket}"

    async def aclose(self) -> None:
        """Do nothing: VMs keep running, and no connection is open."""

    # --- inside

    async def _read_all(self) -> list[VmRecord]:
        """Read the records that can be read, and log the others."""
        found = await asyncio.to_thread(self._folder.scan)
        reasons = {vmid: error.message for vmid, error in found.unreadable.items()}
        for vmid, reason in reasons.items():
            # a warning once, then at debug level: each poll repeats it
            is_known = self._unreadable.get(vmid) == reason
            level = self._log.debug if is_known else self._log.warning
            level("VM left out of the list and not changed", vm=vmid, detail=reason)
        self._unreadable = reasons
        return found.records

    async def _read(self, vmid: int) -> VmRecord:
        return await asyncio.to_thread(self._folder.read, vmid)

    async def _get_owned(self, vmid: int, owner: Owner, operation: str) -> VmRecord:
        record = await self._read(vmid)
        ownership.check_owned(self._observer.describe(record), owner, operation)
        return record


async def _send_command(at: VmFolder, command: str) -> None:
    try:
        await qmp.execute(at.path, command)
    except qmp.Gone:
        text = "the VM has stopped"
        raise make_error(Code.CONFLICT, text, operation="power") from None


def build_mac(identity: uuid.UUID) -> str:
    """A hardware address in QEMU's range, derived from the VM's identity."""
    return "52:54:00:" + ":".join(f"{byte:02x}" for byte in identity.bytes[:3])


async def open_provider(settings: ProviderSettings) -> Hypervisor:
    """Build the provider for VMs in the folder `qemu` of the data folder; runs no program yet."""
    return QemuProvider(settings)
