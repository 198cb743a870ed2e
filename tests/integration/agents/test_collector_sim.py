"""The simulated collector against our fleet server, as a real one would call it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from quarterdeck.agents.collector_sim import CollectorSim, PollFailed
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import MAX_TARGET, FleetServer
from quarterdeck.storage import open_memory

TOKEN: Secret[str] = Secret("a-token")
SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'


@contextlib.asynccontextmanager
async def fleet_and_agent(
    token: Secret[str] = TOKEN,
) -> AsyncIterator[tuple[FleetServer, CollectorSim]]:
    store = open_memory()
    server = FleetServer(store, Tokens.single(TOKEN), clock=VirtualClock())
    network = http.MemoryNetwork()
    web = http.Server(server.handle, limits=http.Limits(target_bytes=MAX_TARGET))
    url = network.serve(web, "fleet")
    async with network.client() as client:
        yield server, CollectorSim("edge-1", {"env": "prod"}, url=url, token=token, client=client)
    await web.close()
    await store.close()


def put(server: FleetServer, contents: str = SCRAPE) -> None:
    message = {"name": "web", "contents": contents, "matchers": ["env=prod"]}
    now = "2026-01-01T00:00:00Z"
    server.pipelines.store(server.pipelines.plan_upsert(message, now), now)


async def test_an_agent_registers_polls_and_reports() -> None:
    async with fleet_and_agent() as (server, agent):
        await agent.register()
        assert server.collectors.get("edge-1").local_attributes["env"] == "prod"
        assert await agent.poll()
        assert not await agent.poll(), "an unchanged configuration is not sent again"
        put(server)
        assert await agent.poll()
        assert "prometheus.scrape" in agent.config
        await agent.poll()
        assert server.collectors.get("edge-1").status == "APPLIED"


async def test_a_wrong_token_is_a_failure_that_shows_no_secret() -> None:
    async with fleet_and_agent(Secret("wrong-secret")) as (_, agent):
        with pytest.raises(PollFailed, match="HTTP 401") as caught:
            await agent.poll()
        assert "wrong-secret" not in str(caught.value)


async def test_an_agent_goes_on_after_a_failure() -> None:
    async with fleet_and_agent(Secret("wrong")) as (_, agent):
        clock, failures = VirtualClock(), 0

        def failed(which: CollectorSim, error: PollFailed) -> None:
            nonlocal failures
            failures += 1

        run = asyncio.ensure_future(
            agent.run(clock, changed=lambda which: None, failed=failed, poll_s=10.0)
        )
        for _ in range(3):
            await settle(100)
            await clock.advance(10.0)
            await settle(100)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        assert failures >= 3
