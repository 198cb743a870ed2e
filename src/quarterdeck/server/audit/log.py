"""The file of the audit log: a line an event, rotated by size, old files deleted."""

import contextlib
import logging
import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import msgspec

from quarterdeck.kit.clock import Clock

_log = logging.getLogger(__name__)
_STAMP_FORMAT = "%Y-%m-%dT%H-%M-%S.%f"
_STAMP = r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{6}"


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
        self._rotated_at = options.max_size_bytes
        """The size at which the file is rotated; larger after a rotation that failed."""
        self._lost = 0
        """Events that could not be written since the last one that was."""
        self._is_torn = False
        """Whether the file ends with a part of a line."""

    def append(self, event: bytes) -> None:
        """Append an encoded event as a line; it is in the file when this returns.

        As in Kubernetes an event that cannot be written, as on a full disk, is lost and reported in
        the log of the server: the request it belongs to may be done already.
        """
        try:
            self._append(event + b"\n")
        except OSError as error:
            self._lost += 1
            if self._lost == 1:
                _log.error(
                    "cannot write the audit log; events are lost until it can be written",
                    extra={"path": str(self._options.path), "reason": str(error)},
                )
            return
        if self._lost:
            _log.warning(
                "the audit log is written again",
                extra={"path": str(self._options.path), "lost": self._lost},
            )
            self._lost = 0

    def _append(self, line: bytes) -> None:
        """Write a line; after a part of one, on a line of its own."""
        if self._file.tell() + len(line) > self._rotated_at and self._file.tell():
            self._rotate()
        rest = memoryview(b"\n" + line if self._is_torn else line)
        while rest:
            written = self._file.write(rest)
            self._is_torn = written < len(rest)
            rest = rest[written:]

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be written."""
        return self._file.closed

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _open(self) -> IO[bytes]:
        path = self._options.path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "ab", buffering=0)  # nothing is kept of a write that failed

    def _rotate(self) -> None:
        """Begin a new file; if that fails, events are appended to the present one."""
        path, now = self._options.path, self._clock.now()
        try:
            with contextlib.suppress(FileNotFoundError):  # somebody else has moved it
                path.rename(path.with_name(f"{path.stem}-{now:{_STAMP_FORMAT}}{path.suffix}"))
            before, self._file = self._file, self._open()
        except OSError as error:
            self._rotated_at = self._file.tell() + self._options.max_size_bytes
            _log.warning(
                "cannot rotate the audit log; it continues in the same file",
                extra={"path": str(path), "reason": str(error)},
            )
            return
        self._rotated_at = self._options.max_size_bytes
        self._is_torn = False
        before.close()
        self._delete_old(now)

    def _delete_old(self, now: datetime) -> None:
        options = self._options
        rotated = self._list_rotated()
        doomed = set(rotated[options.max_backups :]) if options.max_backups else set()
        if options.max_age_days:
            oldest = (now - timedelta(days=options.max_age_days)).timestamp()
            doomed |= {each for each in rotated if _read_mtime(each) < oldest}
        for each in doomed:
            with contextlib.suppress(OSError):  # the next rotation tries again
                each.unlink(missing_ok=True)

    def _list_rotated(self) -> list[Path]:
        """List the rotated files, newest first; other files may have names that begin alike."""
        path = self._options.path
        name = re.compile(f"{re.escape(path.stem)}-{_STAMP}{re.escape(path.suffix)}")
        found = [each for each in path.parent.iterdir() if name.fullmatch(each.name)]
        return sorted(found, reverse=True)


def _read_mtime(path: Path) -> float:
    """Return when a file was written last; infinity if it is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")
