"""What only Redis does: it goes away and comes back, is full, read-only, behind TLS or Sentinel."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quarterdeck.app import certificates
from quarterdeck.hubstate.errors import StoreRefused, StoreUnavailable
from quarterdeck.hubstate.redis.address import RedisAddress
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.hubstate.writes import Publish, SetValue
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.testing import programs


@contextlib.asynccontextmanager
async def serving(folder: Path, *options: str, port: int = 0) -> AsyncIterator[int]:
    port = port or programs.find_free_port()
    async with programs.run_program_async(
        programs.build_redis_command(port, *options), port=port, folder=folder
    ):
        yield port


async def test_a_server_that_went_away_is_found_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as port:
        store = RedisState(RedisAddress(hosts=(("127.0.0.1", port),)))
        await store.commit([SetValue("a", b"1")])
    with pytest.raises(StoreUnavailable, match=str(port)):
        await store.commit([SetValue("a", b"2")])
    with pytest.raises(StoreUnavailable):
        await store.ping()
    async with serving(tmp_path, port=port):
        await store.commit([SetValue("a", b"3")])
        assert await store.get("a") == b"3"
    await store.aclose()


async def test_a_full_server_refuses_all_of_a_commit(tmp_path: Path) -> None:
    async with serving(tmp_path, "--maxmemory", "1mb", "--maxmemory-policy", "noeviction") as port:
        store = RedisState(RedisAddress(hosts=(("127.0.0.1", port),)))
        for size in (500_000, 50_000, 5_000):  # what is left is less than the last of these
            with pytest.raises(StoreRefused, match="memory"):
                for number in range(1000):
                    await store.commit([SetValue(f"k{size}-{number}", b"x" * size)])
        await store.ping()
        value = b"1" * 100_000
        with pytest.raises(StoreRefused):
            await store.commit([SetValue("first", value), SetValue("second", value)])
        assert await store.get("first") is None
        await store.aclose()


async def test_a_read_only_replica_refuses_writes(tmp_path: Path) -> None:
    async with (
        serving(tmp_path) as primary,
        serving(tmp_path, "--replicaof", "127.0.0.1", str(primary)) as port,
    ):
        store = RedisState(RedisAddress(hosts=(("127.0.0.1", port),)))
        with pytest.raises(StoreRefused, match=r"(?i)read.?only"):
            await store.commit([SetValue("a", b"1")])
        await store.aclose()


async def test_a_wrong_password_is_refused_and_never_shown(tmp_path: Path) -> None:
    async with serving(tmp_path, "--requirepass", "right") as port:
        hosts = (("127.0.0.1", port),)
        store = RedisState(RedisAddress(hosts=hosts, password=Secret("hunter2")))
        with pytest.raises(StoreRefused) as caught:
            await store.ping()
        assert "hunter2" not in str(caught.value)
        await store.aclose()
        store = RedisState(RedisAddress.parse(f"redis://:right@127.0.0.1:{port}/3"))
        await store.commit([SetValue("a", b"1")])
        await store.aclose()


async def test_tls_checks_the_certificate(tmp_path: Path) -> None:
    authority = certificates.ensure(tmp_path / "pki", SystemClock().now())
    port = programs.find_free_port()
    command = programs.build_redis_command(
        0,
        *("--tls-port", str(port), "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(authority.certificate("server"))),
        *("--tls-key-file", str(authority.key("server"))),
        *("--tls-ca-cert-file", str(authority.certificate("authority"))),
    )
    async with programs.run_program_async(command, port=port, folder=tmp_path):
        ca = authority.certificate("authority")
        store = RedisState(RedisAddress.parse(f"rediss://127.0.0.1:{port}?ca={ca}"))
        await store.commit([SetValue("a", b"1")])
        await store.aclose()
        store = RedisState(RedisAddress.parse(f"rediss://127.0.0.1:{port}"))
        with pytest.raises(StoreUnavailable, match="certificate"):
            await store.ping()
        await store.aclose()


async def test_a_write_that_no_replica_has_is_not_acknowledged(tmp_path: Path) -> None:
    async with serving(tmp_path) as port:
        url = f"redis://127.0.0.1:{port}?replicas=1"
        store = RedisState(RedisAddress.parse(url))
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await store.commit([SetValue("a", b"1")])
        async with serving(tmp_path, "--replicaof", f"127.0.0.1 {port}") as replica:
            await wait_synced(replica)
            await store.commit([SetValue("a", b"2")])
            copy = RedisState(RedisAddress(hosts=(("127.0.0.1", replica),)))
            assert await copy.get("a") == b"2"
            await copy.aclose()
        await store.aclose()


async def wait_synced(port: int) -> None:
    """Wait until a replica follows its master."""
    import redis.asyncio

    async with redis.asyncio.Redis(host="127.0.0.1", port=port) as client:
        while (await client.info("replication"))["master_link_status"] != "up":
            await SystemClock().sleep(0.05)


@pytest.mark.slow
async def test_a_failover_by_sentinel_loses_nothing_acknowledged(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("master", "replica", "sentinel")]
    for folder in folders:
        folder.mkdir()
    port = programs.find_free_port()
    async with contextlib.AsyncExitStack() as stack:
        stopping = contextlib.AsyncExitStack()
        await stack.enter_async_context(stopping)
        master = await stopping.enter_async_context(serving(folders[0]))
        replica = await stack.enter_async_context(
            serving(folders[1], "--replicaof", f"127.0.0.1 {master}")
        )
        await wait_synced(replica)
        config = folders[2] / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\nsentinel monitor fleet 127.0.0.1 {master} 1\n"
            "sentinel down-after-milliseconds fleet 1000\nsentinel failover-timeout fleet 5000\n"
        )
        command = [programs.require("redis-server"), str(config), "--sentinel"]
        await stack.enter_async_context(
            programs.run_program_async(command, port=port, folder=folders[2])
        )
        url = f"redis+sentinel://127.0.0.1:{port}/fleet/0?replicas="
        strict, loose = (RedisState(RedisAddress.parse(f"{url}{n}")) for n in (1, 0))
        await wait_known(port)
        acknowledged = []
        for number in range(50):
            await strict.commit([SetValue(f"key-{number}", b"kept")])
            acknowledged.append(f"key-{number}")
        await stopping.aclose()  # the master is gone
        await write_until_accepted(loose, SetValue("after", b"written"))
        assert await loose.get_many(acknowledged) == [b"kept"] * len(acknowledged)
        await strict.aclose()
        await loose.aclose()


async def wait_known(port: int) -> None:
    """Wait until Sentinel knows the replica."""
    import redis.asyncio

    async with redis.asyncio.Redis(host="127.0.0.1", port=port) as client:
        while not await client.execute_command("SENTINEL", "REPLICAS", "fleet"):
            await SystemClock().sleep(0.1)


async def write_until_accepted(store: RedisState, write: SetValue) -> None:
    """Try as the hub does: again and again, until the new master takes it."""
    while True:
        try:
            await store.commit([write])
            return
        except (StoreUnavailable, StoreRefused):
            await SystemClock().sleep(0.2)


async def test_sentinel_names_the_master(tmp_path: Path) -> None:
    port = programs.find_free_port()
    async with serving(tmp_path) as master:
        config = tmp_path / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\nsentinel monitor fleet 127.0.0.1 {master} 1\n"
        )
        command = [programs.require("redis-server"), str(config), "--sentinel"]
        async with programs.run_program_async(command, port=port, folder=tmp_path):
            store = RedisState(RedisAddress.parse(f"redis+sentinel://127.0.0.1:{port}/fleet/2"))
            await store.commit([SetValue("a", b"1")])
            assert await store.get("a") == b"1"
            await store.aclose()


async def test_many_subscribers_leave_connections_for_other_calls(tmp_path: Path) -> None:
    async with serving(tmp_path) as port, contextlib.AsyncExitStack() as stack:
        store = RedisState(RedisAddress(hosts=(("127.0.0.1", port),)))
        stack.push_async_callback(store.aclose)
        streams = [await stack.enter_async_context(store.subscribe("a")) for _ in range(100)]
        await store.commit([Publish("a", b"1")])
        assert {(await anext(each)).data for each in streams} == {b"1"}
