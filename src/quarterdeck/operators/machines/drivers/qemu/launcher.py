"""Starts the process of a VM: its disk, its vTPM, its SSH port, then QEMU."""

import asyncio

import msgspec

from quarterdeck.kit.free_port import find_free_port
from quarterdeck.operators.machines.drivers.qemu import process
from quarterdeck.operators.machines.drivers.qemu.accelerator import choose_accelerator
from quarterdeck.operators.machines.drivers.qemu.command import Accelerator, build_command
from quarterdeck.operators.machines.drivers.qemu.folder import Folder, VmFolder, VmRecord
from quarterdeck.operators.machines.drivers.qemu.images import Images
from quarterdeck.operators.machines.drivers.qemu.tpm import Tpms
from quarterdeck.operators.machines.errors import HypervisorError


class Launcher:
    """Starts VMs of one folder."""

    def __init__(self, folder: Folder, images: Images, tpms: Tpms) -> None:
        self._folder = folder
        self._images = images
        self._tpms = tpms
        self._accelerator: Accelerator | None = None

    async def start(self, at: VmFolder, record: VmRecord) -> None:
        """Start a VM that does not run; it gets a new SSH port at each start."""
        await self._images.ensure_disk(at, record)
        if record.has_tpm:
            await self._tpms.ensure(at)
            await self._tpms.start(at)
        record = msgspec.structs.replace(record, ssh_port=find_free_port())
        await asyncio.to_thread(self._folder.update, record)
        arguments = build_command(
            at,
            record,
            accelerator=await self.choose_accelerator(),
            has_seed=at.seed.is_file(),
        )
        try:
            await process.start(at, arguments)
        except HypervisorError:
            self._tpms.stop(at)
            raise

    async def choose_accelerator(self) -> Accelerator:
        """Choose the accelerator of this host; the choice is cached."""
        if self._accelerator is None:
            self._accelerator = await choose_accelerator()
        return self._accelerator
