"""Attacks on the dashboard: hidden Secrets, ways into other systems, old sessions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.client.config.cluster import ClusterConfig
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import Clock, SystemClock, VirtualClock
from quarterdeck.meta.identity import Key
from quarterdeck.server.authentication.bearer_token import BearerTokens
from quarterdeck.server.authentication.plain_port import PlainPort
from quarterdeck.server.authentication.user import User
from quarterdeck.services.hub.web.comparisons import Comparisons
from quarterdeck.services.hub.web.consoles import Consoles
from quarterdeck.services.hub.web.dashboard import Dashboard
from quarterdeck.services.hub.web.explanations import Explanations
from quarterdeck.services.hub.web.sessions import Sessions
from quarterdeck.services.hub.web.stream_limit import MAX_STREAMS, StreamLimit
from quarterdeck.services.hub.web.viewer import Transports
from quarterdeck.services.hub.web.watches import Watches

VALUE = "cGFzc3dvcmQtb2YtdGhlLWRhdGFiYXNl"
SECRETS = "/api/v1/namespaces/default/secrets"
RULES = [
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "resourceNames": ["web"]}
]


async def answer_hub(request: http.Request) -> http.Response:
    """The hub API, as far as sessions ask it."""
    token = (request.headers.get("authorization") or "").removeprefix("Bearer ")
    if token not in ("admin", "reader"):
        return http.Response(401, [], b"{}")
    return http.Response(200, [], json.encode({"username": token, "groups": []}))


async def explain(kind: str, key: Key) -> list[dict[str, Any]]:
    assert kind == "ConfigMap."  # with its group: others may have a kind of the same name
    name = str(key)
    writes = [
        {"verb": "apply", "kind": "ConfigMap", "object": name, "body": "own"},
        {"verb": "apply", "kind": "Deployment", "object": name, "body": "password of another"},
    ]
    record = {"causes": [], "reads": [], "writes": writes}
    return [{"controller": "web", "reconciles": [record]}]


class World:
    """A dashboard, and a browser that is logged in."""

    def __init__(
        self, url: str, client: http.Client, sessions: Sessions, streams: StreamLimit
    ) -> None:
        self.url, self.client, self.sessions = url, client, sessions
        self.streams = streams
        self.cookie = ""

    def log_in(self, token: str) -> None:
        port = self.url.rpartition(":")[2]
        self.cookie = f"quarterdeck-{port}={self.sessions.open(token, user=token)}"

    async def send(self, path: str, accept: str = "application/json") -> http.ClientResponse:
        headers = [("cookie", self.cookie), ("accept", accept)]
        return await self.client.request("GET", self.url + path, headers=headers)

    async def read(self, path: str, accept: str = "application/json") -> tuple[int, bytes]:
        answer = await self.send(path, accept)
        return answer.status, await answer.read()


@asynccontextmanager
async def serving(
    clock: Clock | None = None, console: Path | None = None, heartbeat_s: float = 15.0
) -> AsyncIterator[World]:
    clock = clock or SystemClock()
    users = {
        "admin": User(name="admin", groups=("system:masters",)),
        "reader": User(name="reader", groups=("system:authenticated",)),
    }

    async def locate(_: Key) -> Path:
        assert console is not None
        return console

    tokens = (BearerTokens(users), PlainPort())
    async with Cluster(authenticators=tokens) as cluster, http.Client() as client:
        await prepare(cluster)
        transports = Transports(ClusterConfig(server=cluster.url), clock=SystemClock())
        sessions = Sessions(clock=clock)
        dashboard = Dashboard(
            answer_hub,
            sessions=sessions,
            transports=transports,
            consoles=Consoles(transports, locate, clock=clock),
            comparisons=Comparisons(transports, lambda _a, _b: []),
            explanations=Explanations(transports, explain),
            watches=Watches(transports, clock=clock, heartbeat_s=heartbeat_s),
        )
        async with http.Server(dashboard.handle) as server:
            listener = await server.listen("127.0.0.1", 0)
            yield World(listener.url, client, sessions, dashboard.streams)
        await dashboard.aclose()


async def prepare(cluster: Cluster) -> None:
    """A Secret, and a reader who may read one ConfigMap."""
    group = "rbac.authorization.k8s.io"
    objects: dict[str, dict[str, Any]] = {
        SECRETS: {"metadata": {"name": "database"}, "data": {"password": VALUE}},
        "/api/v1/namespaces/default/configmaps": {"metadata": {"name": "web"}},
        f"/apis/{group}/v1/namespaces/default/roles": {
            "metadata": {"name": "reader"},
            "rules": RULES,
        },
        f"/apis/{group}/v1/namespaces/default/rolebindings": {
            "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "reader"}],
        },
    }
    async with http.Client() as client:
        for path, value in objects.items():
            answer = await client.request(
                "POST",
                cluster.url + path,
                headers=[("content-type", "application/json")],
                body=json.encode(value),
            )
            assert answer.status == 201, await answer.read()
            await answer.read()


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        (f"{SECRETS}/database", "application/json"),
        (f"{SECRETS}/database", "application/yaml"),
        (f"{SECRETS}/database", "application/vnd.kubernetes.protobuf"),
        (SECRETS, "application/yaml, application/json"),
        (f"{SECRETS}?follow=true", "application/json"),
        (f"{SECRETS}/database?follow=true", "application/json"),
        ("/api/v1/namespaces/default/%73ecrets/database", "application/json"),
        ("/api/v1/watch/namespaces/default/secrets/database?timeoutSeconds=1", "application/json"),
    ],
)
async def test_no_form_of_a_request_shows_hidden_values(path: str, accept: str) -> None:
    async with serving() as world:
        world.log_in("admin")
        status, body = await world.read(f"/k8s{path}", accept)
        assert VALUE.encode() not in body
        assert b"password-of-the-database" not in body  # as protobuf has it
        assert status < 500
        status, body = await world.read(f"/k8s{SECRETS}/database?reveal=true")
        assert (status, VALUE.encode() in body) == (200, True)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/%73ecrets",
        "/api/v1/namespaces/default/secrets",
        "/api/v1/watch/namespaces/default/secrets",
    ],
)
async def test_watches_show_no_hidden_values(path: str) -> None:
    async with serving() as world:
        world.log_in("admin")
        answer = await world.send(f"/watch?w=a~object~{quote(path + '?timeoutSeconds=1', safe='')}")
        assert answer.status == 200
        body = b""
        async for chunk in answer.chunks():
            body += chunk
            if b"event: end" in body:
                break
        await answer.aclose()
        assert VALUE.encode() not in body
        assert b"database" in body


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/default/services/https:web:443/proxy/",
        "/api/v1/namespaces/default/pods/web/exec",
        "/api/v1/pods\r\nImpersonate-User: admin",
        "/api/v1/pods HTTP/1.1\r\n\r\n",
        "/api/v1/pods%0d%0aa",
        "/api/v1/namespaces/default/pods/../../../../metrics",
        "/apis/../api/v1/secrets",
        "/api/v1/namespaces/%2e%2e/pods",
    ],
)
async def test_watches_lead_nowhere_else(path: str) -> None:
    async with serving() as world:
        world.log_in("admin")
        answer = await world.send(f"/watch?w=a~object~{quote(path, safe='')}")
        await answer.aclose()
        assert answer.status == 400


async def test_why_shows_no_other_object_of_the_same_name() -> None:
    async with serving() as world:
        path = quote("/api/v1/namespaces/default/configmaps/web", safe="")
        world.log_in("reader")
        status, body = await world.read(f"/why?path={path}")
        assert (status, b"own" in body, b"password" in body) == (200, True, False)
        assert json.decode(body)["controllers"][0]["reconciles"][0]["hidden"] == 1
        world.log_in("admin")
        assert b"password" in (await world.read(f"/why?path={path}"))[1]


async def _read_all(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([each async for each in chunks])


async def test_streams_end_with_the_session() -> None:
    clock = VirtualClock()
    async with serving(clock) as world:
        world.log_in("admin")
        answer = await world.send("/watch?w=a~object~/api/v1/namespaces")
        chunks = answer.chunks()
        assert b"open" in await anext(chunks)
        reading = asyncio.ensure_future(_read_all(chunks))
        await clock.advance(13 * 3600)
        while not reading.done():
            await clock.advance(1.0)
            await asyncio.sleep(0.001)
        await reading


async def test_the_streams_of_each_viewer_are_limited() -> None:
    async with serving() as world:
        world.log_in("admin")
        path = "/watch?w=a~object~/api/v1/namespaces"
        kept = []
        async with AsyncExitStack() as stack:

            async def open_stream() -> None:
                answer = await stack.enter_async_context(await world.send(path))
                kept.append(answer.chunks())
                assert b"open" in await anext(kept[-1])

            for _ in range(MAX_STREAMS):
                await open_stream()
            status, body = await world.read(path)
            assert (status, json.decode(body)["reason"]) == (429, "TooManyRequests")
            pods = "/k8s/api/v1/namespaces/default/pods"
            assert (await world.read(f"{pods}/a/log?follow=1"))[0] == 429
            assert (await world.read(pods))[0] == 200
            world.log_in("reader")
            await open_stream()
        while len(world.streams):  # noqa: ASYNC110 -- until the server has noticed
            await asyncio.sleep(0.001)


async def test_console_ends_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def allow(*_: object) -> None:
        """Every viewer may; the session is what ends."""

    console = tmp_path / "console.log"
    console.write_bytes(b"login:")
    clock = VirtualClock()
    async with serving(clock, console) as world:
        monkeypatch.setattr(Consoles, "_check", allow)
        world.log_in("admin")
        claim = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/machineclaims/a"
        answer = await world.send(f"/console?path={quote(claim, safe='')}")
        chunks = answer.chunks()
        assert await anext(chunks) == b"login:"
        await clock.advance(13 * 3600)
        reading = asyncio.ensure_future(anext(chunks, b""))
        while not reading.done():
            await clock.advance(1.0)
            await asyncio.sleep(0.001)
        assert await reading == b""


def test_logging_in_often_ends_only_ones_own_sessions() -> None:
    sessions = Sessions(clock=VirtualClock())

    def find(value: str) -> object:
        cookie = ("cookie", f"quarterdeck={value}")
        return sessions.find(http.Request.of("GET", "/", headers=[("host", "hub"), cookie]))

    other = sessions.open("b", user="victim")
    mine = [sessions.open(f"token-{number}", user="greedy") for number in range(11_000)]
    assert find(other) is not None
    assert find(mine[-1]) is not None
    assert find(mine[0]) is None
