"""The files of local QEMU: a folder of images, and a folder for each VM with its record.

    images/NAME.qcow2, NAME.kernel, NAME.initrd, NAME.json    what VMs are made from
    templates/ID.json                                         templates that were found valid
    vms/ID/vm.json                                            the record
    vms/ID/disk.qcow2, seed.iso, tpm/, console.log            what belongs to the VM
    vms/ID/qemu.pid, qmp.sock, console.sock, tpm.sock         while it runs

A VM appears and vanishes by renaming its folder, so that it is there completely or not at all.
"""

import os
import secrets
import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec

from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error

RECORD = "vm.json"
_NEW, _GONE = ".new-", ".gone-"
_OLD_S = 600.0


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """How an image is booted: by itself, or by a kernel beside it."""

    kernel: str = ""
    initrd: str = ""
    command_line: str = ""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The image and boot settings that VMs of a template are made from."""

    image: str
    boot: Boot = Boot()


class VmRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The stored description of a VM."""

    id: int
    name: str
    uuid: str
    description: str
    source: Source
    is_linked: bool
    mac: str
    tags: tuple[str, ...] = ()
    cpu: int = 1
    memory_bytes: int = 0
    disk_bytes: int = 0
    has_tpm: bool = False
    ssh_port: int = 0
    """Port of this host that is forwarded to the guest's SSH; new at each start."""


class VmFolder(NamedTuple):
    """The files of one VM. Sockets are named relative to the folder: their paths are limited."""

    path: Path

    @property
    def record(self) -> Path:
        """The JSON file with the record of the VM."""
        return self.path / RECORD

    @property
    def disk(self) -> Path:
        """The disk: an overlay on the image, or a copy of it."""
        return self.path / "disk.qcow2"

    @property
    def seed(self) -> Path:
        """The cloud-init seed."""
        return self.path / "seed.iso"

    @property
    def tpm(self) -> Path:
        """The state of the vTPM."""
        return self.path / "tpm"

    @property
    def pid(self) -> Path:
        """The file with the PID of the QEMU process."""
        return self.path / "qemu.pid"

    @property
    def console_log(self) -> Path:
        """What the VM wrote to its serial console since its last start."""
        return self.path / "console.log"

    @property
    def console_socket(self) -> Path:
        """The socket of the serial console."""
        return self.path / "console.sock"


class Scan(NamedTuple):
    """What was read of all VMs."""

    records: list[VmRecord]
    unreadable: dict[int, HypervisorError]
    """Why the other records cannot be read, by VM id."""


class Folder:
    """All VMs of one host; methods block on file I/O, so call them in a thread."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.path = path.absolute()
        self._clock = clock or SystemClock()
        self.images = self.path / "images"
        self.vms = self.path / "vms"
        self.templates = self.path / "templates"

    def prepare(self) -> None:
        """Create the folders, and remove what a crash left of VMs being created or removed."""
        for each in (self.images, self.vms, self.templates):
            each.mkdir(parents=True, exist_ok=True, mode=0o700)
        for each in self.vms.iterdir():
            if each.name.startswith(_GONE) or (each.name.startswith(_NEW) and self._is_old(each)):
                shutil.rmtree(each, ignore_errors=True)

    def _is_old(self, path: Path) -> bool:
        """Whether a folder is so old that no other operator can still be creating its VM."""
        try:
            return self._clock.now().timestamp() - path.stat().st_mtime > _OLD_S
        except FileNotFoundError:
            return False

    def list_ids(self) -> list[int]:
        """Ids of all VMs."""
        if not self.vms.is_dir():
            return []
        return sorted(int(each.name) for each in self.vms.iterdir() if each.name.isdigit())

    def at(self, vmid: int) -> VmFolder:
        """The files of a VM."""
        return VmFolder(self.vms / str(vmid))

    def read(self, vmid: int) -> VmRecord:
        """Read the record of a VM.

        Raises:
            PermanentError: NOT_FOUND.
            TransientError: CONFLICT if the VM is there and its record cannot be read. It must not
                count as deleted: its disk is there, and its process may run.
        """
        at = self.at(vmid)
        try:
            return msgspec.json.decode(at.record.read_bytes(), type=VmRecord)
        except (OSError, *json.UNREADABLE) as error:
            if isinstance(error, FileNotFoundError | NotADirectoryError) and not at.path.is_dir():
                raise make_error(Code.NOT_FOUND, f"VM {vmid} not found") from None
            cause = error.strerror if isinstance(error, OSError) else error
            text = f"cannot read {at.record}: {cause}"
            fix = f"restore it, or stop the VM and remove {at.path}"
            raise make_error(Code.CONFLICT, f"{text}; {fix}") from error

    def read_all(self) -> list[VmRecord]:
        """Read the records of all VMs.

        Raises:
            TransientError: CONFLICT if one cannot be read.
        """
        found = self.scan()
        for error in found.unreadable.values():
            raise error
        return found.records

    def scan(self) -> Scan:
        """Read the records that can be read, and find out why the others cannot."""
        found = Scan([], {})
        for vmid in self.list_ids():
            try:
                found.records.append(self.read(vmid))
            except HypervisorError as error:
                if error.code is not Code.NOT_FOUND:
                    found.unreadable[vmid] = error
        return found

    def create(self, record: VmRecord) -> VmFolder:
        """Make a VM's folder with its record in it.

        Raises:
            PermanentError: ALREADY_EXISTS.
        """
        self.prepare()
        fresh = self.vms / f"{_NEW}{record.id}-{secrets.token_hex(4)}"
        fresh.mkdir(mode=0o700)
        _write(fresh / RECORD, msgspec.json.encode(record))
        try:
            os.rename(fresh, self.at(record.id).path)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            raise make_error(
                Code.ALREADY_EXISTS, f"VM {record.id} already exists", operation="clone_vm"
            ) from None
        return self.at(record.id)

    def update(self, record: VmRecord) -> None:
        """Replace a VM's record."""
        _write(self.at(record.id).record, msgspec.json.encode(record))

    def count_overlays(self, image: str) -> int:
        """How many VMs have a disk that is an overlay on an image, so that it must not change.

        Raises:
            TransientError: CONFLICT if a record cannot be read: its VM may have such a disk.
        """
        records = self.read_all()
        return sum(record.is_linked and record.source.image == image for record in records)

    def keep_source(self, number: int, source: Source) -> None:
        """Record the source of a template, for clones that refer to its number.

        Templates of one image have one number, and may be recorded at the same time.
        """
        self.prepare()
        path, data = self.templates / f"{number}.json", msgspec.json.encode(source)
        if not path.is_file() or path.read_bytes() != data:
            _write(path, data, self.templates / f"{_NEW}{number}-{secrets.token_hex(4)}")

    def read_source(self, number: int) -> Source:
        """Read the recorded source of a template.

        Raises:
            ConfigurationError: TEMPLATE_NOT_FOUND.
        """
        try:
            data = (self.templates / f"{number}.json").read_bytes()
            return msgspec.json.decode(data, type=Source)
        except (OSError, *json.UNREADABLE):
            text = f"template {number} has not been checked on this host"
            raise make_error(Code.TEMPLATE_NOT_FOUND, text, operation="clone_vm") from None

    def remove(self, vmid: int) -> None:
        """Remove a VM with all its files."""
        gone = self.vms / f"{_GONE}{vmid}-{secrets.token_hex(4)}"
        try:
            os.rename(self.at(vmid).path, gone)
        except FileNotFoundError:
            return
        shutil.rmtree(gone, ignore_errors=True)


def _write(path: Path, data: bytes, fresh: Path | None = None) -> None:
    """Replace a file atomically; `fresh` is what it is called until it is complete."""
    fresh = fresh or path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read."""
    _write(path, data)


def erase(path: Path) -> None:
    """Overwrite a file with zeros and remove it; a process that has it open reads zeros too."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    with os.fdopen(descriptor, "wb") as file:
        file.write(bytes(os.fstat(descriptor).st_size))
        file.flush()
        os.fsync(file.fileno())
    path.unlink(missing_ok=True)
