"""Local QEMU beyond the contract: restarts, crashes, vTPMs, and files that must stay unread."""

import asyncio
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.hypervisor.qemu_rig import QemuRig, open_rig, settings_of
from tests.contract.hypervisor.rig import GIB, make, owner_of, spec_of, wait

from quarterdeck.operators.machines.drivers.qemu import open_provider, programs, qmp
from quarterdeck.operators.machines.drivers.qemu.accelerator import can_run_with, choose_accelerator
from quarterdeck.operators.machines.drivers.qemu.command import (
    TCG,
    Accelerator,
    build_command,
    escape,
)
from quarterdeck.operators.machines.drivers.qemu.folder import (
    Boot,
    Source,
    VmFolder,
    VmRecord,
)
from quarterdeck.operators.machines.drivers.qemu.images import read_size
from quarterdeck.operators.machines.drivers.qemu.process import find_pid
from quarterdeck.operators.machines.errors import (
    Code,
    ConfigurationError,
    HypervisorError,
    ResourceError,
)
from quarterdeck.operators.machines.machine import (
    Capability,
    CloudInit,
    Power,
    PowerAction,
    TemplateRef,
)
from quarterdeck.testing.programs import require


async def test_vms_outlive_the_operator_and_are_found_again() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        number = rig.pid(vmid)
        await rig.hypervisor.aclose()
        restarted = await open_provider(settings_of(rig.folder))
        assert rig.pid(vmid) == number != 0
        vm = await restarted.get_vm(vmid)
        assert (vm.power, vm.ips) == (Power.RUNNING, ())  # there is nothing to boot
        await restarted.power(vmid, PowerAction.OFF, owner=owner_of())
        assert rig.pid(vmid) == 0


async def _start_one() -> None:
    async with open_rig() as rig, asyncio.timeout(240):
        vmid = await make(rig)
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        assert (await rig.hypervisor.get_vm(vmid)).power is Power.RUNNING


def test_a_vm_starts_on_uvloop_without_holding_up_its_operator() -> None:
    require(programs.QEMU)
    code = "import uvloop; from tests.integration.operators.machines.test_qemu import _start_one"
    command = [sys.executable, "-c", f"{code}; uvloop.run(_start_one())"]
    paths = {"PYTHONPATH": os.pathsep.join(("tests/support", "."))}
    root = Path(__file__).parents[4]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_a_crashed_vm_is_stopped_and_starts_again() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        rig.kill(vmid)
        while rig.pid(vmid):
            await rig.pass_time()
        (listed,) = await rig.hypervisor.list_vms()
        assert listed.power is Power.STOPPED
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        assert (await rig.hypervisor.get_vm(vmid)).power is Power.RUNNING


async def test_a_number_that_another_process_has_now_is_not_the_vm(tmp_path: Path) -> None:
    at = VmFolder(tmp_path)
    at.pid.write_text(str(os.getpid()))
    assert find_pid(at, "9e3f86fc-57a5-4cd2-80b7-511186c5b78b") == 0


async def test_a_clone_that_was_cut_off_is_completed_by_the_next_step() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        rig.files.at(vmid).disk.unlink()
        fresh = owner_of(is_tagged=False)
        await rig.hypervisor.configure_vm(vmid, spec_of(), owner=fresh)
        assert await read_size(rig.files.at(vmid).disk, may_have_backing=True) == 4 * GIB


_FULL_DISK = """#!/bin/sh
case "$1" in
create|convert)
  for last; do :; done
  echo partial > "$last"
  echo "qemu-img: error while writing: No space left on device" >&2
  exit 1;;
esac
exec {} "$@"
"""


@pytest.mark.parametrize("linked", [False, True])
async def test_a_clone_on_a_full_disk_leaves_nothing(
    linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_rig() as rig:
        template = await rig.hypervisor.validate_template(rig.template)
        program = tmp_path / programs.QEMU_IMG
        program.write_text(_FULL_DISK.format(shutil.which(programs.QEMU_IMG)))
        program.chmod(0o755)
        clone = functools.partial(rig.hypervisor.clone_vm, template, spec_of(), node="here")
        with monkeypatch.context() as patched:
            patched.setenv("PATH", str(tmp_path), prepend=os.pathsep)
            with pytest.raises(ResourceError) as caught:
                await clone(vmid=213, linked=linked, owner=owner_of())
        assert caught.value.code is Code.RESOURCE_EXHAUSTED
        assert list(rig.files.vms.iterdir()) == []
        await clone(vmid=213, linked=linked, owner=owner_of())
        assert rig.files.at(213).disk.is_file()


async def test_an_image_under_overlays_is_not_replaced(tmp_path: Path) -> None:
    async with open_rig() as rig:
        other = tmp_path / "other.img"
        other.write_bytes(b"x" * (1 << 20))
        vmid = await make(rig)
        before = (rig.files.images / "empty.qcow2").read_bytes()
        with pytest.raises(HypervisorError, match="1 machines are overlays"):
            await rig.images.add("empty", other, Boot())
        assert (rig.files.images / "empty.qcow2").read_bytes() == before
        await rig.hypervisor.delete_vm(vmid, owner=owner_of())
        image = await rig.images.add("empty", other, Boot())
        assert image.disk_bytes == 1 << 20


def _truncate(record: Path) -> None:
    record.write_bytes(record.read_bytes()[:40])


def _flip_a_byte(record: Path) -> None:
    record.write_bytes(record.read_bytes().replace(b'"uuid":"', b'"uuid":"\xff'))


def _nest_deeply(record: Path) -> None:
    record.write_bytes(b'{"more":' + b"[" * 100_000)


def _replace_by_a_folder(record: Path) -> None:
    record.unlink()
    record.mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(_truncate, "Input data was truncated", id="cut short"),
        pytest.param(_flip_a_byte, "'utf-8' codec can't decode byte 0xff", id="not text"),
        pytest.param(_nest_deeply, "maximum recursion depth exceeded", id="nested deeply"),
        pytest.param(Path.unlink, "No such file or directory", id="missing"),
        pytest.param(_replace_by_a_folder, "Is a directory", id="not a file"),
    ],
)
async def test_a_vm_whose_record_cannot_be_read_is_kept_and_stops_no_other(
    damage: Callable[[Path], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_rig() as rig:
        broken, well = await make(rig, 1), await make(rig, 2)
        at = rig.files.at(broken)
        record = at.record.rename(at.path / "saved")
        shutil.copy(record, at.record)
        damage(at.record)
        message = f"cannot read {at.record}: {reason}"
        for _ in range(2):
            assert [vm.id for vm in await rig.hypervisor.list_vms()] == [well]
        (node,) = await rig.hypervisor.list_nodes()
        assert node.vms == 1
        (line,) = [each for each in caplog.records if each.levelname == "WARNING"]
        assert vars(line)["fields"]["vm"] == broken
        assert vars(line)["fields"]["detail"].startswith(message)

        template = await rig.hypervisor.validate_template(rig.template)
        clone = functools.partial(rig.hypervisor.clone_vm, template, spec_of(), node="here")
        for code, call in (
            (Code.CONFLICT, lambda: rig.hypervisor.get_vm(broken)),
            (Code.CONFLICT, lambda: rig.hypervisor.delete_vm(broken, owner=owner_of())),
            (Code.CONFLICT, lambda: rig.images.add("empty", Path("other.img"), Boot())),
            (Code.ALREADY_EXISTS, lambda: clone(vmid=broken, linked=True, owner=owner_of())),
        ):
            with pytest.raises(HypervisorError) as caught:
                await call()
            assert caught.value.code is code
        taken = frozenset[int]()
        assert await rig.hypervisor.reserve_id(start=broken, end=999, taken=taken) > broken
        assert at.disk.is_file()

        if at.record.is_dir():
            at.record.rmdir()
        record.replace(at.record)
        assert {vm.id for vm in await rig.hypervisor.list_vms()} == {broken, well}


async def test_what_a_crash_left_behind_is_removed() -> None:
    async with open_rig() as rig:
        vms = rig.files.vms
        for name in (".gone-1-ab", ".new-2-cd", ".new-3-ef"):
            (vms / name).mkdir()
        os.utime(vms / ".new-2-cd", (0, 0))
        await rig.hypervisor.test_connection()
        assert [path.name for path in vms.iterdir()] == [".new-3-ef"]


async def test_a_full_clone_needs_its_image_no_more() -> None:
    async with open_rig() as rig:
        template = await rig.hypervisor.validate_template(rig.template)
        await rig.hypervisor.clone_vm(
            template, spec_of(), vmid=210, node="here", linked=False, owner=owner_of()
        )
        (rig.files.images / "empty.qcow2").unlink()
        assert await read_size(rig.files.at(210).disk) == 16 << 20


async def test_a_paused_vm_is_seen_as_paused() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        await qmp.execute(rig.files.at(vmid).path, "stop")
        assert (await rig.hypervisor.get_vm(vmid)).power is Power.PAUSED


async def test_shutdown_is_a_task_that_ends_with_the_process() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        task = await rig.hypervisor.power(vmid, PowerAction.SHUTDOWN, owner=owner_of())
        assert task is not None
        assert (await rig.hypervisor.task_status(task)).state == "running"
        await rig.hypervisor.power(vmid, PowerAction.OFF, owner=owner_of())
        assert (await rig.hypervisor.task_status(task)).state == "ok"


async def test_seed_and_folder_are_private() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        seed = CloudInit("#cloud-config\npassword: x\n", "instance-id: a\n")
        await rig.hypervisor.inject_cloud_init(vmid, seed, owner=owner_of())
        at = rig.files.at(vmid)
        assert at.seed.stat().st_mode & 0o077 == 0
        assert at.path.stat().st_mode & 0o077 == 0
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        drives = await qmp.execute(at.path, "query-block")
        assert sum(drive.get("inserted", {}).get("ro", False) for drive in drives) == 1


async def test_ssh_of_a_guest_is_reached_by_a_port_on_loopback() -> None:
    async with open_rig() as rig:
        addresses = set()
        for number in (1, 2):
            vmid = await make(rig, number)
            assert (await rig.hypervisor.get_vm(vmid)).ssh_address == ""
            await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of(number))
            address = (await rig.hypervisor.get_vm(vmid)).ssh_address
            host, _, port = address.partition(":")
            assert host == "127.0.0.1"
            _, writer = await asyncio.open_connection(host, int(port))
            writer.close()
            addresses.add(address)
        assert len(addresses) == 2
        await rig.hypervisor.power(vmid, PowerAction.OFF, owner=owner_of(2))
        assert (await rig.hypervisor.get_vm(vmid)).ssh_address == ""


async def test_a_running_guest_cannot_read_a_detached_seed() -> None:
    async with open_rig() as rig:
        vmid = await make(rig)
        seed = CloudInit("#cloud-config\n# join-token-1234\n", "instance-id: a\n")
        await rig.hypervisor.inject_cloud_init(vmid, seed, owner=owner_of())
        await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of())
        files = Path(f"/proc/{rig.pid(vmid)}/fd")
        drive = next(each for each in files.iterdir() if os.readlink(each).endswith("seed.iso"))
        assert b"join-token-1234" in drive.read_bytes()
        await rig.hypervisor.detach_cloud_init(vmid, owner=owner_of())
        assert not any(drive.read_bytes())


async def test_each_vm_has_a_vtpm_of_its_own() -> None:
    for program in (programs.SWTPM, programs.SWTPM_SETUP):
        require(program)
    async with open_rig() as rig:
        assert Capability.VTPM in rig.hypervisor.capabilities
        states = []
        for number in (1, 2):
            vmid = await make(rig, number)
            spec = spec_of(number)._replace(has_tpm=True)
            await rig.hypervisor.configure_vm(vmid, spec, owner=owner_of(number))
            states.append((rig.files.at(vmid).tpm / "tpm2-00.permall").read_bytes())
        assert states[0] != states[1]
        for _ in range(2):
            await rig.hypervisor.power(vmid, PowerAction.ON, owner=owner_of(2))
            found = await qmp.execute(rig.files.at(vmid).path, "query-tpm")
            assert [each["model"] for each in found] == ["tpm-tis"]
            await rig.hypervisor.power(vmid, PowerAction.OFF, owner=owner_of(2))


@pytest.mark.parametrize("image", ["/etc/passwd", "../../etc/passwd", "", "a/b", ".hidden"])
async def test_files_outside_the_images_folder_are_no_templates(image: str) -> None:
    async with open_rig() as rig:
        await _expect_refused(rig, TemplateRef(image=image), Code.TEMPLATE_NOT_FOUND)


@pytest.mark.parametrize("option", ["kernel", "initrd"])
async def test_kernels_outside_the_images_folder_are_refused(option: str) -> None:
    async with open_rig() as rig:
        wanted = TemplateRef(image="empty", options={option: "/etc/passwd"})
        await _expect_refused(rig, wanted, Code.TEMPLATE_NOT_FOUND)


async def test_an_image_that_refers_to_another_file_is_refused() -> None:
    async with open_rig() as rig:
        images = rig.files.images
        command = ["create", "-q", "-f", "qcow2", "-b", "/etc/passwd", "-F", "raw", "thief.qcow2"]
        await programs.check(programs.QEMU_IMG, command, folder=images)
        await _expect_refused(rig, TemplateRef(image="thief"), Code.NOT_A_TEMPLATE)


async def test_a_file_that_is_no_image_is_refused() -> None:
    async with open_rig() as rig:
        (rig.files.images / "text.qcow2").write_text("hello")
        await _expect_refused(rig, TemplateRef(image="text"), Code.NOT_A_TEMPLATE)


async def _expect_refused(rig: QemuRig, wanted: TemplateRef, code: Code) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await rig.hypervisor.validate_template(wanted)
    assert caught.value.code is code


async def test_templates_of_one_image_keep_their_own_ways_to_boot() -> None:
    async with open_rig() as rig:
        (rig.files.images / "vmlinuz").write_bytes(b"")
        plain = await rig.hypervisor.validate_template(TemplateRef(image="empty"))
        options = {"kernel": "vmlinuz", "command_line": "console=ttyS0 quiet"}
        other = await rig.hypervisor.validate_template(TemplateRef(image="empty", options=options))
        assert plain.id != other.id
        task = await rig.hypervisor.clone_vm(
            other, spec_of(), vmid=211, node="here", linked=True, owner=owner_of()
        )
        await wait(rig, task)
        assert rig.files.read(211).source.boot.command_line == "console=ttyS0 quiet"


async def test_qemus_own_words_reach_the_message() -> None:
    async with open_rig() as rig:
        (rig.files.images / "vmlinuz").write_bytes(b"not a kernel")
        options = {"kernel": "vmlinuz"}
        template = await rig.hypervisor.validate_template(
            TemplateRef(image="empty", options=options)
        )
        await rig.hypervisor.clone_vm(
            template, spec_of(), vmid=212, node="here", linked=True, owner=owner_of()
        )
        owner = owner_of(is_tagged=False)
        with pytest.raises(HypervisorError, match="QEMU did not start"):
            await rig.hypervisor.power(212, PowerAction.ON, owner=owner)


async def test_without_a_usable_device_code_is_emulated(tmp_path: Path) -> None:
    assert await choose_accelerator(tmp_path / "kvm") is TCG


async def test_an_accelerator_is_judged_by_what_it_runs(tmp_path: Path) -> None:
    require(programs.QEMU)
    assert await can_run_with(TCG)
    assert not await can_run_with(Accelerator("none-such", "max"))
    assert not await can_run_with(TCG, timeout_s=0.001)


def test_commas_in_paths_do_not_become_options(tmp_path: Path) -> None:
    at = VmFolder(tmp_path / "a,file=b")
    record = VmRecord(
        id=1,
        name="a,b",
        uuid="u",
        description="",
        source=Source(image="x", boot=Boot(kernel="k", initrd="i")),
        is_linked=True,
        mac="52:54:00:00:00:01",
        has_tpm=True,
    )
    command = build_command(at, record, accelerator=TCG, has_seed=True)
    assert f"file={escape(at.disk)},if=virtio,format=qcow2" in command
    assert "guest=a,,b" in command
    assert command[command.index("-append") + 1] == "console=ttyS0"
    assert "-daemonize" in command
