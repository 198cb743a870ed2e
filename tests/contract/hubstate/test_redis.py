"""What only Redis does: it goes away and comes back, is full, read-only, behind TLS or Sentinel."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quarterdeck.app import certificates
from quarterdeck.hubstate.errors import StoreRefused, StoreUnavailable
from quarterdeck.hubstate.redis.address import RedisAddress
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.hubstate.writes import SetValue
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.redaction import Secret
from quarterdeck.testing import programs


@contextlib.asynccontextmanager
async def serving(folder: Path, *options: str, port: int = 0) -> AsyncIterator[int]:
    port = port or programs.free_port()
    async with programs.running_beside(
        programs.redis_server(port, *options), port=port, folder=folder
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


async def test_a_read_only_replica_refuses(tmp_path: Path) -> None:
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
    port = programs.free_port()
    command = programs.redis_server(
        0,
        *("--tls-port", str(port), "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(authority.certificate("server"))),
        *("--tls-key-file", str(authority.key("server"))),
        *("--tls-ca-cert-file", str(authority.certificate("authority"))),
    )
    async with programs.running_beside(command, port=port, folder=tmp_path):
        ca = authority.certificate("authority")
        store = RedisState(RedisAddress.parse(f"rediss://127.0.0.1:{port}?ca={ca}"))
        await store.commit([SetValue("a", b"1")])
        await store.aclose()
        store = RedisState(RedisAddress.parse(f"rediss://127.0.0.1:{port}"))
        with pytest.raises(StoreUnavailable, match="certificate"):
            await store.ping()
        await store.aclose()


async def test_sentinel_names_the_master(tmp_path: Path) -> None:
    port = programs.free_port()
    async with serving(tmp_path) as master:
        config = tmp_path / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\nsentinel monitor fleet 127.0.0.1 {master} 1\n"
        )
        command = [programs.require("redis-server"), str(config), "--sentinel"]
        async with programs.running_beside(command, port=port, folder=tmp_path):
            store = RedisState(RedisAddress.parse(f"redis+sentinel://127.0.0.1:{port}/fleet/2"))
            await store.commit([SetValue("a", b"1")])
            assert await store.get("a") == b"1"
            await store.aclose()
