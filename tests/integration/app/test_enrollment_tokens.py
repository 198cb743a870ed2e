"""The token of an enrolled cluster: from its Secret once it is filled, else asked for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.app.enrollment import ACCOUNT, NAMESPACE, TOKEN_SECRET, Enrollment, enroll
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.identity import GVR
from quarterdeck.wire.status import ApiError

SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/{TOKEN_SECRET}"
TOKEN = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{ACCOUNT}/token"


class SlowCluster:
    """An API server that shows the Secret without its token until it is watched."""

    def __init__(self, cluster: Cluster, clock: VirtualClock) -> None:
        self._cluster, self.clock = cluster, clock
        self.issues_tokens = True
        self.watched = asyncio.Event()

    async def handle(self, request: http.Request) -> http.Response | http.StreamResponse:
        if request.path == TOKEN and not self.issues_tokens:
            return http.Response(201, [("content-type", "application/json")], b'{"status": {}}')
        answer = await self._cluster.api.handle(request)
        if request.path.endswith("/secrets") and "watch" in request.query:
            self.watched.set()
        if request.path == SECRET and request.method == "GET" and answer.status == 200:
            assert isinstance(answer, http.Response)
            found = {**json.decode(answer.body), "data": {}}
            return http.Response(200, answer.headers, json.encode(found))
        return answer


@asynccontextmanager
async def open_clusters() -> AsyncIterator[tuple[SlowCluster, Client, Client]]:
    clock = VirtualClock()
    async with Cluster() as cluster:
        slow = SlowCluster(cluster, clock)
        async with http.Server(slow.handle) as server:
            listener = await server.listen("127.0.0.1", 0)
            async with Client(ClusterConfig(server=listener.url)) as client:
                yield slow, client, cluster.client


async def test_a_secret_that_is_filled_later_is_waited_for() -> None:
    async with open_clusters() as (slow, client, hub), asyncio.TaskGroup() as tasks:
        enrolled = tasks.create_task(enroll(client, hub, Enrollment(name="east"), clock=slow.clock))
        await slow.watched.wait()
        secrets = hub.resource(GVR("", "v1", "secrets"))
        patch = {"metadata": {"labels": {"filled": "now"}}}
        await secrets.patch(TOKEN_SECRET, patch, namespace=NAMESPACE)
        credentials = await enrolled
        assert credentials.token.count(".") == 2
        assert credentials.expires_at == "", "it lasts as long as its Secret"


async def test_a_token_that_expires_is_asked_for_where_secrets_stay_empty() -> None:
    async with open_clusters() as (slow, client, hub), asyncio.TaskGroup() as tasks:
        enrolled = tasks.create_task(enroll(client, hub, Enrollment(name="east"), clock=slow.clock))
        await slow.watched.wait()
        await slow.clock.advance(10.0)
        credentials = await enrolled
        assert credentials.token.count(".") == 2
        assert credentials.expires_at != ""


async def test_a_cluster_that_issues_no_token_is_named() -> None:
    async with open_clusters() as (slow, client, hub):
        slow.issues_tokens = False
        enrolled = asyncio.ensure_future(
            enroll(client, hub, Enrollment(name="east"), clock=slow.clock)
        )
        await slow.watched.wait()
        await slow.clock.advance(10.0)
        with pytest.raises(ApiError, match=f"{NAMESPACE}/{ACCOUNT}"):
            await enrolled
