"""Images of local QEMU: what is imported with them, and what is refused."""

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.contract.hypervisor.qemu_rig import open_rig
from tests.contract.hypervisor.rig import make, owner_of

from quarterdeck.operators.machines.drivers.qemu import process, programs, qmp
from quarterdeck.operators.machines.drivers.qemu.folder import Boot, Folder, Source, VmRecord
from quarterdeck.operators.machines.drivers.qemu.images import IMPORT_S, Images
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import PowerAction, TemplateRef
from quarterdeck.testing.programs import require


@pytest.fixture
def images(tmp_path: Path) -> Images:
    require(programs.QEMU_IMG)
    return Images(Folder(tmp_path / "host"))


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(bytes(2 * 1024 * 1024))
    return path


async def test_kernel_and_command_line_are_kept_with_the_image(
    images: Images, disk: Path, tmp_path: Path
) -> None:
    kernel, initrd = tmp_path / "vmlinuz", tmp_path / "initrd"
    kernel.write_bytes(b"kernel")
    initrd.write_bytes(b"initrd")
    boot = Boot(kernel=str(kernel), initrd=str(initrd), command_line="console=ttyS0")
    await images.add("linux", disk, boot)
    found = await images.named("linux")
    assert Path(found.boot.kernel).read_bytes() == b"kernel"
    assert Path(found.boot.initrd).read_bytes() == b"initrd"
    assert found.boot.command_line == "console=ttyS0"
    by_path = await images.find(TemplateRef(image=str(found.path)))
    assert by_path.name == "linux"


async def test_image_without_a_kernel_replaces_one_with_a_kernel(
    images: Images, disk: Path, tmp_path: Path
) -> None:
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(b"kernel")
    await images.add("linux", disk, Boot(kernel=str(kernel), command_line="console=ttyS0"))
    await images.add("linux", disk, Boot())
    assert (await images.named("linux")).boot == Boot()


async def test_boot_settings_that_cannot_be_read_are_reported(images: Images, disk: Path) -> None:
    found = await images.add("linux", disk, Boot(command_line="quiet"))
    found.path.with_suffix(".json").write_text("{")
    with pytest.raises(HypervisorError, match=r"linux\.json cannot be decoded") as caught:
        await images.named("linux")
    assert caught.value.code is Code.NOT_A_TEMPLATE


async def test_names_and_files_that_are_no_images_are_refused(
    images: Images, disk: Path, tmp_path: Path
) -> None:
    with pytest.raises(HypervisorError, match=r"invalid name of an image: .\.\./linux"):
        await images.add("../linux", disk, Boot())
    page = tmp_path / "page.html"
    page.write_text("<html>")
    with pytest.raises(HypervisorError, match="it is of no known format, 6 bytes"):
        await images.add("linux", page, Boot())


async def test_vm_whose_process_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qmp, "_TIMEOUT_S", 0.1)
    monkeypatch.setattr(process, "_QUIT_S", 0.1)
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        os.kill(rig.pid(vmid), signal.SIGSTOP)
        await rig.hypervisor.power(vmid, PowerAction.OFF, owner=owner_of())
        assert rig.pid(vmid) == 0


async def test_two_templates_of_one_image_are_checked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, both = Folder(tmp_path / "host"), threading.Barrier(2)
    fsync = os.fsync

    def wait_for_the_other(descriptor: int) -> None:
        both.wait(timeout=60)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", wait_for_the_other)
    source = Source(image="linux")
    work = [asyncio.to_thread(folder.keep_source, 1, source) for _ in range(2)]
    await asyncio.gather(*work)
    assert folder.read_source(1) == source
    await asyncio.to_thread(folder.keep_source, 1, source)  # unchanged: nothing is written
    assert [each.name for each in folder.templates.iterdir()] == ["1.json"]


async def test_import_that_fails_leaves_no_part_of_the_image(images: Images, disk: Path) -> None:
    before = await images.add("linux", disk, Boot(command_line="quiet"))
    kept = before.path.read_bytes()

    async def fail(program: str, arguments: Sequence[str], **options: object) -> bytes:
        Path(arguments[-1]).write_bytes(b"a part")
        raise make_error(Code.RESOURCE_EXHAUSTED, "qemu-img failed: No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(programs, "check", fail)
        with pytest.raises(HypervisorError, match="No space left"):
            await images.add("linux", disk, Boot())
    assert sorted(each.name for each in before.path.parent.iterdir()) == [
        "linux.json",
        "linux.qcow2",
    ]
    assert before.path.read_bytes() == kept
    assert (await images.named("linux")).boot.command_line == "quiet"


async def test_import_whose_kernel_cannot_be_copied_keeps_the_image_before(
    images: Images, disk: Path, tmp_path: Path
) -> None:
    for name in ("kernel", "initrd"):
        (tmp_path / name).write_bytes(b"of the first import")
    boot = Boot(kernel=str(tmp_path / "kernel"), initrd=str(tmp_path / "initrd"))
    before = await images.add("linux", disk, boot)
    folder = before.path.parent
    kept = {each.name: each.read_bytes() for each in folder.iterdir()}
    (tmp_path / "kernel").write_bytes(b"of the second import")
    (tmp_path / "initrd").unlink()
    with pytest.raises(FileNotFoundError):
        await images.add("linux", disk, boot)
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == kept


async def test_image_that_gets_overlays_while_another_is_imported_is_kept(
    images: Images, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = await images.add("linux", disk, Boot(command_line="quiet"))
    before = image.path.read_bytes()
    folder, limits, run = Folder(tmp_path / "host"), [], programs.run

    async def clone_meanwhile(
        program: str, arguments: Sequence[str], **options: Any
    ) -> programs.Output:
        if arguments[0] == "convert":
            limits.append(options["timeout_s"])
            record = VmRecord(
                id=100,
                name="m1",
                uuid="u",
                description="",
                source=image.source,
                is_linked=True,
                mac="52:54:00:00:00:01",
            )
            await asyncio.to_thread(folder.create, record)
        return await run(program, arguments, **options)

    monkeypatch.setattr(programs, "run", clone_meanwhile)
    other = tmp_path / "other.raw"
    other.write_bytes(b"x" * (3 << 20))
    with pytest.raises(HypervisorError, match="1 machines are overlays"):
        await images.add("linux", other, Boot())
    assert image.path.read_bytes() == before
    assert (await images.named("linux")).boot.command_line == "quiet"
    assert limits == [IMPORT_S], "large images take longer than any other call"
