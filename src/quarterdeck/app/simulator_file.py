"""The file of simulated hypervisors, through which their VMs outlive the process as real ones do.

Every change is in the file before the call that made it returns. Otherwise a process that is
killed would know VMs from its own records that its hypervisor no longer has.
"""

import asyncio
from pathlib import Path

import msgspec

from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.drivers.simulator.persistence import dump, load
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.runtime import get_logger


class SimulatorFile:
    """Loads all simulators of a process from a file, and saves them after each change."""

    def __init__(self, simulators: Simulators, path: Path, *, clock: Clock) -> None:
        self._simulators = simulators
        self._path = path
        self._clock = clock
        self._writing = asyncio.Lock()
        self._saved = 0

    def load(self) -> None:
        """Restore the simulators; they start empty if the file cannot be read."""
        try:
            documents = json.decode(self._path.read_bytes())
            for endpoint, text in documents.items():
                load(self._simulators.get(endpoint), text.encode())
        except FileNotFoundError:
            pass
        except (msgspec.DecodeError, ValueError, KeyError) as error:
            get_logger("machines").warning(
                "state of simulated hypervisors cannot be read; they start empty",
                file=str(self._path),
                detail=str(error),
            )
        self._saved = self._count_changes()

    async def save(self) -> None:
        """Save all changes until now; calls that come at the same time share one write.

        Raises:
            HypervisorError: if the file cannot be written.
        """
        changes = self._count_changes()
        if self._saved >= changes:
            return
        async with self._writing:
            if self._saved >= changes:
                return
            await self._clock.sleep(0)  # the other calls of this turn join
            self._write()

    def _write(self) -> None:
        changes = self._count_changes()
        worlds = self._simulators.worlds
        documents = {key: dump(world).decode() for key, world in worlds.items()}
        try:
            write_private_file(self._path, json.encode(documents))
        except OSError as error:
            raise make_error(
                Code.UNAVAILABLE,
                f"cannot save simulated hypervisors to {self._path}: {error.strerror or error}",
            ) from error
        self._saved = changes

    def _count_changes(self) -> int:
        return sum(world.changes for world in self._simulators.worlds.values())
