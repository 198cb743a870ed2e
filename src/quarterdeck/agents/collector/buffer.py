"""Cycles on disk until the hub has acknowledged them: a ring of files, oldest dropped first.

Each file is one batch: its chunks, each with its length. A file is complete when it has its name,
so a collector that is killed while writing leaves nothing that could be sent by half.
Calls block on the disk: run them in threads; a lock keeps them apart.
"""

import contextlib
import os
import struct
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_SUFFIX = ".batch"
_LENGTH = struct.Struct("<I")


class Entry(NamedTuple):
    """One batch on disk."""

    ordinal: int
    size: int


class DiskBuffer:
    """Batches on disk in the order of their creation."""

    def __init__(self, folder: Path, *, max_batches: int, max_bytes: int) -> None:
        """Open a folder; batches of an earlier run are kept.

        Raises:
            OSError: if the folder cannot be used.
        """
        self._folder = folder
        self._max_batches = max_batches
        self._max_bytes = max_bytes
        self._lock = threading.RLock()
        self.dropped = 0
        """Number of batches that were dropped: over a limit, or unreadable."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for unfinished in folder.glob(".*.tmp"):
            unfinished.unlink()
        found = sorted(folder.glob(f"*{_SUFFIX}"))
        self._entries = deque(
            Entry(int(path.stem), path.stat().st_size) for path in found if path.stem.isdigit()
        )
        self._bytes = sum(each.size for each in self._entries)
        self._next = self._entries[-1].ordinal + 1 if self._entries else 1
        self._trim()

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, chunks: Sequence[bytes]) -> None:
        """Add a batch.

        Raises:
            OSError: if it cannot be written.
        """
        with self._lock:
            self._push_locked(chunks)

    def _push_locked(self, chunks: Sequence[bytes]) -> None:
        entry = Entry(self._next, sum(len(each) + _LENGTH.size for each in chunks))
        unfinished = self._folder / f".{entry.ordinal}.tmp"
        with unfinished.open("wb") as file:
            for each in chunks:
                file.write(_LENGTH.pack(len(each)))
                file.write(each)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._build_path(entry))
        self._next += 1
        self._entries.append(entry)
        self._bytes += entry.size
        self._trim()

    def peek(self) -> tuple[Entry, list[bytes]] | None:
        """The oldest batch; one that cannot be read is dropped and counted."""
        with self._lock:
            while self._entries:
                entry = self._entries[0]
                chunks = self._read(entry)
                if chunks:
                    return entry, chunks
                self.dropped += 1
                self.remove(entry)
            return None

    def remove(self, entry: Entry) -> None:
        """Remove a batch; does nothing if it was dropped meanwhile."""
        with self._lock, contextlib.suppress(ValueError):
            self._entries.remove(entry)
            self._bytes -= entry.size
        self._build_path(entry).unlink(missing_ok=True)

    def _trim(self) -> None:
        """Drop the oldest until both bounds hold; the newest always stays."""
        while len(self._entries) > 1 and (
            len(self._entries) > self._max_batches or self._bytes > self._max_bytes
        ):
            self.dropped += 1
            self.remove(self._entries[0])

    def _read(self, entry: Entry) -> list[bytes]:
        try:
            data = self._build_path(entry).read_bytes()
        except OSError:
            return []
        chunks, position = [], 0
        while position + _LENGTH.size <= len(data):
            (size,) = _LENGTH.unpack_from(data, position)
            position += _LENGTH.size
            chunks.append(data[position : position + size])
            position += size
        return chunks if position == len(data) else []

    def _build_path(self, entry: Entry) -> Path:
        return self._folder / f"{entry.ordinal:012d}{_SUFFIX}"
