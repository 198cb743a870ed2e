"""The manager: pages, election, shutdown, permissions, and faults between it and the server."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quarterdeck.apis.coordination import Lease
from quarterdeck.apis.core import ConfigMap, Namespace
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, InterceptingApi, load_config
from quarterdeck.client.intercept import Call, Intercept
from quarterdeck.kit import http, json
from quarterdeck.kit.clock import settle
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.runtime import (
    BindAddress,
    Context,
    Controller,
    LeaderElection,
    LeaseTiming,
    LostLeadership,
    Manager,
    WatchSettings,
)
from quarterdeck.runtime.controller.rbac import (
    UsageRecorder,
    build_cluster_role,
    build_rules,
    find_uncovered,
)
from quarterdeck.testing import faults
from quarterdeck.testing.clocks import VirtualClock
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.status import Forbidden

QUICK = WatchSettings(
    backoff_initial_s=0.01,
    backoff_cap_s=0.05,
    short_stream_s=0.0,
    silence_s=0.5,
    initial_events_s=0.5,
)
ENDLESS = LeaseTiming(lease_duration_s=3e6, renew_deadline_s=2e6, retry_period_s=1.0)
"""A lease that only its release ends, however far a test advances the clock."""


async def mirror(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
    """Copy a ConfigMap's text into a child."""
    if config.metadata.labels.get("role") != "source":
        return
    child = ConfigMap(
        metadata=ObjectMeta(name=f"{config.metadata.name}-copy"), data=dict(config.data)
    )
    await ctx.apply(child)


def mirroring(**options: Any) -> Controller[ConfigMap]:
    return Controller(reconcile=mirror, for_=ConfigMap, owns=[ConfigMap], **options)


@contextlib.asynccontextmanager
async def clients(count: int = 1) -> AsyncIterator[list[Client]]:
    async with Cluster() as cluster, contextlib.AsyncExitStack() as stack:
        config = load_config(cluster.kubeconfig)
        yield [await stack.enter_async_context(Client(config)) for _ in range(count)]


async def source(client: Client, name: str, text: str) -> None:
    metadata = ObjectMeta(name=name, namespace="default", labels={"role": "source"})
    await client.create(ConfigMap(metadata=metadata, data={"text": text}))


async def copied(client: Client, name: str, text: str) -> None:
    async def same() -> bool:
        copy = await client.get(ConfigMap, f"{name}-copy", "default")
        return copy.data.get("text") == text

    await eventually(same)


async def read(url: str, path: str, **headers: str) -> tuple[int, bytes]:
    async with http.Client() as pages:
        answer = await pages.request("GET", url + path, headers=list(headers.items()))
        return answer.status, await answer.read()


async def test_pages_tell_health_readiness_and_why() -> None:
    async with clients() as [client]:
        manager = Manager(client, name="m", health=BindAddress())
        manager.add(mirroring())
        manager.add_healthz_check("disk", lambda: "full" if broken else "")
        broken = False
        async with manager.running():
            await source(client, "a", "hello")
            await copied(client, "a", "hello")
            assert await read(manager.health_url, "/healthz") == (200, b"ok")
            assert (await read(manager.health_url, "/readyz/caches"))[0] == 200
            broken = True
            status, body = await read(manager.health_url, "/healthz?verbose")
            assert status == 500
            assert b"[-]disk failed: full" in body
            assert (await read(manager.health_url, "/healthz?exclude=disk"))[0] == 200
            status, body = await read(manager.health_url, "/healthz/nonsense")
            assert status == 404
            status, body = await read(manager.health_url, "/explain/configmaps/default/a")
            told = json.decode(body)["controllers"][0]["reconciles"][-1]
            assert told["causes"][0]["event"] == "added"
            assert told["writes"][0]["object"] == "default/a-copy"
            assert told["outcome"] == "done"
            assert (await read(manager.health_url, "/explain/nothing/x/y"))[0] == 404
            by_group = "/explain/ConfigMap.{}/default/a"
            assert (await read(manager.health_url, by_group.format("")))[0] == 200
            assert (await read(manager.health_url, by_group.format("example.com")))[0] == 404


async def test_a_standby_takes_over_at_once_when_the_leader_leaves() -> None:
    async with clients(2) as [one, two]:
        election, clock = LeaderElection("mirror", "default", timing=ENDLESS), VirtualClock()
        first = Manager(one, name="m", election=election, clock=VirtualClock())
        second = Manager(two, name="m", election=election, clock=clock)
        for manager in (first, second):
            manager.add(mirroring())

        async def took_over() -> bool:
            await clock.advance(ENDLESS.retry_period_s)
            return second.is_leader

        async with contextlib.AsyncExitStack() as leading:
            await leading.enter_async_context(first.running())
            await first.wait_elected()
            async with second.running():
                await source(one, "a", "before")
                await copied(one, "a", "before")
                assert not await took_over()
                await leading.aclose()
                assert not first.is_leader
                await eventually(took_over)


async def test_a_leader_that_cannot_renew_ends() -> None:
    async with clients() as [client]:
        cut: list[bool] = []

        async def refuse(call: Any) -> Any:
            if cut:
                raise OSError("cut off")
            return await call.proceed()

        api = InterceptingApi(
            client.raw, [Intercept(verb, refuse, resource="leases") for verb in ("get", "update")]
        )
        clock = VirtualClock()
        manager = Manager(
            Client.from_api(api, client.config),
            election=LeaderElection("x", "default"),
            clock=clock,
        )
        manager.add(mirroring())
        with pytest.raises(LostLeadership):
            async with manager.running():
                await manager.wait_elected()
                cut.append(True)
                while True:  # until the manager cancels this block
                    await clock.advance(1.0)


async def test_reconciles_under_way_finish_before_the_end() -> None:
    started, finished = asyncio.Event(), asyncio.Event()

    async def slow(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        started.set()
        await asyncio.sleep(0.2)
        finished.set()

    async with clients() as [client]:
        manager = Manager(client)
        manager.add(Controller(reconcile=slow, for_=ConfigMap))
        async with manager.running():
            await source(client, "a", "x")
            await started.wait()
        assert finished.is_set()


async def test_the_lease_is_renewed_until_cancelled_work_has_ended() -> None:
    ending, may_end = asyncio.Event(), asyncio.Event()

    async def clean_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await may_end.wait()

    async with clients() as [client], Supervisor() as tasks:
        clock = VirtualClock()
        election = LeaderElection("x", "default", timing=ENDLESS)
        manager = Manager(client, election=election, clock=clock)
        manager.add_runnable("clean-up", clean_up)

        async def read_renewal() -> str | None:
            return (await client.get(Lease, "x", "default")).spec.renew_time

        async def is_renewed() -> bool:
            await clock.advance(ENDLESS.retry_period_s)
            return await read_renewal() != before

        async def run_until_elected() -> None:
            async with manager.running():
                await manager.wait_elected()

        running = tasks.spawn(run_until_elected(), name="manager")
        await ending.wait()
        before = await read_renewal()
        await eventually(is_renewed)
        may_end.set()
        await running
        assert not (await client.get(Lease, "x", "default")).spec.holder_identity


async def test_a_stop_that_is_cancelled_halfway_ends_the_election() -> None:
    started = asyncio.Event()

    async def endless(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        started.set()
        await asyncio.Event().wait()

    async with clients() as [client], Supervisor() as tasks:
        clock = VirtualClock()
        manager = Manager(client, election=LeaderElection("x", "default"), clock=clock)
        manager.add(Controller(reconcile=endless, for_=ConfigMap))
        running = tasks.spawn(manager.run(), name="manager")
        await source(client, "a", "x")
        await started.wait()
        manager.stop()
        await settle()  # the grace period has begun
        running.cancel()
        await asyncio.wait({running})
        await clock.advance(10.0)
        lease = await client.get(Lease, "x", "default")
        assert not lease.spec.holder_identity
        assert clock.next_deadline is None, "no renewal is planned"


async def test_a_failing_runnable_ends_the_manager() -> None:
    async def fall_over() -> None:
        raise RuntimeError("the webhook server could not start")

    async with clients() as [client]:
        manager = Manager(client)
        manager.add_runnable("webhooks", fall_over)
        with pytest.raises(RuntimeError, match="webhook"):
            await manager.run()


async def test_the_declared_permissions_cover_what_was_used() -> None:
    async with clients() as [client]:
        recorder = UsageRecorder()
        client.raw.observe(recorder)
        election = LeaderElection("x", "default")
        manager = Manager(client, election=election, clock=VirtualClock())
        manager.add(mirroring())
        async with manager.running():
            await manager.wait_elected()
            used_by_test = set(recorder.uses)
            await source(client, "a", "x")
            await copied(client, "a", "x")
        rules = build_rules(manager.controllers)
        assert recorder.uses >= used_by_test
        assert find_uncovered(recorder.uses, rules) == []
        role = build_cluster_role("m", rules)
        assert {"apiGroups": [""], "resources": ["configmaps"]}.items() <= role["rules"][0].items()


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(lambda: [faults.cut_watch(2)], id="every watch cut after two lines"),
        pytest.param(lambda: [faults.freeze_watch(1, times=3)], id="frozen watches"),
        pytest.param(lambda: [faults.expire_watch(times=4)], id="410 storm"),
        pytest.param(lambda: [faults.fail("patch", 429, times=5)], id="429"),
        pytest.param(lambda: [faults.fail("patch", 500, times=3)], id="500"),
        pytest.param(lambda: [faults.lose_reply("patch", times=3)], id="lost replies"),
        pytest.param(lambda: faults.chaos(7, 0.3), id="chaos"),
    ],
)
async def test_faults_delay_but_lose_nothing(rules: Any) -> None:
    async with clients() as [client]:
        faulty = Client.from_api(InterceptingApi(client.raw, rules()), client.config)
        manager = Manager(
            faulty, watch=QUICK, events="off", rng=random.Random(1), graceful_shutdown_timeout_s=1
        )
        manager.add(mirroring(rate_limiter=None, reconcile_timeout_s=5))
        async with manager.running():
            for number in range(8):
                await source(client, f"s{number}", "one")
            for number in range(8):
                await copied(client, f"s{number}", "one")
            for number in range(8):
                config = await client.get(ConfigMap, f"s{number}", "default")
                await client.update(replace(config, data={"text": "two"}))
            for number in range(8):
                await copied(client, f"s{number}", "two")
            for number in range(4):
                await client.delete(ConfigMap, f"s{number}", "default")
            cache = manager.informers.ensure(ConfigMap).cache

            async def agrees() -> bool:
                server = await client.list(ConfigMap, "default")
                held = {key.name for key in cache if key.namespace == "default"}
                return held == {config.metadata.name for config in server}

            await eventually(agrees)


async def test_caches_follow_a_server_that_restarts_empty() -> None:
    async with contextlib.AsyncExitStack() as stack:
        first = Cluster()
        await first.__aenter__()
        port = int(first.url.rsplit(":", 1)[1])
        config = load_config(first.kubeconfig)
        client = await stack.enter_async_context(Client(config))
        manager = Manager(client, watch=QUICK, events="off", graceful_shutdown_timeout_s=1)
        manager.add(mirroring())
        await stack.enter_async_context(manager.running())
        for number in range(20):  # a longer history than the next server's
            await source(client, f"old{number}", "x")
        await copied(client, "old19", "x")
        cache = manager.informers.ensure(ConfigMap).cache
        await first.stop()
        await stack.enter_async_context(Cluster(port=port))

        async def is_forgotten() -> bool:
            return not any(key.name.startswith("old") for key in cache)

        await eventually(is_forgotten)
        await source(client, "new", "y")
        await copied(client, "new", "y")


async def test_a_refused_lease_is_named_in_log_and_readiness(
    caplog: pytest.LogCaptureFixture,
) -> None:
    allowed: list[bool] = []

    async def refuse(call: Call) -> Any:
        if allowed:
            return await call.proceed()
        raise Forbidden("system:serviceaccount:shop:operator may not create leases")

    async with clients() as [client]:
        api = InterceptingApi(client.raw, [Intercept("create", refuse, resource="leases")])
        clock = VirtualClock()
        manager = Manager(
            Client.from_api(api, client.config),
            election=LeaderElection("mirror", "shop", timing=ENDLESS),
            health=BindAddress(),
            clock=clock,
        )
        manager.add(mirroring())
        async with manager.running():
            await eventually(lambda: any("lease refused" in r.getMessage() for r in caplog.records))
            status, body = await read(manager.health_url, "/readyz")
            assert status == 500
            for text in (b"lease shop/mirror", b"403", b"may not create", b"--lease-namespace"):
                assert text in body
            for _ in range(3):
                await clock.advance(3 * ENDLESS.retry_period_s)
            assert len([r for r in caplog.records if "lease refused" in r.getMessage()]) == 1
            await client.create(Namespace(metadata=ObjectMeta(name="shop")))
            allowed.append(True)

            async def leads() -> bool:
                await clock.advance(3 * ENDLESS.retry_period_s)
                return manager.is_leader

            await eventually(leads)
            assert (await read(manager.health_url, "/readyz"))[0] == 200


async def test_an_object_without_a_namespace_is_explained_whatever_namespace_is_named() -> None:
    async def rest(obj: Namespace, ctx: Context[Namespace]) -> None:
        """Do nothing."""

    async with clients() as [client]:
        manager = Manager(client, health=BindAddress(), events="off")
        manager.add(Controller(reconcile=rest, for_=Namespace, ready=None))
        async with manager.running(), http.Client() as browser:
            await eventually(lambda: len(manager.journals[0].recent()) >= 4)
            for path in ("ns/kube-system", "namespaces/default/kube-system"):
                answer = await browser.request("GET", f"{manager.health_url}/explain/{path}")
                (found,) = json.decode(await answer.read())["controllers"]
                assert [each["object"] for each in found["reconciles"]] == ["kube-system"]
