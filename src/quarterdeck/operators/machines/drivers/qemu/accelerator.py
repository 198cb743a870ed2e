"""Detects whether KVM works on this host, because `/dev/kvm` may exist and be unusable.

A VM with a one-sector disk is booted: it writes a number to a port, which ends QEMU with an exit
code derived from the number. Any other outcome (an error, a crash, a hang) means that KVM does
not work.
"""

import os
import tempfile
from pathlib import Path

from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.operators.machines.drivers.qemu.command import KVM, TCG, Accelerator
from quarterdeck.operators.machines.errors import HypervisorError

DEVICE = Path("/dev/kvm")
_TIMEOUT_S = 10.0
_PORT, _NUMBER = 0xF4, 0x10
_EXIT_CODE = _NUMBER << 1 | 1
_DISK_BYTES = 1 << 20
"""Size of the test disk; smaller ones are not booted."""
_SECTOR = bytes((0xB0, _NUMBER, 0xE6, _PORT, 0xF4)).ljust(510, b"\0") + b"\x55\xaa"
"""mov al, NUMBER; out PORT, al; hlt"""


async def choose_accelerator(device: Path = DEVICE) -> Accelerator:
    """KVM if a VM runs with it, else emulation."""
    if not os.access(device, os.R_OK | os.W_OK):
        return TCG
    return KVM if await can_run_with(KVM) else TCG


async def can_run_with(accelerator: Accelerator, *, timeout_s: float = _TIMEOUT_S) -> bool:
    """Whether the test VM ends with the exit code that its program sets."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "disk").write_bytes(_SECTOR.ljust(_DISK_BYTES, b"\0"))
        arguments = [
            *("-machine", f"q35,accel={accelerator.name}", "-cpu", accelerator.cpu, "-m", "32M"),
            *("-nodefaults", "-no-user-config", "-display", "none"),
            *("-device", f"isa-debug-exit,iobase={_PORT:#x},iosize=4"),
            *("-drive", "file=disk,format=raw,if=virtio,readonly=on"),
        ]
        try:
            done = await programs.run(programs.QEMU, arguments, folder=folder, timeout_s=timeout_s)
        except HypervisorError:
            return False
    return done.code == _EXIT_CODE
