"""Writes the initial RAM disk of the test machine: busybox, a few kernel modules, our scripts.

    initramfs.py KERNEL_TREE BUSYBOX OUTPUT [FOLDER]

KERNEL_TREE is an unpacked kernel package; the files in FOLDER are added as they are. The archive is
written here, in cpio's newc format, so that neither root nor cpio is needed.
"""

import gzip
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
MODULES = ("virtio_pci", "virtio_net", "virtio_blk", "isofs", "button", "evdev")
FOLDERS = (
    "bin", "dev", "etc", "etc/acpi", "etc/acpi/PWRF", "etc/hyperfleet", "modules", "proc", "run",
    "run/seed", "sys", "tmp", "var", "var/log", "var/run",
)  # fmt: skip
DIRECTORY, FILE = stat.S_IFDIR | 0o755, stat.S_IFREG | 0o755


class Archive:
    def __init__(self) -> None:
        self.data = bytearray()
        self._count = 0

    def add(
        self, name: str, mode: int, data: bytes = b"", device: tuple[int, int] = (0, 0)
    ) -> None:
        self._count += 1
        encoded = name.encode() + b"\0"
        numbers = (self._count, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        self.data += b"070701" + b"".join(b"%08X" % number for number in numbers) + encoded
        self._pad()
        self.data += data
        self._pad()

    def _pad(self) -> None:
        self.data += b"\0" * (-len(self.data) % 4)


def sort_modules(modules: Mapping[str, bytes], wanted: Iterable[str]) -> dict[str, bytes]:
    """The wanted modules with those they depend on, each after its dependencies.

    A kernel update may change what a module depends on, so each module is asked. What is not in
    `modules` is built into the kernel.
    """
    found: dict[str, bytes] = {}
    for name in wanted:
        if name in modules and name not in found:
            found |= sort_modules(modules, list_dependencies(modules[name]))
            found[name] = modules[name]
    return found


def list_dependencies(module: bytes) -> list[str]:
    """Names of the modules that this one needs, from the field `depends` of its ELF section."""
    match = re.search(rb"\0depends=([^\0]*)\0", module)
    names = match[1].decode().replace("-", "_").split(",") if match else []
    return [name for name in names if name]


def add_folder(archive: Archive, folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() and name not in FOLDERS:
            archive.add(name, DIRECTORY)
        elif path.is_file():
            archive.add(name, FILE, path.read_bytes())


def build(tree: Path, busybox: Path, folder: Path | None = None) -> bytes:
    archive = Archive()
    for name in FOLDERS:
        archive.add(name, DIRECTORY)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add("bin/busybox", FILE, busybox.read_bytes())
    modules = {path.stem.replace("-", "_"): path.read_bytes() for path in tree.rglob("*.ko")}
    order = sort_modules(modules, MODULES)
    for name, content in order.items():
        archive.add(f"modules/{name}.ko", FILE, content)
    archive.add("modules/order", FILE, "".join(f"{name}.ko\n" for name in order).encode())
    archive.add("init", FILE, (HERE / "init").read_bytes())
    archive.add("etc/udhcpc.sh", FILE, (HERE / "udhcpc.sh").read_bytes())
    archive.add("etc/acpi/PWRF/00000080", FILE, (HERE / "power.sh").read_bytes())
    if folder is not None:
        add_folder(archive, folder)
    archive.add("TRAILER!!!", 0)
    return gzip.compress(bytes(archive.data), 6, mtime=0)


if __name__ == "__main__":
    tree, busybox, output, *more = map(Path, sys.argv[1:])
    output.write_bytes(build(tree, busybox, *more))
