"""Runs QEMU, qemu-img and swtpm."""

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from quarterdeck.operators.machines.errors import Code, make_error

QEMU, QEMU_IMG = "qemu-system-x86_64", "qemu-img"
SWTPM, SWTPM_SETUP = "swtpm", "swtpm_setup"
PACKAGES = {
    QEMU: "qemu-system-x86",
    QEMU_IMG: "qemu-utils",
    SWTPM: "swtpm",
    SWTPM_SETUP: "swtpm-tools",
}
_LONGEST_S = 110.0
_LONGEST_OUTPUT = 1 << 20
_LONGEST_COMPLAINT = 500


class Output(NamedTuple):
    """Exit code and output of a program."""

    code: int
    out: bytes
    text: str
    """What it wrote to stderr."""


def find(program: str) -> str:
    """Find the path of a program.

    Raises:
        PermanentError: NOT_SUPPORTED if it is not installed; names the package to install.
    """
    path = shutil.which(program)
    if path is None:
        raise make_error(
            Code.NOT_SUPPORTED,
            f"program {program} not found; install the package {PACKAGES[program]}",
        )
    return path


def has(*programs: str) -> bool:
    """Whether all of these programs are installed."""
    return all(shutil.which(program) for program in programs)


async def run(
    program: str, arguments: Sequence[str], *, folder: Path, timeout_s: float = _LONGEST_S
) -> Output:
    """Run a program until it ends or goes into the background.

    Raises:
        TransientError: TIMEOUT if it does not end.
    """
    # Files, not pipes: what goes into the background may keep a pipe open for as long as it runs.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaint:
        process = await asyncio.create_subprocess_exec(
            find(program),
            *arguments,
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=complaint,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(timeout_s):
                code = await process.wait()
        except TimeoutError:
            text = f"{program} did not exit within {timeout_s:.0f} s"
            raise make_error(Code.TIMEOUT, text) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Output(code, _read(out), " ".join(_read(complaint).decode(errors="replace").split()))


def _read(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read(_LONGEST_OUTPUT)


async def check(
    program: str, arguments: Sequence[str], *, folder: Path, timeout_s: float = _LONGEST_S
) -> bytes:
    """Run a program that must succeed; returns what it printed.

    Raises:
        HypervisorError: RESOURCE_EXHAUSTED if the disk is full, TIMEOUT if it does not end, else
            CONFLICT, with its stderr.
    """
    done = await run(program, arguments, folder=folder, timeout_s=timeout_s)
    if done.code:
        code = Code.RESOURCE_EXHAUSTED if "No space left" in done.text else Code.CONFLICT
        reason = done.text[-_LONGEST_COMPLAINT:] or f"exit code {done.code}"
        raise make_error(code, f"{program} failed: {reason}")
    return done.out
