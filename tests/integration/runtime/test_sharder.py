"""A member of a sharded group, against an API server behind a proxy."""

import asyncio
import random

from quarterdeck.app.cluster import Cluster
from quarterdeck.client.intercept import Call, Intercept, InterceptingApi
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime import get_logger
from quarterdeck.runtime.leaderelection.timing import LeaseTiming
from quarterdeck.runtime.sharding.sharder import Group, Sharder


async def answer_with_a_page(call: Call) -> bytes:
    return b"<html>"


async def test_a_page_of_a_proxy_is_a_failed_renewal() -> None:
    page = Intercept("get", answer_with_a_page, resource="leases", times=1)
    shared = asyncio.Event()
    async with Cluster() as cluster, Supervisor("test") as tasks:
        sharder = Sharder(
            InterceptingApi(cluster.client.raw, [page]),
            Group("group", "default", LeaseTiming(1.5, 1.0, 0.05), shards=2),
            identity="one",
            clock=SystemClock(),
            rng=random.Random(1),
            log=get_logger("test"),
            on_change=lambda _: shared.set(),
        )
        running = tasks.spawn(sharder.run(), name="sharder")
        waiting = asyncio.ensure_future(shared.wait())
        await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        assert not running.done()
        assert page.seen == 1
        running.cancel()
        await asyncio.wait([running])
