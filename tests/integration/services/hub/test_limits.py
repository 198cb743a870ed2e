"""What is remembered of policies, how many count, and what is measured."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.integration.services.hub.conftest import World

from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit.http import Request
from quarterdeck.kit.metrics import Registry
from quarterdeck.services.hub.identity import Authenticator
from quarterdeck.services.hub.metrics import ApiMetrics
from quarterdeck.services.hub.policies import PolicyLimits

Make = Callable[[], AbstractAsyncContextManager[World]]


async def allow(w: World, name: str, cluster: str, **more: Any) -> None:
    await w.policy(name, rules=[{"selector": {"matchNames": [cluster]}}], **more)


async def names(w: World) -> list[str]:
    return [each["name"] for each in await w.get("/clusters", "alice")]


async def test_only_the_first_policies_of_a_user_count(world: Make) -> None:
    async with world() as w:
        w.hub = w.server(limits=PolicyLimits(per_user=2))
        await allow(w, "low", "dev-1", priority=1)
        await allow(w, "high", "prod-east", priority=300)
        await allow(w, "middle", "prod-west", priority=200)
        assert await names(w) == ["prod-east", "prod-west"]


async def test_a_changed_policy_counts_at_once_although_decisions_are_remembered(
    world: Make,
) -> None:
    async with world() as w:
        w.hub = w.server(limits=PolicyLimits(viewer_s=600))
        await allow(w, "p", "dev-1")
        assert await names(w) == ["dev-1"]
        await allow(w, "p", "prod-east")
        assert await names(w) == ["prod-east"]


async def test_requests_are_counted_by_endpoint_and_never_by_what_clients_invent(
    world: Make,
) -> None:
    async with world() as w:
        registry = Registry()
        w.hub = w.server(metrics=ApiMetrics(registry))
        await w.ask("api:/clusters/dev-1", "root")
        await w.ask("api:/clusters/prod-east", "root")
        await w.ask("api:/clusters/dev-1")
        for number in range(5):
            await w.ask(f"/invented/{number}")
        metric = "clusterpulse_hub_api_requests_total"
        path = "/api/v1/clusters/{name}"
        assert registry.get_value(metric, "GET", path, "200") == 2
        assert registry.get_value(metric, "GET", path, "401") == 1
        assert registry.get_value(metric, "GET", "other", "404") == 5
        assert b"invented" not in registry.render()


class Hanging(Authenticator):
    """Waits for an answer that never comes, as a store does behind a network that is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def authenticate(self, request: Request) -> Principal | None:
        self.asked.set()
        await asyncio.Event().wait()
        return None


async def test_answer_that_takes_too_long_is_given_up(world: Make) -> None:
    async with world() as w:
        hanging = Hanging()
        w.hub = w.server(authenticator=hanging)
        asked = asyncio.ensure_future(w.ask("api:/clusters", "root"))
        await hanging.asked.wait()
        assert not asked.done()
        await w.clock.advance(31)
        reply = await asked
        assert (reply.status, reply.body) == (
            503,
            {"error": "no answer within 30 s; the store is slow, ask again"},
        )
