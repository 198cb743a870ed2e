"""The process of a VM: found by its number and identity, started, ended."""

import os
import signal
from pathlib import Path

from quarterdeck.kit.clock import Clock
from quarterdeck.operators.machines.drivers.qemu import programs, qmp
from quarterdeck.operators.machines.drivers.qemu.folder import VmFolder
from quarterdeck.operators.machines.errors import Code, TransientError, make_error

_STEP_S = 0.02
_STEP_MAX_S = 0.25
_QUIT_S = 10.0
_KILL_S = 10.0


def find_pid(at: VmFolder, uuid: str) -> int:
    """The PID of the VM's process; 0 if it does not run.

    PIDs are reused, so the command line of the process must also have the VM's UUID. A zombie has
    an empty command line, so it does not count.
    """
    try:
        number = int(at.pid.read_text())
        command = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return 0
    return number if uuid.encode() in command else 0


async def start(at: VmFolder, arguments: list[str]) -> None:
    """Start a VM; returns when QEMU has gone into the background.

    Raises:
        HypervisorError: with the message of QEMU.
    """
    at.pid.unlink(missing_ok=True)
    done = await programs.run(programs.QEMU, arguments, folder=at.path)
    if done.code:
        is_full = "Cannot allocate memory" in done.text or "cannot set up guest memory" in done.text
        code = Code.RESOURCE_EXHAUSTED if is_full else Code.CONFLICT
        raise make_error(code, f"QEMU did not start: {done.text[-500:]}", operation="power")


async def stop(at: VmFolder, uuid: str, clock: Clock) -> None:
    """Stop a VM without asking its guest; returns when its process has ended.

    Raises:
        TransientError: TIMEOUT if it cannot be ended.
    """
    if not find_pid(at, uuid):
        return
    try:
        await qmp.execute(at.path, "quit")
    except (qmp.Gone, TransientError):
        pass  # it has ended, has just been started, or hangs: looked at below
    if await _wait_end(at, uuid, clock, _QUIT_S):
        return
    if number := find_pid(at, uuid):
        os.kill(number, signal.SIGKILL)
    if not await _wait_end(at, uuid, clock, _KILL_S):
        raise make_error(Code.TIMEOUT, f"process {number} did not exit", operation="power")


async def _wait_end(at: VmFolder, uuid: str, clock: Clock, limit_s: float) -> bool:
    """Poll until a process ends, because it is not our child; returns whether it ended in time."""
    deadline, step_s = clock.monotonic() + limit_s, _STEP_S
    while find_pid(at, uuid):
        if clock.monotonic() > deadline:
            return False
        await clock.sleep(step_s)
        step_s = min(step_s * 2, _STEP_MAX_S)
    return True
