"""Local QEMU under the contract suite: real processes of VMs that find nothing to boot."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from quarterdeck.kit.clock import SystemClock
from quarterdeck.operators.machines.drivers.qemu import QemuProvider, programs
from quarterdeck.operators.machines.drivers.qemu.process import find_pid
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.operators.machines.machine import AccessData, TaskRef, TemplateRef
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings
from quarterdeck.testing.programs import require


def settings_of(folder: Path) -> ProviderSettings:
    """What the driver is opened with."""
    return ProviderSettings(
        cluster="default/lab",
        endpoint="https://localhost",
        access=AccessData(),
        nodes=("here",),
        storage="local",
        network="user",
        clock=SystemClock(),
        folder=folder,
    )


class _Forgetful(QemuProvider):
    """Loses the answers of some calls; there is no network between us and a local process."""

    def __init__(self, settings: ProviderSettings) -> None:
        super().__init__(settings)
        self.lost: set[str] = set()

    async def clone_vm(self, *args: Any, **kwargs: Any) -> TaskRef | None:
        answer = await super().clone_vm(*args, **kwargs)
        if "clone_vm" in self.lost:
            raise make_error(Code.TIMEOUT, "the answer was lost")
        return answer


class QemuRig:
    """The driver, and the folder behind it."""

    node = "here"
    template = TemplateRef(name="empty", image="empty")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._provider = _Forgetful(settings_of(folder))
        self.hypervisor: Hypervisor = self._provider

    @property
    def files(self) -> Any:
        return self._provider._folder

    @property
    def images(self) -> Any:
        return self._provider._images

    def second(self) -> Hypervisor:
        return QemuProvider(settings_of(self.folder))

    async def pass_time(self) -> None:
        await SystemClock().sleep(0.05)

    async def destroy_behind(self, vmid: int) -> None:
        self.kill(vmid)
        shutil.rmtree(self.files.at(vmid).path)

    async def change_behind(
        self, vmid: int, *, name: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        record = self.files.read(vmid)
        changes: dict[str, Any] = {"name": name} if name is not None else {}
        if tags is not None:
            changes["tags"] = tuple(tags)
        changed = msgspec.structs.replace(record, **changes)
        await asyncio.to_thread(self.files.update, changed)

    async def read_seed(self, vmid: int) -> bytes | None:
        seed = self.files.at(vmid).seed
        return seed.read_bytes() if seed.is_file() else None

    async def forget_tasks(self) -> None:
        """Nothing is remembered."""

    async def lose_answer(self, operation: str) -> None:
        self._provider.lost.add(operation)

    def pid(self, vmid: int) -> int:
        return find_pid(self.files.at(vmid), self.files.read(vmid).uuid)

    def kill(self, vmid: int) -> None:
        """End a VM's process as a crash would."""
        if number := self.pid(vmid):
            os.kill(number, signal.SIGKILL)


@contextlib.asynccontextmanager
async def open_rig() -> AsyncIterator[QemuRig]:
    require(programs.QEMU)
    require(programs.QEMU_IMG)
    with tempfile.TemporaryDirectory() as folder:
        rig = QemuRig(Path(folder))
        rig.files.prepare()
        command = ["create", "-q", "-f", "qcow2", str(rig.files.images / "empty.qcow2"), "16M"]
        await programs.check(programs.QEMU_IMG, command, folder=rig.files.images)
        try:
            yield rig
        finally:
            for vmid in rig.files.list_ids():
                rig.kill(vmid)
