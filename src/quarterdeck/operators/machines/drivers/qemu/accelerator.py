"""Whether KVM works here. `/dev/kvm` may be there and still be unusable, so that it is tried."""

import asyncio
import os
from pathlib import Path

from quarterdeck.operators.machines.drivers.qemu import programs
from quarterdeck.operators.machines.drivers.qemu.command import KVM, TCG, Accelerator

DEVICE = Path("/dev/kvm")
_TIMEOUT_S = 10.0
_SETTLE_S = 0.5
"""How long a guest has to run: a broken KVM fails when the first instructions are run."""


async def choose_accelerator(device: Path = DEVICE) -> Accelerator:
    """KVM if a small VM runs with it, else emulation."""
    if not os.access(device, os.R_OK | os.W_OK):
        return TCG
    return KVM if await _runs_with(KVM) else TCG


async def _runs_with(accelerator: Accelerator) -> bool:
    """Run an empty VM for a moment, and ask whether it still runs."""
    machine = f"q35,accel={accelerator.name}"
    process = await asyncio.create_subprocess_exec(
        *(programs.find(programs.QEMU), "-machine", machine, "-cpu", accelerator.cpu),
        *("-m", "32M", "-nodefaults", "-no-user-config", "-display", "none", "-qmp", "stdio"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdin is not None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            process.stdin.write(b'{"execute": "qmp_capabilities"}\n')
            await process.stdin.drain()
            await asyncio.sleep(_SETTLE_S)
            out, _ = await process.communicate(
                b'{"execute": "query-status"}\n{"execute": "quit"}\n'
            )
    except (TimeoutError, OSError):
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode == 0 and b'"status": "running"' in out
