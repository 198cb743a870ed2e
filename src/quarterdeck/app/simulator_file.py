"""The file of simulated hypervisors, through which their VMs outlive the process as real ones do.

Every change is in the file before the call that made it returns. Otherwise a process that is
killed would know VMs from its own records that its hypervisor no longer has.

Each line is a JSON object of dumps by endpoint. The first line holds everything, the others what
changed after it, so that a change costs the same with ten VMs and with ten thousand. The file is
rewritten once the other lines are longer than the first.
"""

import asyncio
import os
from pathlib import Path

import msgspec

from quarterdeck.kit import json
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.private_file import write_private_file
from quarterdeck.operators.machines.drivers.simulator import Simulators
from quarterdeck.operators.machines.drivers.simulator.persistence import (
    dump,
    dump_changes,
    load,
    merge_changes,
)
from quarterdeck.operators.machines.errors import Code, make_error
from quarterdeck.runtime import get_logger

_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
_MIN_ROOM = 1 << 16
"""Bytes of changes that are appended even if the first line is shorter."""


class SimulatorFile:
    """Loads all simulators of a process from a file, and saves them after each change."""

    def __init__(self, simulators: Simulators, path: Path, *, clock: Clock) -> None:
        self._simulators = simulators
        self._path = path
        self._clock = clock
        self._writing = asyncio.Lock()
        self._saved = 0
        self._room = 0
        """Bytes that may be appended before the file is rewritten."""

    def load(self) -> None:
        """Restore the simulators; they start empty if the file cannot be read."""
        try:
            for endpoint, dumps in _read_dumps(self._path).items():
                load(self._simulators.get(endpoint), merge_changes(dumps))
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
        worlds = self._simulators.worlds
        for world in worlds.values():
            world.settle()
        changes, line = self._count_changes(), self._encode_changes()
        room, self._room = self._room - len(line), 0  # after a failure everything is written
        try:
            if room < 0 or not self._append(line):
                line = json.encode({key: dump(world).decode() for key, world in worlds.items()})
                write_private_file(self._path, line + b"\n")
                room = max(len(line), _MIN_ROOM)
        except OSError as error:
            raise make_error(
                Code.UNAVAILABLE,
                f"cannot save simulated hypervisors to {self._path}: {error.strerror or error}",
            ) from error
        self._room, self._saved = room, changes
        for world in worlds.values():
            world.unsaved.clear()

    def _encode_changes(self) -> bytes:
        """The line of everything that is not saved yet."""
        worlds = self._simulators.worlds
        dumps = {key: dump_changes(world, world.unsaved).decode() for key, world in worlds.items()}
        return json.encode(dumps) + b"\n"

    def _append(self, line: bytes) -> bool:
        """Append a line; False if there is no file or it did not take all of it."""
        try:
            descriptor = os.open(self._path, _APPEND)
        except FileNotFoundError:
            return False
        try:
            return os.write(descriptor, line) == len(line)
        finally:
            os.close(descriptor)

    def _count_changes(self) -> int:
        return sum(world.changes for world in self._simulators.worlds.values())


def _read_dumps(path: Path) -> dict[str, list[bytes]]:
    """The dumps of each endpoint, oldest first.

    A last line without its end is left out: the call that wrote it was killed and never returned.

    Raises:
        OSError: if the file cannot be read.
        msgspec.DecodeError: if a line is not what `SimulatorFile` writes.
    """
    first, *changes = path.read_bytes().split(b"\n")
    dumps: dict[str, list[bytes]] = {}
    for line in [first, *changes[:-1]]:
        for endpoint, text in msgspec.json.decode(line, type=dict[str, str]).items():
            dumps.setdefault(endpoint, []).append(text.encode())
    return dumps
