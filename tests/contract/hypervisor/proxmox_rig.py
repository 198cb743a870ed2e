"""The Proxmox VE driver under the contract suite, at a fake server that speaks real HTTPS."""

import contextlib
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from fake_pve import FakePve, Fault
from fake_pve.server import TOKEN, TOKEN_ID

from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.machines.drivers.proxmox import ProxmoxProvider
from quarterdeck.operators.machines.machine import AccessData, TemplateRef
from quarterdeck.operators.machines.ports import Hypervisor, ProviderSettings

_PATHS = {"clone_vm": "POST .*/clone$"}


def settings_of(fake: FakePve, **changes: object) -> ProviderSettings:
    """What the driver is opened with."""
    settings = ProviderSettings(
        cluster="default/lab",
        endpoint=fake.endpoint,
        access=AccessData(token_id=TOKEN_ID, token_secret=Secret(TOKEN)),
        nodes=("pve1", "pve2"),
        storage="local-lvm",
        network="vmbr0",
        clock=SystemClock(),
        ca_certificates=fake.certificate,
    )
    return settings._replace(**changes)  # type: ignore[arg-type]  # tests name real fields


class ProxmoxRig:
    """The driver, and the fake behind it."""

    node = "pve1"
    template = TemplateRef(id=9000)

    def __init__(self, fake: FakePve) -> None:
        self.fake = fake
        fake.state.add_template(9000, "debian-12")
        self.opened: list[Hypervisor] = []
        self.hypervisor: Hypervisor = self.second()

    def second(self) -> Hypervisor:
        self.opened.append(ProxmoxProvider(settings_of(self.fake)))
        return self.opened[-1]

    async def pass_time(self) -> None:
        self.fake.finish_tasks()

    async def destroy_behind(self, vmid: int) -> None:
        with self.fake.lock:
            del self.fake.state.vms[vmid]

    async def change_behind(
        self, vmid: int, *, name: str | None = None, tags: Sequence[str] | None = None
    ) -> None:
        with self.fake.lock:
            config = self.fake.state.vms[vmid].config
            if name is not None:
                config["name"] = name
            if tags is not None:
                config["tags"] = ";".join(tags)

    async def read_seed(self, vmid: int) -> bytes | None:
        with self.fake.lock:
            vm = self.fake.state.vms[vmid]
            storage = self.fake.state.storages["local"]
            files = [data for (node, _), data in storage.files.items() if node == vm.node]
            volume = vm.config.get("ide2", "").partition(",")[0]
            attached = storage.files.get((vm.node, volume))
        assert (attached is None) == (not files), "an image is on the storage and not in the drive"
        return attached

    async def forget_tasks(self) -> None:
        with self.fake.lock:
            self.fake.state.tasks.clear()

    async def lose_answer(self, operation: str) -> None:
        self.fake.faults.append(Fault(_PATHS[operation], is_after=True))


@contextlib.asynccontextmanager
async def open_rig() -> AsyncIterator[ProxmoxRig]:
    with tempfile.TemporaryDirectory() as folder, FakePve(Path(folder)).running() as fake:
        rig = ProxmoxRig(fake)
        try:
            yield rig
        finally:
            for each in rig.opened:
                await each.aclose()
