"""Too many requests at once: one user is bounded, the others and the masters go on."""

import asyncio
import json
from typing import Any

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.server.options import ServerOptions
from quarterdeck.testing.poll import eventually

USERS = {
    "greedy": User(name="greedy"),
    "modest": User(name="modest"),
    "root": User(name="root", groups=(MASTERS_GROUP,)),
}
MAPS = "/api/v1/namespaces/default/configmaps"


async def send(cluster: Cluster, client: http.Client, user: str, name: str) -> tuple[int, str]:
    response = await client.request(
        "POST",
        f"{cluster.url}{MAPS}",
        headers=[("Authorization", f"Bearer {user}"), ("Content-Type", "application/json")],
        body=json.dumps({"metadata": {"name": name}}).encode(),
    )
    await response.read()
    return response.status, response.headers.get("retry-after") or ""


async def test_greedy_user_gets_429_and_others_are_served(monkeypatch: Any) -> None:
    options = ServerOptions(max_requests_in_flight=10, max_requests_per_user=3, has_roles=False)
    authenticators = (BearerTokens(USERS),)
    async with (
        Cluster(options=options, authenticators=authenticators) as cluster,
        http.Client() as client,
    ):
        core, go_on = cluster.api.core, asyncio.Event()
        store_put = core.store.put

        class Slow:
            """A ticket that becomes durable only when the test says so."""

            def __init__(self, ticket: Any) -> None:
                self._ticket = ticket

            def __await__(self) -> Any:
                yield from go_on.wait().__await__()
                return (yield from self._ticket.__await__())

        monkeypatch.setattr(core.store, "put", lambda *a, **k: Slow(store_put(*a, **k)))
        running = [
            asyncio.create_task(send(cluster, client, "greedy", f"g{number}"))
            for number in range(8)
        ]
        await eventually(lambda: cluster.api.fairness.statistics().refused_total == 5)
        shown = cluster.api.core.metrics.registry
        flow = ("global-default", "global-default")
        assert b"apiserver_flowcontrol_current_executing_requests" in shown.render()
        name = "apiserver_flowcontrol_rejected_requests_total"
        assert shown.get_value(name, *flow, "queue-full") == 5
        assert cluster.api.fairness.statistics().running == 3
        others = [
            asyncio.create_task(send(cluster, client, user, f"{user}1"))
            for user in ("modest", "root")
        ]
        go_on.set()
        assert [status for status, _ in await asyncio.gather(*others)] == [201, 201]
        answers = await asyncio.gather(*running)
        assert sorted(status for status, _ in answers) == [201] * 3 + [429] * 5
        assert {retry for status, retry in answers if status == 429} == {"1"}
        assert cluster.api.fairness.statistics().running == 0


async def test_requests_beyond_those_that_run_wait_and_are_answered(monkeypatch: Any) -> None:
    options = ServerOptions(max_running_per_user=2, has_roles=False)
    async with (
        Cluster(options=options, authenticators=(BearerTokens(USERS),)) as cluster,
        http.Client() as client,
    ):
        fairness = cluster.api.fairness
        seen: list[int] = []
        store_put = cluster.api.core.store.put

        def put(*arguments: Any, **options: Any) -> Any:
            seen.append(fairness.statistics().running)
            return store_put(*arguments, **options)

        monkeypatch.setattr(cluster.api.core.store, "put", put)
        answers = await asyncio.gather(
            *(send(cluster, client, "greedy", f"g{number}") for number in range(40))
        )
        assert {status for status, _ in answers} == {201}
        assert max(seen) <= 2
        assert fairness.statistics()[:3] == (0, 0, 0)
