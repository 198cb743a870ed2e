"""Runs programs of the machine, with errors that name the program and the cause."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_TIMEOUT_S = 60.0


class ProgramError(Exception):
    """Raised when a program is absent or fails; the message has its name and the cause."""


def run(*command: str, folder: Path, environment: Mapping[str, str] | None = None) -> bytes:
    """Run a program in a folder; its output.

    Raises:
        ProgramError: if it cannot be run, or fails.
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ProgramError(f"cannot run {command[0]}: {error}") from error
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise ProgramError(f"{command[0]} failed: {words[-1] if words else done.returncode}")
    return done.stdout
