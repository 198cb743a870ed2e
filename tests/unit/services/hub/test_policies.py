"""Policies while the store is away or slow."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import msgspec
import pytest

from quarterdeck.apis.clusterpulse.monitor_access_policy import MonitorAccessPolicySpec
from quarterdeck.hubstate.errors import StoreUnavailable
from quarterdeck.hubstate.ports import StateStore
from quarterdeck.inventory.policy import compile_policy
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.hub.policies import Policies


class Away:
    """A store that refuses us, and counts how often."""

    def __init__(self) -> None:
        self.asked = 0

    @contextlib.asynccontextmanager
    async def subscribe(self, *_: str) -> AsyncIterator[Any]:
        self.asked += 1
        raise StoreUnavailable("invalid username-password pair")
        yield


async def test_reason_why_the_store_refuses_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, store = VirtualClock(), Away()
    policies = Policies(cast("StateStore", store), clock=clock)
    async with Supervisor("test") as tasks:
        running = tasks.spawn(policies.run(), name="policies")
        for _ in range(5):
            await clock.advance(2)
        running.cancel()
    assert store.asked > 2
    [line] = [each for each in caplog.records if "cannot follow" in each.getMessage()]
    assert "invalid username-password pair" in str(line.__dict__)


class Slow:
    """A store whose first answer takes until `go_on` is set, and is old by then."""

    def __init__(self) -> None:
        self.keys = frozenset({"policy:hub:revoked"})
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    async def get_members(self, _: str) -> frozenset[str]:
        found, is_first = self.keys, not self.asked.is_set()
        self.asked.set()
        if is_first:
            await self.go_on.wait()
        return found

    async def get_fields(self, _: str) -> dict[str, str]:
        spec = msgspec.convert(
            {"identity": {"subjects": {"users": ["ann"]}}, "access": {"effect": "Allow"}},
            MonitorAccessPolicySpec,
        )
        policy = compile_policy(spec, name="revoked", namespace="hub", compiled_at="", hash_="")
        return {"data": msgspec.json.encode(policy).decode()}


async def test_a_slow_read_does_not_bring_a_revoked_policy_back() -> None:
    store = Slow()
    policies = Policies(cast("StateStore", store), clock=VirtualClock())
    async with Supervisor("test") as tasks:
        slow = tasks.spawn(policies.refresh(), name="slow")
        await store.asked.wait()
        store.keys = frozenset()
        await policies.refresh()
        store.go_on.set()
        await slow
    assert policies.count == 0


class Broken(Away):
    """A store whose subscription fails in a way that nobody expected."""

    @contextlib.asynccontextmanager
    async def subscribe(self, *_: str) -> AsyncIterator[Any]:
        raise ZeroDivisionError
        yield


async def test_an_unexpected_failure_is_not_kept_by_the_policies() -> None:
    policies = Policies(cast("StateStore", Broken()), clock=VirtualClock())
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(policies.run(), 60)
