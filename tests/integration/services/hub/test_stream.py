"""Server-sent events over a socket, and policies that are followed while the hub runs."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest
from tests.integration.services.hub.conftest import World
from tests.integration.services.hub.test_endpoints import rule

from quarterdeck.hubstate import cluster_writes
from quarterdeck.hubstate.notices import build_source_notice, plan_notice
from quarterdeck.hubstate.registry_writes import RegistryFacts, RegistrySpec
from quarterdeck.hubstate.registry_writes import plan_notice as plan_registry_notice
from quarterdeck.inventory.access.principal import Principal
from quarterdeck.kit import http
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.hub.errors import Unavailable
from quarterdeck.services.hub.identity import Authenticator
from quarterdeck.services.hub.stream import HEARTBEAT_S
from quarterdeck.testing.poll import eventually

Make = Callable[[], AbstractAsyncContextManager[World]]


@contextlib.asynccontextmanager
async def listening(w: World, who: str) -> AsyncIterator[AsyncIterator[str]]:
    """The lines of a stream, from its first line on."""
    async with contextlib.AsyncExitStack() as stack:
        server = http.Server(w.hub.handle)
        stack.push_async_callback(server.drain, 5.0)
        listener = await server.listen("127.0.0.1", 0)
        client = await stack.enter_async_context(http.Client())
        response = await client.request(
            "GET",
            f"{listener.url}/api/v1/events/stream",
            headers=[("Authorization", f"Bearer {who}-token")],
        )
        async with response:
            assert response.status == 200
            assert response.headers.get("content-type") == "text/event-stream"
            lines = await stack.enter_async_context(contextlib.aclosing(_lines(response)))
            assert await anext(lines) == "retry: 2000"
            yield lines


async def _lines(response: http.ClientResponse) -> AsyncGenerator[str, None]:
    async with contextlib.aclosing(response.lines()) as lines:
        async for line in lines:
            if line:
                yield line.decode()


async def happen(w: World, cluster: str) -> None:
    await w.state.commit([*plan_notice("cluster.reconciled", cluster, w.clock.now(), {})])


async def test_a_viewer_hears_of_clusters_they_may_see(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        await w.policy("p", rules=[rule("prod-*")])
        async with listening(w, "alice") as lines:
            await happen(w, "dev-1")
            await happen(w, "prod-east")
            assert await anext(lines) == "event: cluster.reconciled"
            assert '"cluster":"prod-east"' in await anext(lines)


async def test_hidden_events_only_say_that_a_cluster_changed(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        hidden = {"type": "events", "visibility": "none"}
        await w.policy("p", rules=[rule("prod-*", resources=[hidden])])
        async with listening(w, "alice") as lines:
            told = plan_notice("cluster.reconciled", "prod-east", w.clock.now(), {"health": "bad"})
            await w.state.commit([*told])
            assert await anext(lines) == "event: cluster.changed"
            data = await anext(lines)
            assert data == 'data: {"type":"cluster.changed","cluster":"prod-east"}'


async def test_changes_of_hidden_alerts_are_not_told(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        hidden = {"type": "alerts", "visibility": "none"}
        await w.policy("p", rules=[rule("prod-*", resources=[hidden])])
        async with listening(w, "alice") as lines:
            await w.state.commit([*plan_notice("cluster.alerts", "prod-east", w.clock.now(), {})])
            await happen(w, "prod-east")
            assert await anext(lines) == "event: cluster.reconciled"
        types = [each["type"] for each in await w.get("/clusters/prod-east/events", "alice")]
        assert set(types) == {"cluster.reconciled"}


async def test_an_event_does_not_read_the_names_of_all_clusters(
    world: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world() as w, asyncio.timeout(240):
        await w.policy("p", rules=[rule("prod-*")])
        async with listening(w, "alice") as lines:
            sets: list[str] = []

            async def record(key: str) -> frozenset[str]:
                sets.append(key)
                return frozenset()

            monkeypatch.setattr(w.state, "get_members", record)
            await happen(w, "prod-east")
            assert await anext(lines) == "event: cluster.reconciled"
            assert sets == []


async def test_a_viewer_whose_access_is_revoked_hears_nothing_more(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        await w.policy("p", rules=[rule("prod-*")])
        async with listening(w, "alice") as lines:
            await happen(w, "prod-east")
            assert await anext(lines) == "event: cluster.reconciled"
            await anext(lines)
            await w.policy("q", effect="Deny", rules=[rule("prod-east")])
            assert await anext(lines) == "event: policies.changed"
            assert await anext(lines) == "data: {}"
            await happen(w, "prod-east")
            await happen(w, "prod-west")
            assert await anext(lines) == "event: cluster.reconciled"
            assert '"cluster":"prod-west"' in await anext(lines)


async def test_a_viewer_without_clusters_hears_nothing_of_registries(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        facts = RegistryFacts(available=True, response_time=5)
        spec = RegistrySpec(
            display_name="Internal",
            endpoint="https://registry.example.com",
            type="harbor",
            insecure=False,
            skip_tls=False,
            labels={},
            monitoring={},
        )
        told = list(plan_registry_notice("r", facts, health="healthy", spec=spec, at=w.clock.now()))
        async with listening(w, "alice") as lines:
            await w.state.commit(told)
            await w.policy("p", rules=[rule("prod-*")])
            assert [await anext(lines), await anext(lines)] == [
                "event: policies.changed",
                "data: {}",
            ]
            await w.state.commit(told)
            assert await anext(lines) == "event: registry.reconciled"


async def delete(w: World, cluster: str) -> None:
    found = await w.state.list_keys(f"cluster:{cluster}:")
    await w.state.commit(list(cluster_writes.plan_deletion(cluster, found, w.clock.now())))


async def test_deletions_are_told_by_the_labels_that_a_cluster_had(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        dev = {"selector": {"matchLabels": {"env": "dev"}}}
        prod = {"selector": {"matchLabels": {"env": "prod"}}}
        await w.policy("p", rules=[rule("*")])
        await w.policy("q", effect="Deny", rules=[dev])
        await w.policy("r", subjects={"users": ["bob"]}, rules=[prod])
        for who in ("alice", "bob"):
            async with listening(w, who) as lines:
                cluster = f"prod-{'east' if who == 'alice' else 'west'}"
                await w.cluster(f"dev-of-{who}", env="dev")
                await delete(w, f"dev-of-{who}")
                await delete(w, cluster)
                assert await anext(lines) == "event: cluster.deleted"
                assert f'"cluster":"{cluster}"' in await anext(lines)


class Issuer:
    """Knows one token, with groups that change, until it is revoked."""

    def __init__(self) -> None:
        self.principal: Principal | None = Principal(username="carol", groups=("prod",))
        self.is_away = False

    async def verify(self, token: str) -> Principal | None:
        if self.is_away:
            raise Unavailable("the issuer does not answer")
        return self.principal if token == "carol-token" else None


async def test_a_stream_follows_its_token_and_ends_with_it(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        issuer = Issuer()
        w.hub = w.server(authenticator=Authenticator(verifiers=[issuer]))
        await w.policy("p", subjects={"groups": ["prod"]}, rules=[rule("prod-*")])
        await w.policy("d", subjects={"groups": ["dev"]}, rules=[rule("dev-*")])
        async with listening(w, "carol") as lines:
            await happen(w, "prod-east")
            assert await anext(lines) == "event: cluster.reconciled"
            assert '"cluster":"prod-east"' in await anext(lines)
            issuer.is_away = True
            await w.clock.advance(HEARTBEAT_S)
            assert await anext(lines) == ": heartbeat"
            issuer.is_away = False
            issuer.principal = Principal(username="carol", groups=("dev",))
            await w.clock.advance(HEARTBEAT_S)
            assert await anext(lines) == ": heartbeat"
            await happen(w, "prod-east")
            await happen(w, "dev-1")
            assert await anext(lines) == "event: cluster.reconciled"
            assert '"cluster":"dev-1"' in await anext(lines)
            issuer.principal = None
            await w.clock.advance(HEARTBEAT_S)
            assert await anext(lines, "ended") == "ended"


async def test_events_of_sources_carry_no_numbers(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        await w.policy("p", rules=[rule("prod-*", resources=[{"type": "pvc"}])])
        async with listening(w, "alice") as lines:
            told = build_source_notice("reconciled", "hub/pvc", w.clock.now(), {"resources": 3})
            await w.state.commit([told])
            assert await anext(lines) == "event: metricsource.reconciled"
            data = await anext(lines)
            assert "hub/pvc" in data
            assert "resources" not in data


async def test_streams_need_a_login(world: Make) -> None:
    async with world() as w:
        assert await w.refuse("/events/stream", status=401) == "authentication required"


async def test_a_running_hub_follows_policies(world: Make) -> None:
    async with world() as w, asyncio.timeout(240):
        writer = w.server()  # stores policies; the hub that answers must notice by itself
        async with Supervisor("test") as tasks:
            tasks.spawn(w.hub.run(), name="hub")
            assert await w.get("/clusters", "alice") == []
            answering, w.hub = w.hub, writer
            await w.policy("p", rules=[rule("dev-1")])
            w.hub = answering
            await eventually(lambda: w.hub.policies.count == 1)
            assert [each["name"] for each in await w.get("/clusters", "alice")] == ["dev-1"]
