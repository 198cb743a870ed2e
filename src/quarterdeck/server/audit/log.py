"""The file of the audit log: a line an event, rotated by size, old files deleted."""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import msgspec

from quarterdeck.kit.clock import Clock


class AuditLogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """kube-apiserver's `--audit-log-…` flags."""

    path: Path
    max_size_bytes: int = 100 * 1024 * 1024
    """The file is rotated before it grows over this."""
    max_backups: int = 0
    """How many rotated files are kept; 0 for all."""
    max_age_days: int = 0
    """How long rotated files are kept; 0 for ever."""


class AuditLog:
    """Appends events to a file that only its owner reads."""

    def __init__(self, options: AuditLogOptions, clock: Clock) -> None:
        """Open the file.

        Raises:
            OSError: if it cannot be written.
        """
        self._options = options
        self._clock = clock
        self._file = self._open()

    def append(self, event: bytes) -> None:
        """Append an encoded event as a line; it is in the file when this returns."""
        line = event + b"\n"
        if self._file.tell() + len(line) > self._options.max_size_bytes and self._file.tell():
            self._rotate()
        self._file.write(line)
        self._file.flush()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._file.closed

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _open(self) -> BinaryIO:
        path = self._options.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "ab")

    def _rotate(self) -> None:
        path, now = self._options.path, self._clock.now()
        self._file.close()
        stamp = now.strftime("%Y-%m-%dT%H-%M-%S.%f")
        path.rename(path.with_name(f"{path.stem}-{stamp}{path.suffix}"))
        self._delete_old(now)
        self._file = self._open()

    def _delete_old(self, now: datetime) -> None:
        path, options = self._options.path, self._options
        rotated = sorted(path.parent.glob(f"{path.stem}-*{path.suffix}"), reverse=True)
        doomed = set(rotated[options.max_backups :]) if options.max_backups else set()
        if options.max_age_days:
            oldest = (now - timedelta(days=options.max_age_days)).timestamp()
            doomed |= {each for each in rotated if each.stat().st_mtime < oldest}
        for each in doomed:
            each.unlink(missing_ok=True)
