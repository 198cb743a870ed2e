"""The audit log while its store is away."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from quarterdeck.hubstate.errors import StoreUnavailable
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.services.hub import audit
from quarterdeck.services.hub.audit import AuditLog, Record
from quarterdeck.testing import VirtualClock

_DAY = datetime(2026, 11, 16, tzinfo=UTC)


class Store:
    """A store that may be away; keeps what it was told, newest first."""

    def __init__(self) -> None:
        self.is_away = False
        self.kept: list[bytes] = []
        self.tries = 0
        self.tried = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def commit(self, writes: Sequence[Any]) -> None:
        self.tries += 1
        self.tried.set()
        await self.answers.wait()
        if self.is_away:
            raise StoreUnavailable("away")
        for each in writes:
            assert each.key == "audit:rbac:20261116"
            self.kept.insert(0, each.value)

    async def get_items(self, key: str, *, limit: int) -> list[bytes]:
        assert (key, limit) == ("audit:rbac:20261116", audit.KEPT)
        return [*self.kept, b"{broken"]


def _open(store: Store, clock: VirtualClock) -> AuditLog:
    return AuditLog(cast("StateStore", store), clock=clock)


def _record(user: str) -> Record:
    return Record(
        timestamp="2026-11-16T10:00:00Z",
        user=user,
        groups=(),
        method="GET",
        path="/api/v1/clusters",
        status=403,
        reason="denied",
        peer="10.0.0.1",
    )


async def _wait_for_try(store: Store) -> None:
    await store.tried.wait()
    store.tried.clear()


async def test_records_wait_for_the_store_and_keep_their_order() -> None:
    store, clock = Store(), VirtualClock()
    log = _open(store, clock)
    store.is_away = True
    writing = asyncio.ensure_future(log.run())
    log.add(_record("ann"))
    log.add(_record("bob"))
    await _wait_for_try(store)
    assert store.kept == []
    store.is_away = False
    await clock.advance(5.0)
    await _wait_for_try(store)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    assert [each.user for each in await log.read(_DAY)] == ["bob", "ann"]
    assert log.dropped == 0


async def test_the_oldest_go_when_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_WAITING", 2)
    store = Store()
    log = _open(store, VirtualClock())
    for user in ("ann", "bob", "eve"):
        log.add(_record(user))
    assert log.dropped == 1
    assert [each.user for each in await log.read(_DAY)] == ["eve", "bob"]


async def test_reading_tells_what_is_stored_while_writes_fail() -> None:
    store = Store()
    log = _open(store, VirtualClock())
    log.add(_record("ann"))
    await log.flush()
    store.is_away = True
    log.add(_record("bob"))
    assert [each.user for each in await log.read(_DAY)] == ["ann"]
    store.is_away = False
    assert [each.user for each in await log.read(_DAY)] == ["bob", "ann"]


async def test_records_that_are_being_written_at_the_end_are_written() -> None:
    store, clock = Store(), VirtualClock()
    log = _open(store, clock)
    store.answers.clear()
    log.add(_record("ann"))
    running = asyncio.ensure_future(log.run())
    await _wait_for_try(store)
    running.cancel()
    await asyncio.wait({running})
    store.answers.set()
    await log.flush()
    assert len(store.kept) == 1


async def test_a_reader_waits_for_records_that_are_being_written() -> None:
    store, clock = Store(), VirtualClock()
    log = _open(store, clock)
    store.answers.clear()
    log.add(_record("ann"))
    running = asyncio.ensure_future(log.run())
    await _wait_for_try(store)
    reading = asyncio.ensure_future(log.read(_DAY))
    await asyncio.sleep(0)
    store.answers.set()
    assert [each.user for each in await reading] == ["ann"]
    running.cancel()
    await asyncio.wait({running})
