"""Writes the initial RAM disk of the test machine: busybox, a few kernel modules, our scripts.

    initramfs.py KERNEL_TREE BUSYBOX OUTPUT [FOLDER]

KERNEL_TREE is an unpacked kernel package; the files in FOLDER are added as they are. The archive is
written here, in cpio's newc format, so that neither root nor cpio is needed.
"""

import gzip
import stat
import sys
from pathlib import Path

HERE = Path(__file__).parent
# in the order in which they are loaded
MODULES = (
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
    "drivers/block/virtio_blk",
    "drivers/cdrom/cdrom",
    "fs/isofs/isofs",
    "drivers/acpi/button",
    "drivers/input/evdev",
)
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
    (kernel,) = (tree / "lib/modules").iterdir()
    order = []
    for module in MODULES:
        found = kernel / "kernel" / f"{module}.ko"
        if found.exists():  # what is missing is built into this kernel
            order.append(found.name)
            archive.add(f"modules/{found.name}", FILE, found.read_bytes())
    archive.add("modules/order", FILE, "".join(f"{name}\n" for name in order).encode())
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
