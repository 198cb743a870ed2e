"""Images that VMs are made from, and the disks that are made of them.

Only images in the images folder are used. The author of a template could otherwise name any
file of the host and read it from inside a VM; for the same reason an image that itself refers to
other files is refused. `quarterdeck machines template import` puts images there.
"""

import asyncio
import os
import re
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from quarterdeck.kit import json
from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.operators.machines.drivers.qemu.folder import (
    Boot,
    Folder,
    Source,
    VmFolder,
    VmRecord,
)
from quarterdeck.operators.machines.errors import Code, HypervisorError, make_error
from quarterdeck.operators.machines.machine import TemplateRef

IMPORT_S = 4 * 3600.0
"""How long the import of an image may take; no call of the operator waits for it."""
_SMALLEST_DISK = 1024 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
_PARTS = ("kernel", "initrd", "json", "qcow2")
"""Suffixes of the files of an image, in the order in which they are replaced."""
_FIRST_ID = 1_000_000_000
"""First id of images, which are hashes of their source; above the ids of VMs."""


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image in the images folder."""

    name: str
    path: Path
    disk_bytes: int
    boot: Boot

    @property
    def id(self) -> int:
        """A stable id, derived from the name and the boot settings."""
        return _FIRST_ID + zlib.crc32(msgspec.json.encode(self.source)) % _FIRST_ID

    @property
    def source(self) -> Source:
        """The source that VMs of this image are made from."""
        return Source(image=self.name, boot=self.boot)


class Images:
    """The images folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    async def find(self, wanted: TemplateRef) -> Image:
        """The image of a template.

        Raises:
            ConfigurationError: TEMPLATE_NOT_FOUND or NOT_A_TEMPLATE.
        """
        name = self._name_of(wanted.image)
        path = self._folder.images / f"{name}.qcow2"
        if not name or not path.is_file():
            raise make_error(
                Code.TEMPLATE_NOT_FOUND,
                f"image {wanted.image!r} not found in {self._folder.images}; import it with: "
                "quarterdeck machines template import",
                operation="validate_template",
            )
        size = await read_size(path)
        return Image(name=name, path=path, disk_bytes=size, boot=self._boot(name, wanted))

    async def named(self, name: str) -> Image:
        """Find an image by its name."""
        return await self.find(TemplateRef(image=name))

    def _name_of(self, text: str) -> str:
        """The name in a reference, which is a name or a path in the images folder."""
        path = Path(text)
        if path.is_absolute() and path.parent.resolve() == self._folder.images.resolve():
            text = path.name
        name = text.removesuffix(".qcow2")
        return name if _NAME.fullmatch(name) else ""

    def _boot(self, name: str, wanted: TemplateRef) -> Boot:
        """The boot settings of the template, else those of the imported image."""
        kept = Boot()
        sidecar = self._folder.images / f"{name}.json"
        if sidecar.is_file():
            kept = _read_boot(sidecar)
        line = wanted.options.get("command_line", "") or kept.command_line
        kernel, initrd = (
            self._find_boot_file(name, kind, wanted.options.get(kind, ""))
            for kind in ("kernel", "initrd")
        )
        return Boot(kernel=kernel, initrd=initrd, command_line=line)

    def _find_boot_file(self, name: str, kind: str, given: str) -> str:
        if given:
            path = self._folder.images / Path(given).name
            is_inside = Path(given).name == given or path.resolve() == Path(given).resolve()
            if not is_inside or not path.is_file():
                raise make_error(
                    Code.TEMPLATE_NOT_FOUND,
                    f"spec.template.libvirt.{kind} is {given!r}, which is not a file in "
                    f"{self._folder.images}; import it with the image",
                    operation="validate_template",
                )
            return str(path)
        path = self._folder.images / f"{name}.{kind}"
        return str(path) if path.is_file() else ""

    # --- disks

    async def ensure_disk(self, at: VmFolder, record: VmRecord) -> None:
        """Create the disk of a VM atomically, unless an earlier attempt has done so."""
        if at.disk.exists():
            return
        image = await self.named(record.source.image)
        fresh = at.path / "disk.new"
        fresh.unlink(missing_ok=True)
        if record.is_linked:
            backing = ("-b", str(image.path), "-F", "qcow2")
            command = ["create", "-q", "-f", "qcow2", *backing, str(fresh)]
        else:
            command = ["convert", "-f", "qcow2", "-O", "qcow2", str(image.path), str(fresh)]
        try:
            await programs.check(programs.QEMU_IMG, command, folder=at.path)
        except HypervisorError:
            fresh.unlink(missing_ok=True)  # it may fill what is left of the storage
            raise
        os.replace(fresh, at.disk)

    async def grow_disk(self, at: VmFolder, size: int) -> None:
        """Make a disk larger; one that is large enough stays."""
        if size > await read_size(at.disk, may_have_backing=True):
            size = -(-size // 512) * 512
            command = ["resize", "-q", "-f", "qcow2", str(at.disk), str(size)]
            await programs.check(programs.QEMU_IMG, command, folder=at.path)

    async def add(self, name: str, source: Path, boot: Boot) -> Image:
        """Copy an image into the folder, with its kernel if it needs one.

        Raises:
            PermanentError: INVALID_SPEC if the name is invalid, ALREADY_EXISTS if disks of machines
                are overlays on the image of this name: replacing it would destroy them.
            ConfigurationError: NOT_A_TEMPLATE if the file is not an image.
        """
        check_name(name)
        await asyncio.to_thread(self._folder.prepare)
        await self._check_replaceable(name)
        details = await _read_details(source, ())
        _check_disk(source, details)
        images = self._folder.images
        fresh = {kind: images / f".{name}.{kind}.new" for kind in _PARTS}
        command = ["convert", "-f", str(details["format"]), "-O", "qcow2"]
        command += [str(source), str(fresh["qcow2"])]
        try:
            await programs.check(programs.QEMU_IMG, command, folder=images, timeout_s=IMPORT_S)
            await asyncio.to_thread(_copy_boot, boot, fresh)
            await self._check_replaceable(name)  # a machine may have been made meanwhile
            for kind, path in fresh.items():
                if path.exists():
                    os.replace(path, images / f"{name}.{kind}")
                else:  # that of an earlier image of this name
                    (images / f"{name}.{kind}").unlink(missing_ok=True)
        except BaseException:
            for path in fresh.values():
                path.unlink(missing_ok=True)
            raise
        return await self.named(name)

    async def _check_replaceable(self, name: str) -> None:
        """Check that no disk is an overlay on the image of a name, if there is such an image.

        Raises:
            PermanentError: ALREADY_EXISTS.
        """
        if overlays := await asyncio.to_thread(self._folder.count_overlays, name):
            raise make_error(
                Code.ALREADY_EXISTS,
                f"disks of {overlays} machines are overlays on the image {name}, which cannot be "
                "replaced; choose another name, and roll your fleets to it",
            )


def _copy_boot(boot: Boot, fresh: Mapping[str, Path]) -> None:
    """Copy the files that an image is booted with, and write its other boot settings."""
    for kind, path in (("kernel", boot.kernel), ("initrd", boot.initrd)):
        fresh[kind].unlink(missing_ok=True)  # of an import that was killed
        if path:
            shutil.copyfile(path, fresh[kind])
    fresh["json"].write_bytes(msgspec.json.encode(Boot(command_line=boot.command_line)))


def _read_boot(path: Path) -> Boot:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Boot)
    except json.UNREADABLE as error:
        text = f"{path} cannot be decoded: {error}; import the image again"
        raise make_error(Code.NOT_A_TEMPLATE, text, operation="validate_template") from error


def check_name(name: str) -> None:
    """Raises `PermanentError` INVALID_SPEC if an image cannot have the name."""
    if not _NAME.fullmatch(name):
        raise make_error(Code.INVALID_SPEC, f"invalid name of an image: {name!r}")


def _check_disk(path: Path, details: Mapping[str, Any]) -> None:
    """Refuse small files of no known format, which qemu-img reports as raw, such as HTML pages."""
    size = path.stat().st_size
    if details["format"] == "raw" and size < _SMALLEST_DISK:
        text = f"{path} is not a disk image: it is of no known format, {size} bytes"
        raise make_error(Code.NOT_A_TEMPLATE, text)


async def read_size(path: Path, *, may_have_backing: bool = False) -> int:
    """Read the virtual size of a qcow2 image, in bytes.

    Raises:
        ConfigurationError: NOT_A_TEMPLATE if it is not qcow2, or refers to other files.
    """
    details = await _read_details(path, ("-f", "qcow2"))
    specific = details.get("format-specific", {}).get("data", {})
    others = details.get("backing-filename") or specific.get("data-file")
    if others and not may_have_backing:
        raise make_error(
            Code.NOT_A_TEMPLATE, f"image {path} refers to another file; import it again"
        )
    return int(details["virtual-size"])


async def _read_details(path: Path, options: tuple[str, ...]) -> dict[str, Any]:
    # -U: the image may be in use by the VMs that were made of it
    command = ["info", "-U", "--output=json", *options, str(path)]
    done = await programs.run(programs.QEMU_IMG, command, folder=path.parent)
    if done.code:
        raise make_error(Code.NOT_A_TEMPLATE, f"{path} is not a disk image: {done.text}")
    found: dict[str, Any] = msgspec.json.decode(done.out)
    return found
