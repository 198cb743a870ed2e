"""A member of a sharded group, against an API server behind a proxy."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.client.intercept import Call, Intercept, InterceptingApi
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime import get_logger
from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.sharding.sharder import Group, Sharder
from quarterdeck.testing.poll import eventually


async def answer_with_a_page(call: Call) -> bytes:
    return b"<html>"


@asynccontextmanager
async def sharing(
    *pages: Intercept, shared: asyncio.Event
) -> "AsyncIterator[tuple[Sharder, asyncio.Task[None]]]":
    """A member that takes part until the block ends, or its task fails."""
    async with Cluster() as cluster, Supervisor("test") as tasks:
        sharder = Sharder(
            InterceptingApi(cluster.client.raw, pages),
            Group("group", "default", LeaseTiming(1.5, 1.0, 0.05), shards=2),
            identity="one",
            clock=SystemClock(),
            rng=random.Random(1),
            log=get_logger("test"),
            on_change=lambda _: shared.set(),
        )
        running = tasks.spawn(sharder.run(), name="sharder")
        yield sharder, running
        running.cancel()
        await asyncio.wait([running])


async def test_a_page_of_a_proxy_is_a_failed_renewal() -> None:
    page = Intercept("get", answer_with_a_page, resource="leases", times=1)
    shared = asyncio.Event()
    async with sharing(page, shared=shared) as (_, running):
        waiting = asyncio.ensure_future(shared.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        assert not running.done()
        assert page.seen == 1


@pytest.mark.parametrize("written", [0, 1], ids=["own lease", "lease of a shard"])
async def test_no_shard_is_held_that_a_proxy_answered_for(written: int) -> None:
    """Two members that a proxy answers would hold the same shard."""
    left = written

    async def answer_later_writes_with_a_page(call: Call) -> bytes:
        nonlocal left
        left -= 1
        return await answer_with_a_page(call) if left < 0 else await call.proceed()

    pages = [
        Intercept(verb, answer_later_writes_with_a_page, resource="leases")
        for verb in ("create", "update")
    ]
    async with sharing(*pages, shared=asyncio.Event()) as (sharder, running):
        await eventually(lambda: sum(page.seen for page in pages) > 3)
        assert not running.done()
        assert sharder.statistics()["shards"] == 0
