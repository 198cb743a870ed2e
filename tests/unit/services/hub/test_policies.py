"""Policies while the store is away."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from quarterdeck.hubstate.errors import StoreUnavailable
from quarterdeck.hubstate.ports import StateStore
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
