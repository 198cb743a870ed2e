"""The local QEMU driver with a guest that really boots: seed, vTPM, console, power button."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from tests.contract.hypervisor.qemu_rig import QemuRig, open_rig
from tests.contract.hypervisor.rig import owner_of, spec_of
from tests.e2e.machines.test_local_vm import require_image

from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.operators.machines.drivers.qemu.folder import Boot
from quarterdeck.operators.machines.machine import CloudInit, Power, PowerAction, TemplateRef
from quarterdeck.testing.programs import require

pytestmark = pytest.mark.slow  # a whole machine boots, in emulation

SEED = CloudInit("#cloud-config\n", "instance-id: one\nlocal-hostname: runner-7\n")


async def _wait_for(rig: QemuRig, log: Path, text: str) -> None:
    while not log.exists() or text not in log.read_text(errors="replace"):
        assert rig.pid(210), f"the VM ended before {text!r}: {log.read_text(errors='replace')}"
        await rig.pass_time()


async def _expect_at_ssh(address: str, wanted: bytes) -> None:
    """Connect until the guest listens: before that the connection is closed without a word."""
    host, _, port = address.partition(":")
    found = b""
    while found != wanted:
        reader, writer = await asyncio.open_connection(host, int(port))
        with contextlib.suppress(ConnectionError):
            found = await reader.read(100)
        writer.close()


async def test_a_guest_boots_reads_its_seed_has_a_tpm_and_obeys() -> None:
    for program in (programs.SWTPM, programs.SWTPM_SETUP):
        require(program)
    image, owner = require_image(), owner_of()
    async with open_rig() as rig:
        hypervisor = rig.hypervisor
        await rig.images.add("machine", image, Boot())
        template = await hypervisor.validate_template(TemplateRef(image="machine"))
        await hypervisor.clone_vm(
            template, spec_of(), vmid=210, node="here", linked=True, owner=owner
        )
        spec = spec_of()._replace(has_tpm=True)
        await hypervisor.configure_vm(210, spec, owner=owner._replace(is_tagged=False))
        await hypervisor.inject_cloud_init(210, SEED, owner=owner)
        await hypervisor.power(210, PowerAction.ON, owner=owner)
        assert (await hypervisor.get_vm(210)).ips == ()
        log = rig.files.at(210).console_log
        await _wait_for(rig, log, "machine: ready runner-7")
        text = log.read_text(errors="replace")
        assert "machine: tpm 2" in text
        assert "machine: address 10.0.2.15" in text
        assert [vm.ips for vm in await hypervisor.list_vms()] == [("10.0.2.15",)]
        assert (await rig.second().get_vm(210)).ips == ("10.0.2.15",)
        console = (await hypervisor.console_url(210, owner=owner)).removeprefix("unix://")
        reader, writer = await asyncio.open_unix_connection(console)
        writer.write(b"echo $((6 * 7))-is-the-answer\n")
        await _wait_for(rig, log, "42-is-the-answer")
        writer.write(b"echo ssh-of-$(hostname) | nc -l -p 22\n")
        await _expect_at_ssh((await hypervisor.get_vm(210)).ssh_address, b"ssh-of-runner-7\n")
        writer.close()
        await writer.wait_closed()
        del reader
        task = await hypervisor.power(210, PowerAction.SHUTDOWN, owner=owner)
        assert task is not None
        while (await hypervisor.task_status(task)).state == "running":
            await rig.pass_time()
        assert "machine: power button" in log.read_text(errors="replace")
        assert (await hypervisor.get_vm(210)).power is Power.STOPPED
        await hypervisor.delete_vm(210, owner=owner)
        assert rig.files.list_ids() == []
