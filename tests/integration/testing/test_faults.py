"""Fault rules at the client, each on calls to a real API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import ConnectionFailed
from quarterdeck.client.intercept import Intercept, InterceptingApi
from quarterdeck.client.interfaces import Api
from quarterdeck.kit import json
from quarterdeck.testing import VirtualClock, faults
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import AlreadyExists, ApiError, Conflict, Expired, InternalError

MAPS = ResourcePath("", "v1", "configmaps", namespace="default")
FIRST = ListOptions(resource_version="1")


def config_map(name: str) -> bytes:
    return json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


@asynccontextmanager
async def connected(*rules: Intercept) -> AsyncIterator[Api]:
    async with Cluster() as cluster:
        yield InterceptingApi(cluster.client.raw, list(rules))


async def read_lines(api: Api, count: int) -> list[str]:
    """The first names of a watch."""
    found: list[str] = []
    async with api.watch(MAPS, FIRST) as lines:
        async for line in lines:
            found.append(json.decode(line)["object"]["metadata"]["name"])
            if len(found) == count:
                break
    return found


async def test_a_failed_call_has_not_been_carried_out() -> None:
    async with connected(faults.fail("create", 500)) as api:
        with pytest.raises(InternalError, match="injected failure 500"):
            await api.create(MAPS, config_map("a"))
        await api.create(MAPS, config_map("a"))


async def test_409_is_a_conflict_unless_something_is_created() -> None:
    async with connected(faults.fail("create", 409), faults.fail("update", 409)) as api:
        with pytest.raises(AlreadyExists, match="injected failure 409"):
            await api.create(MAPS, config_map("a"))
        created = await api.create(MAPS, config_map("a"))
        with pytest.raises(Conflict, match="injected failure 409"):
            await api.update(MAPS._replace(name="a"), created)


async def test_a_call_whose_reply_was_lost_has_been_carried_out() -> None:
    async with connected(faults.lose_reply("create")) as api:
        with pytest.raises(ConnectionFailed, match="the reply was lost"):
            await api.create(MAPS, config_map("a"))
        with pytest.raises(AlreadyExists):
            await api.create(MAPS, config_map("a"))


async def test_a_delayed_call_is_sent_when_the_clock_gets_there() -> None:
    clock = VirtualClock()
    async with connected(faults.delay("create", 60.0, clock)) as api:
        creating = asyncio.ensure_future(api.create(MAPS, config_map("a")))
        await clock.advance(59.0)
        assert not creating.done()
        await clock.advance(1.0)
        await creating


async def test_a_cut_stream_fails_at_the_next_line() -> None:
    async with connected(faults.cut_watch(1, times=2)) as api:
        for name in "ab":
            await api.create(MAPS, config_map(name))
        assert len(await read_lines(api, 1)) == 1
        with pytest.raises(ConnectionFailed, match="the stream was cut"):
            await read_lines(api, 2)
        assert len(await read_lines(api, 2)) == 2


async def test_a_frozen_stream_delivers_no_further_line() -> None:
    async with connected(faults.freeze_watch(1)) as api:
        for name in "ab":
            await api.create(MAPS, config_map(name))
        async with api.watch(MAPS, FIRST) as lines:
            await anext(lines)
            waiting = asyncio.ensure_future(anext(lines))
            await read_lines(api, 2)  # the second line is there
            assert not waiting.done()
            waiting.cancel()
            await asyncio.wait([waiting])


async def test_a_lagging_stream_delivers_all_lines_in_order() -> None:
    clock = VirtualClock()
    async with connected(faults.lag_watch(7, 10.0, clock)) as api:
        for name in "abc":
            await api.create(MAPS, config_map(name))
        reading = asyncio.ensure_future(read_lines(api, 4))
        while not reading.done():
            await clock.advance(10.0)
        assert (await reading)[-3:] == ["a", "b", "c"]


async def test_an_expired_watch_is_answered_with_410_once() -> None:
    async with connected(faults.expire_watch(resource="configmaps")) as api:
        await api.create(MAPS, config_map("a"))
        with pytest.raises(Expired):
            await read_lines(api, 1)
        assert len(await read_lines(api, 1)) == 1


async def count_outcomes(seed: int) -> list[str]:
    async with connected() as calm:
        for name in "abcd":
            await calm.create(MAPS, config_map(name))
        api = InterceptingApi(calm, faults.chaos(seed, 0.5))
        found = []
        for number in range(40):
            try:
                await api.create(MAPS, config_map(f"c{number}"))
                await read_lines(api, 4)
            except (ConnectionFailed, ApiError) as error:
                found.append(str(error))
            else:
                found.append("ok")
        return found


async def test_chaos_is_the_same_for_the_same_seed() -> None:
    found = await count_outcomes(5)
    assert found == await count_outcomes(5)
    assert found != await count_outcomes(6)
    assert {
        "ok",
        "the connection was refused",
        "the reply was lost",
        "the stream was cut",
        "injected failure 429",
        "injected failure 500",
    } <= set(found)
