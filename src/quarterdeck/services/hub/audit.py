"""The audit log: refused requests, and sensitive ones such as explaining the access of others.

Records are stored in `audit:rbac:{YYYYMMDD}` for 30 days, and logged. Requests do not wait for the
store; if too many records are buffered, the oldest are dropped and counted.
"""

import asyncio
from collections import deque
from datetime import datetime

import msgspec

from quarterdeck.hubstate.errors import HubStateError
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.hubstate.writes import PushItem
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.runtime.observability.logging import get_logger

KEPT = 100_000
"""Maximum number of records of one day."""
KEPT_S = 30 * 24 * 3600
MAX_WAITING = 10_000
_BATCH = 500
_PAUSE_S = 5.0
_log = get_logger("services.hub.audit")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the audit log."""

    timestamp: str
    user: str
    groups: tuple[str, ...]
    method: str
    path: str
    status: int
    reason: str
    peer: str


class AuditLog:
    """Writes records in the background."""

    def __init__(self, state: StateStore, *, clock: Clock) -> None:
        self._state = state
        self._clock = clock
        self._waiting: deque[Record] = deque()
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()
        self.dropped = 0

    def add(self, record: Record) -> None:
        """Log a record, and buffer it for the store."""
        self._waiting.append(record)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._news.set()
        _log.info(
            "access audited",
            user=record.user,
            path=record.path,
            status=record.status,
            reason=record.reason,
        )

    async def run(self) -> None:
        """Write buffered records; cancel it to stop, then `flush`."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                if not await self._write():
                    await self._clock.sleep(_PAUSE_S)

    async def read(self, day: datetime) -> list[Record]:
        """The records of a day, newest first, with those that wait to be written.

        Raises:
            HubStateError: if the store does not answer.
        """
        await self.flush()
        found = await self._state.get_items(audit_key(day), limit=KEPT)
        return [record for each in found if (record := _decode(each)) is not None]

    async def flush(self) -> None:
        """Try once to write all buffered records, also those that are being written now."""
        while await self._write() and self._waiting:
            pass

    async def _write(self) -> bool:
        """Write some records, one call after the other; False if the store fails."""
        async with self._writing:
            batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
            if not batch:
                return True
            try:
                await self._state.commit([_plan_record(each) for each in batch])
            except HubStateError as error:
                _log.warning("cannot write the audit log", error=str(error))
                self._waiting.extendleft(reversed(batch))
                return False
            except asyncio.CancelledError:  # the last flush writes them
                self._waiting.extendleft(reversed(batch))
                raise
        return True


def _plan_record(record: Record) -> PushItem:
    key = audit_key(rfc3339.parse(record.timestamp))
    return PushItem(key, json.encode(record), KEPT, KEPT_S)


def _decode(data: bytes) -> Record | None:
    try:
        return msgspec.json.decode(data, type=Record)
    except msgspec.DecodeError:
        return None


def audit_key(at: datetime) -> str:
    """The key of a day."""
    return f"audit:rbac:{at:%Y%m%d}"
