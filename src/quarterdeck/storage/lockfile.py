"""An advisory lock: one process at a time on one database.

The kernel releases it when the process ends, also after a crash, so there is nothing to clean up.
"""

import os
import sys
from pathlib import Path

from quarterdeck.storage.errors import Locked

__all__ = ["LockFile", "find_holder"]


class LockFile:
    """Holds the lock from construction until `release`."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(self._descriptor)
        except OSError as error:
            holder = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            by = f" by process {holder}" if holder else ""
            raise Locked(
                f"{path} is locked{by}: stop that process, or use another data directory"
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, str(os.getpid()).encode())

    def release(self) -> None:
        """Release the lock. The file stays: removing it would race with its next holder."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def find_holder(database: Path) -> str:
    """The process that has a database open, such as `process 4711`; empty if there is none."""
    path = database.with_name(f"{database.name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # there is none, or it is not ours
        return ""
    try:
        _lock(descriptor)
    except OSError:
        return f"process {os.read(descriptor, 32).decode('ascii', 'replace').strip()}"
    finally:
        os.close(descriptor)
    return ""


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
