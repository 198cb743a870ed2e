"""Fault rules at the embedded server, seen by a client on a real socket."""

import asyncio

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ConnectionFailed
from quarterdeck.kit import http
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.testing import server_faults as faults
from quarterdeck.testing.background import BackgroundCluster
from quarterdeck.testing.server_faults import ServerFaults
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    InternalError,
)

CONFIG = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"x": "1"})


@pytest.mark.parametrize("code", [409, 410, 422, 500, 503])
async def test_an_answer_replaces_the_request(code: int) -> None:
    rules = ServerFaults(faults.fail("create", code, resource="configmaps"))
    async with Cluster(faults=rules) as cluster:
        with pytest.raises(ApiError) as caught:
            await cluster.client.create(CONFIG)
        assert caught.value.code == code
        await cluster.client.create(CONFIG)  # only once, and nothing was done before


async def test_409_is_a_conflict_unless_something_is_created() -> None:
    rules = ServerFaults(faults.fail("create", 409), faults.fail("patch", 409))
    async with Cluster(faults=rules) as cluster:
        with pytest.raises(AlreadyExists):
            await cluster.client.create(CONFIG)
        created = await cluster.client.create(CONFIG)
        with pytest.raises(Conflict):
            await cluster.client.update(replace(created, data={"x": "2"}))


async def test_429_is_tried_again_after_the_time_it_names() -> None:
    rules = ServerFaults()
    async with Cluster(faults=rules) as cluster:
        rule = rules.add(faults.fail("create", 429, retry_after_s=1))
        started = asyncio.get_running_loop().time()
        await cluster.client.create(CONFIG)
        assert rule.injected == 1
        assert asyncio.get_running_loop().time() - started >= 1.0


async def test_a_lost_reply_has_been_carried_out() -> None:
    rules = ServerFaults(faults.lose_reply("create"))
    async with Cluster(faults=rules) as cluster:
        with pytest.raises(ConnectionFailed):
            await cluster.client.create(CONFIG)
        with pytest.raises(AlreadyExists):
            await cluster.client.create(CONFIG)


async def test_a_dropped_request_has_not_been_carried_out() -> None:
    rules = ServerFaults(faults.drop_request("create"))
    async with Cluster(faults=rules) as cluster:
        with pytest.raises(ConnectionFailed):
            await cluster.client.create(CONFIG)
        assert (await cluster.client.create(CONFIG)).data == {"x": "1"}


async def test_a_delay_lets_the_others_pass() -> None:
    rules = ServerFaults(faults.delay("get", 0.2, times=1))
    async with Cluster(faults=rules) as cluster:
        await cluster.client.create(CONFIG)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await asyncio.gather(
            *(cluster.client.get(ConfigMap, "a", "default") for _ in range(2)),
        )
        assert loop.time() - started >= 0.2


async def watched(client: Client, count: int) -> list[str]:
    """The names of the first `count` events."""
    found: list[str] = []
    async with client.watch(ConfigMap, "default", ListOptions(resource_version="1")) as events:
        async for event in events:
            found.append(event.object.metadata.name)
            if len(found) == count:
                break
    return found


async def test_a_cut_watch_ends_in_the_middle_of_a_line() -> None:
    rules = ServerFaults()
    async with Cluster(faults=rules) as cluster:
        for name in ("a", "b", "c"):
            metadata = ObjectMeta(name=name, namespace="default")
            await cluster.client.create(ConfigMap(metadata=metadata))
        everything = await watched(cluster.client, 3)
        rules.add(faults.cut_watch(2, times=1))
        with pytest.raises(ConnectionFailed):
            await watched(cluster.client, 3)
        assert await watched(cluster.client, 3) == everything


async def test_a_frozen_watch_stays_open_and_silent() -> None:
    rules = ServerFaults(faults.freeze_watch(1, resource="configmaps"))
    async with Cluster(faults=rules) as cluster:
        await cluster.client.create(CONFIG)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await watched(cluster.client, 9)


async def test_an_expired_watch_says_so_in_the_stream() -> None:
    rules = ServerFaults(faults.expire_watch(after_lines=1))
    async with Cluster(faults=rules) as cluster:
        await cluster.client.create(CONFIG)
        with pytest.raises(Expired):
            await watched(cluster.client, 9)


async def test_a_watch_that_is_refused_stays_as_it_is() -> None:
    rules = ServerFaults(faults.cut_watch(0))
    async with Cluster(faults=rules) as cluster:
        with pytest.raises(BadRequest, match="found '!'"):
            async with cluster.client.watch(
                ConfigMap, "default", ListOptions(label_selector="!!")
            ) as events:
                await anext(events)
        assert rules.rules[0].injected == 1


async def test_options_that_cannot_be_parsed_are_those_of_a_list() -> None:
    rules = ServerFaults(faults.fail("list", 503))
    async with Cluster(faults=rules) as cluster:
        url = f"{cluster.url}/api/v1/namespaces/default/configmaps?limit=many"
        async with http.Client() as client:
            assert (await client.request("GET", url)).status == 503
            assert (await client.request("GET", url)).status == 400


async def outcomes(seed: int) -> list[str]:
    rules = ServerFaults()
    async with Cluster(faults=rules) as cluster:
        rules.add(faults.chaos(seed, 0.5))
        found = []
        for number in range(20):
            metadata = ObjectMeta(name=f"c{number}", namespace="default")
            try:
                await cluster.client.create(ConfigMap(metadata=metadata))
            except (ConnectionFailed, ApiError) as error:
                found.append(type(error).__name__)
            else:
                found.append("ok")
        return found


async def test_chaos_is_the_same_for_the_same_seed() -> None:
    first = await outcomes(3)
    assert first == await outcomes(3)
    assert first != await outcomes(4)
    assert {"ok", "ConnectionFailed"} <= set(first)


async def test_the_fixture_puts_rules_into_the_cluster_of_the_test(
    cluster: BackgroundCluster, cluster_faults: ServerFaults, client: Client
) -> None:
    rule = cluster_faults.add(faults.fail("list", 500, resource="configmaps"))
    with pytest.raises(InternalError):
        await client.list(ConfigMap, "default")
    assert rule.injected == 1
    cluster_faults.clear()
    await client.list(ConfigMap, "default")
