"""Serial consoles of simulated machines: one log file each, in the data folder.

A console is a file rather than a stream because simulated machines have no input. Nothing of
a seed is written: it may hold secrets.
"""

import os
from pathlib import Path

from quarterdeck.operators.machines.ownership import build_tag

FOLDER = "simulator-consoles"
_LONGEST = 1 << 16


class Consoles:
    """The consoles of one simulated hypervisor."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        """`folder` is the data folder; nothing is written before a machine starts."""
        self._folder = (folder / FOLDER / build_tag(endpoint)).absolute()

    def path(self, uuid: str) -> Path:
        """The console file of a VM; it may not exist yet."""
        return self._folder / f"{build_tag(uuid)}.log"

    def write(self, uuid: str, *lines: str) -> None:
        """Append lines; a file that has grown too large is truncated first."""
        path = self.path(uuid)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_long = path.exists() and path.stat().st_size > _LONGEST
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
        flags |= os.O_TRUNC if is_long else os.O_APPEND
        with os.fdopen(os.open(path, flags, 0o600), "w") as file:
            file.writelines(f"{line}\n" for line in lines)

    def remove(self, uuid: str) -> None:
        """Remove the console of a deleted VM."""
        self.path(uuid).unlink(missing_ok=True)
