"""Clusters that fail, hang, lie or flap, credentials that change, and a store that goes away."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any

import pytest

from quarterdeck.apis.core.config import Secret as KubeSecret
from quarterdeck.hubstate.embedded.state import open_embedded
from quarterdeck.hubstate.errors import StoreRefused, StoreUnavailable
from quarterdeck.kit import http
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.operators.clusters.simulators.contents import Profile

Make = Callable[[], AbstractAsyncContextManager[Any]]


async def _setup(w: Any, *names: str) -> list[Any]:
    spokes = []
    for name in names:
        spokes.append(await w.spoke(name))
        await w.secret(name)
        await w.connect(name)
    return spokes


def _answer(status: int, body: bytes, kind: str = "application/json") -> Any:
    async def fault(request: http.Request) -> http.Response:
        return http.Response(status, [("Content-Type", kind)], body)

    return fault


async def _hang(request: http.Request) -> None:
    await asyncio.Event().wait()


async def _hang_after_ping(request: http.Request) -> None:
    if "limit=1" not in request.target:
        await asyncio.Event().wait()


async def _endless(request: http.Request) -> http.StreamResponse:
    async def run(writer: http.BodyWriter) -> None:
        while True:
            await writer.write(b" " * (4 * 1024 * 1024))

    return http.StreamResponse(200, [("Content-Type", "application/json")], run)


@pytest.mark.parametrize(
    ("fault", "reason", "text"),
    [
        pytest.param(_endless, "BadAnswer", "larger than the limit", id="an endless answer"),
        pytest.param(
            _answer(200, b"<html>login</html>", "text/html"),
            "BadAnswer",
            "list of objects",
            id="a web page",
        ),
        pytest.param(
            _answer(200, b'{"kind":"PodList","items":[{"meta'),
            "BadAnswer",
            "list of objects",
            id="cut JSON",
        ),
        pytest.param(
            _answer(200, b'{"items":[{"metadata":{"name":7}}]}'),
            "BadAnswer",
            "cannot decode an object of the list",
            id="another shape",
        ),
        pytest.param(_answer(500, b"{}"), "ServerError", "", id="a failing server"),
        pytest.param(_hang, "Timeout", "did not answer within 10 s", id="a hanging server"),
        pytest.param(_hang_after_ping, "Timeout", "answer within 60 s", id="hanging lists"),
    ],
)
async def test_a_cluster_that_fails_says_why_and_hurts_nobody(
    world: Make, fault: Any, reason: str, text: str
) -> None:
    async with world() as w:
        bad, _ = await _setup(w, "bad", "good")
        bad.fault = fault
        async with w.operator():
            found = await w.health("unhealthy", "bad")
            assert found.status.phase == "Error"
            assert w.condition(found, "Reachable").reason == reason
            assert text in found.status.message
            await w.health("healthy", "good")
            assert (await w.read("cluster:bad:status"))["health"] == "unhealthy"
            bad.fault = None
            await w.health("healthy", "bad")
            assert "Connected" in await w.events()


async def test_what_was_known_stays_known_with_its_age(world: Make) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        async with w.operator():
            await w.health("healthy")
            east.fault = _answer(503, b"{}")
            found = await w.health("unhealthy")
            assert found.status.nodes == 3
            await w.advance(1500)  # more than CACHE_TTL
            assert len(await w.state.get_members("cluster:east:nodes")) == 3
            assert (await w.state.get_fields("cluster:east:node:node-0"))["status"] == "Ready"
            found = await w.get()
            assert w.condition(found, "DataFresh").reason == "Stale"
            assert "minutes" in w.condition(found, "DataFresh").message
        async with w.operator():  # a hub that was restarted knows nothing of it, and keeps it too
            await w.advance(1500)
            assert (await w.state.get_fields("cluster:east:node:node-0"))["status"] == "Ready"
            assert w.condition(await w.get(), "DataFresh").reason == "Stale"


def _fail_lists(*names: str, status: int = 500) -> Any:
    """A fault of some resources only; the request that tests the connection is answered."""

    async def fault(request: http.Request) -> http.Response | None:
        is_meant = request.path.rpartition("/")[2] in names and "limit=1" not in request.target
        is_meant = is_meant or any(f"/{each}/" in request.path for each in names)
        return (
            http.Response(status, [("Content-Type", "application/json")], b"{}")
            if is_meant
            else None
        )

    return fault


async def test_parts_that_cannot_be_read_once_are_not_taken_for_gone(world: Make) -> None:
    parts = ("info", "operators", "cluster_operators", "namespaces", "metrics")
    profile = Profile(is_openshift=True, has_olm=True, degraded_operator="dns")

    async def read_parts(w: Any) -> list[Any]:
        found = [await w.read(f"cluster:east:{part}") for part in parts]
        return [
            {name: value for name, value in each.items() if name != "timestamp"}
            if isinstance(each, dict)
            else each
            for each in found
        ]

    async with world() as w:
        east = await w.spoke("east", profile)
        await w.secret("east")
        await w.connect("east")
        async with w.operator():
            found = await w.health("degraded")
            before = await read_parts(w)
            assert all(before)
            names = ("clusterversions", "clusteroperators", "subscriptions")
            east.fault = _fail_lists(*names, "namespaces", "deployments")
            for _ in range(12):  # more than OPERATOR_SCAN_INTERVAL
                await w.advance(30)
            assert len(east.requests) > 100
            assert await read_parts(w) == before
            now = await w.get()
            assert (now.status.health, now.status.namespaces) == (
                "degraded",
                found.status.namespaces,
            )
            assert w.condition(now, "OperatorsHealthy").reason == "OperatorsDegraded"


async def test_a_kind_that_is_forbidden_hides_no_other_kind_of_its_group(world: Make) -> None:
    async with world() as w:
        east = await w.spoke("east", Profile(is_openshift=True, degraded_operator="dns"))
        east.fault = _fail_lists("clusterversions", status=403)
        await w.secret("east")
        await w.connect("east")
        async with w.operator():
            await w.health("degraded")
            await w.advance(60)  # less than OPERATOR_SCAN_INTERVAL
            assert (await w.get()).status.health == "degraded"
            assert await w.read("cluster:east:cluster_operators")


class RedisClock(VirtualClock):
    """The clock of another machine: it goes on when the clock of the hub is set back."""

    def __init__(self, hub: VirtualClock) -> None:
        super().__init__()
        self._hub = hub

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._hub.monotonic())


async def _collected_at(w: Any) -> str:
    return str((await w.source("pods")).status.last_collection_time)


async def test_a_clock_that_is_set_back_loses_and_freezes_nothing(world: Make) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        source = {"apiVersion": "v1", "kind": "Pod"}
        fields = [{"name": "phase", "path": ".status.phase"}]
        await w.create("MetricSource", "pods", {"source": source, "fields": fields})
        state = open_embedded(None, clock=RedisClock(w.clock))
        async with w.operator(state=state):
            before = await w.health("healthy")
            await w.until(lambda: _collected_at(w))
            collected_at = await _collected_at(w)
            w.clock._start -= timedelta(days=1)
            await w.advance(120)
            found = await w.get()
            assert found.status.last_sync_time < before.status.last_sync_time
            assert await _collected_at(w) < collected_at
            east.fault = _answer(503, b"{}")
            await w.health("unhealthy")
            w.clock._start -= timedelta(days=1)
            await w.advance(1500)  # more than CACHE_TTL
            assert (await state.get_fields("cluster:east:node:node-0"))["status"] == "Ready"
        await state.aclose()


async def test_the_circuit_breaker_opens_and_a_probe_closes_it(world: Make) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        east.fault = _answer(200, b"no", "text/html")
        async with w.operator():

            async def open_() -> bool:
                return bool(w.condition(await w.get(), "Reachable").reason == "CircuitOpen")

            await w.until(open_, within_s=600)
            count = len(east.requests)
            await w.advance(25)
            assert len(east.requests) == count
            east.fault = None
            await w.health("healthy")


async def test_a_rotated_token_is_used_at_once(world: Make) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        async with w.operator():
            await w.health("healthy")
            east.token = "token-after-rotation"
            found = await w.health("unhealthy")
            assert w.condition(found, "Reachable").reason == "Unauthorized"
            assert "token-of-the-test" not in str(found.status)
            before = w.clock.monotonic()
            gvr = KubeSecret.KIND.gvr
            patch = {"stringData": {"token": "token-after-rotation"}}
            await w.client.resource(gvr).patch("east-credentials", patch, namespace="default")
            await w.health("healthy")
            assert w.clock.monotonic() - before < 5


async def test_a_missing_secret_is_waited_for(world: Make) -> None:
    async with world() as w:
        await w.spoke("east")
        await w.connect("east")
        async with w.operator():
            found = await w.health("unhealthy")
            assert "Secret default/east-credentials not found" in found.status.message
            assert w.condition(found, "Reachable").reason == "CredentialsUnavailable"
            await w.secret("east", username="x")
            await w.until(lambda: _says(w, "has no key 'token'"))
            patch = {"stringData": {"token": "token-of-the-test"}}
            await w.client.resource(KubeSecret.KIND.gvr).patch(
                "east-credentials", patch, namespace="default"
            )
            await w.health("healthy")


async def _says(w: Any, text: str) -> bool:
    return text in (await w.get()).status.message


@pytest.mark.parametrize("endpoint", ["https://hub:hunter2@east:6443", "https://east:99999"])
async def test_wrong_endpoint_is_named_before_its_secret_is_read(
    world: Make, endpoint: str
) -> None:
    async with world() as w:
        await w.spoke("east")
        await w.connect("east", endpoint)
        async with w.operator():
            found = await w.health("unhealthy")
            assert w.condition(found, "Reachable").reason == "InvalidSpec"
            assert found.status.message.startswith("spec.endpoint ")
            assert "hunter2" not in found.status.message
            assert "hunter2" not in str(await w.read("cluster:east:spec"))
            await w.secret("east")
            gvr, patch = found.KIND.gvr, {"spec": {"endpoint": "http://east"}}
            await w.client.resource(gvr).patch("east", patch, namespace="default")
            await w.health("healthy")


async def test_a_kubeconfig_in_the_secret_works_but_may_not_run_programs(world: Make) -> None:
    async with world() as w:
        await w.spoke("east")
        kubeconfig = """
current-context: c
clusters: [{name: c, cluster: {server: "http://east"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {%s}}]
"""
        await w.secret("east", kubeconfig=kubeconfig % "exec: {command: /bin/true}")
        await w.connect("east")
        async with w.operator():
            found = await w.health("unhealthy")
            assert "names a file or program of this machine" in found.status.message
            text = kubeconfig % "token: token-of-the-test"
            await w.client.resource(KubeSecret.KIND.gvr).patch(
                "east-credentials", {"stringData": {"kubeconfig": text}}, namespace="default"
            )
            await w.health("healthy")


async def test_a_flapping_cluster_is_followed(world: Make) -> None:
    async with world() as w:
        [east] = await _setup(w, "east")
        async with w.operator():
            for _ in range(3):
                east.fault = None
                await w.health("healthy")
                east.fault = _answer(502, b"bad gateway", "text/plain")
                await w.health("unhealthy")
            assert "ServerError" in await w.events()


class Flaky:
    """A store that can be away."""

    def __init__(self, inner: Any, error: Exception) -> None:
        self._inner = inner
        self._error = error
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        if self.is_away and name in ("commit", "members", "keys", "fields"):
            return self._refuse
        return getattr(self._inner, name)

    async def _refuse(self, *_: Any, **__: Any) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (StoreUnavailable("cannot reach redis://store"), "StoreUnavailable"),
        (
            StoreRefused("redis://store rejected the command: OOM command not allowed"),
            "StoreRefused",
        ),
        (StoreRefused("redis://store rejected the command: READONLY replica"), "StoreRefused"),
    ],
    ids=["gone", "full", "read-only"],
)
async def test_a_store_that_fails_is_named_and_caught_up_with(
    world: Make, error: Exception, reason: str
) -> None:
    async with world() as w:
        await _setup(w, "east")
        store = Flaky(w.state, error)
        store.is_away = True
        async with w.operator(state=store):
            found = await w.health("healthy")
            await w.until(lambda: _stored(w, "False"))
            found = await w.get()
            assert "redis://store" in w.condition(found, "Stored").message
            assert w.condition(found, "Stored").reason == reason
            store.is_away = False
            await w.until(lambda: _stored(w, "True"))
            assert (await w.read("cluster:east:status"))["health"] == "healthy"
            assert found.status.phase == "Connected"


async def _stored(w: Any, status: str) -> bool:
    return bool(w.condition(await w.get(), "Stored").status == status)
