"""The state store in Redis or Valkey: MULTI on one server and behind Sentinel, per key on Cluster.

The library reconnects and retries. What still fails is `StoreUnavailable` without a response, and
`StoreRefused` if Redis returned an error: out of memory, read-only, wrong type.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from quarterdeck.hubstate.errors import StoreRefused, StoreUnavailable
from quarterdeck.hubstate.ports import Message
from quarterdeck.hubstate.redis.address import Mode, RedisAddress
from quarterdeck.hubstate.redis.commands import (
    ABSENT,
    Command,
    build_commands,
    find_expected_types,
)
from quarterdeck.hubstate.redis.connect import POOL, close, connect
from quarterdeck.hubstate.writes import Write
from quarterdeck.kit.redaction import Masker

_SCAN = 1000
_MAX_CHECKED = 200_000
_POLL_S = 1.0
_REPLICATED = "hub:replicated"
_REPLICATION_MS = 3000


class RedisState:
    """Implements `StateStore` on a Redis client."""

    def __init__(self, address: RedisAddress) -> None:
        """Create the client; nothing is sent yet.

        Raises:
            StoreUnavailable: if the library is not installed.
        """
        self.address = address
        self._redis = connect(address)
        self._subscribers = connect(address, max_connections=None)
        """Each subscription holds a connection until it ends, so they must not share the pool."""
        self._masker = Masker(address.password)
        self._slots = asyncio.Semaphore(POOL)
        self._checked: dict[str, bytes] = {}
        """The types of keys that were checked before."""

    async def get(self, key: str) -> bytes | None:
        """Return a string value; None if it is absent."""
        async with self._call():
            value: bytes | None = await self._redis.get(key)
        return value

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """String values in the order of the keys, in one round trip."""
        if not keys:
            return []
        read = self._redis.mget_nonatomic if self._is_cluster else self._redis.mget
        async with self._call():
            values: list[bytes | None] = await read(list(keys))
        return values

    async def get_fields(self, key: str) -> Mapping[str, str]:
        """Return all fields of a hash."""
        async with self._call():
            found = await self._redis.hgetall(key)
        return {name.decode(): value.decode() for name, value in found.items()}

    async def get_members(self, key: str) -> frozenset[str]:
        """Return all members of a set."""
        async with self._call():
            found = await self._redis.smembers(key)
        return frozenset(member.decode() for member in found)

    async def get_scored_members(
        self, key: str, *, lowest: float | None = None, highest: float | None = None
    ) -> list[tuple[str, float]]:
        """Members of a sorted set with a score in the range, lowest first."""
        low = "-inf" if lowest is None else lowest
        high = "+inf" if highest is None else highest
        async with self._call():
            found = await self._redis.zrangebyscore(key, low, high, withscores=True)
        return [(member.decode(), float(score)) for member, score in found]

    async def get_items(self, key: str, *, limit: int) -> list[bytes]:
        """Return the newest items of a list."""
        if limit <= 0:
            return []
        async with self._call():
            found: list[bytes] = await self._redis.lrange(key, 0, limit - 1)
        return found

    async def list_keys(self, prefix: str) -> list[str]:
        """List the keys that begin with `prefix`, sorted."""
        pattern = f"{_escape(prefix)}*"
        async with self._call():
            found = {key async for key in self._redis.scan_iter(match=pattern, count=_SCAN)}
        return sorted(key.decode() for key in found)

    async def commit(self, writes: Sequence[Write]) -> None:
        """Carry out all writes, or none; on a cluster each key for itself."""
        planned = list(build_commands(writes))
        if not planned:
            return
        async with self._call():
            await self._check_types(planned)
            try:
                await self._send(planned)
            except Exception:
                self._checked.clear()  # a type may have been changed by others
                raise
            if self.address.replicas:
                await self._wait_replicated(self.address.replicas)

    async def ping(self) -> None:
        """Find out whether the store answers."""
        async with self._call():
            await self._redis.ping()

    def subscribe(self, *channels: str) -> AbstractAsyncContextManager[AsyncIterator[Message]]:
        """Messages published on the channels from now on."""
        return self._subscribe(channels)

    async def aclose(self) -> None:
        """Close every connection."""
        await close(self._redis)
        await close(self._subscribers)

    async def _wait_replicated(self, wanted: int) -> None:
        """Wait until replicas have everything that was written before.

        WAIT covers only writes of its own connection, and the commit may have used another one. So
        a key is written on this connection: in the replication stream it follows the commit.
        """
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.execute_command("SET", _REPLICATED, "1")
            pipe.execute_command("WAIT", wanted, _REPLICATION_MS)
            _, count = await pipe.execute()
        if count < wanted:
            raise StoreUnavailable(
                f"{self.address}: {count} of {wanted} replicas acknowledged the write; "
                "check the replicas, or lower replicas in the Redis URL"
            )

    @property
    def _is_cluster(self) -> bool:
        return self.address.mode is Mode.CLUSTER

    async def _check_types(self, planned: Sequence[Command]) -> None:
        """Refuse a key of another type before anything is sent: MULTI would apply the other writes.

        A key is checked once for each type, because only the hub writes it.
        """
        expected = find_expected_types(planned)
        unknown = [key for key, type_ in expected.items() if self._checked.get(key) != type_]
        if not unknown:
            return
        pipe = self._redis.pipeline(**({} if self._is_cluster else {"transaction": False}))
        for key in unknown:
            pipe.execute_command("TYPE", key)
        for key, found in zip(unknown, await pipe.execute(), strict=True):
            if found not in (expected[key], ABSENT):
                raise StoreRefused(
                    f"{self.address}: the key {key} is a {found.decode()}, not a "
                    f"{expected[key].decode()}; another program has written it: delete it"
                )
        if len(self._checked) > _MAX_CHECKED:
            self._checked.clear()
        self._checked.update((key, expected[key]) for key in unknown)

    async def _send(self, planned: Sequence[Command]) -> None:
        if self._is_cluster:
            await self._send_by_key(planned)
            return
        async with self._redis.pipeline(transaction=True) as pipe:
            for command in planned:
                pipe.execute_command(*command)
            await pipe.execute()

    async def _send_by_key(self, planned: Sequence[Command]) -> None:
        pipe = self._redis.pipeline()
        messages = [command for command in planned if command[0] == "PUBLISH"]
        for command in planned:
            if command[0] != "PUBLISH":
                pipe.execute_command(*command)
        await pipe.execute()
        for command in messages:  # after the writes that they announce
            await self._redis.execute_command(*command)

    @contextlib.asynccontextmanager
    async def _subscribe(self, channels: Sequence[str]) -> AsyncIterator[AsyncIterator[Message]]:
        client = await self._get_subscriber()
        pubsub = client.pubsub()
        try:
            with self._translate_errors():
                await pubsub.subscribe(*channels)
            async with contextlib.aclosing(self._iterate_messages(pubsub)) as messages:
                yield messages
        finally:
            await pubsub.aclose()
            if client is not self._subscribers:
                await close(client)

    async def _get_subscriber(self) -> Any:
        """A client that can subscribe; on a cluster to one server, as each gets all messages."""
        if not self._is_cluster:
            return self._subscribers
        with self._translate_errors():
            await self._redis.initialize()
            node = self._redis.get_random_node()
        single = RedisAddress(
            hosts=((node.host, node.port),),
            username=self.address.username,
            password=self.address.password,
            tls=self.address.tls,
        )
        return connect(single)

    async def _iterate_messages(self, pubsub: Any) -> AsyncGenerator[Message, None]:
        while True:
            with self._translate_errors():
                found = await pubsub.get_message(ignore_subscribe_messages=True, timeout=_POLL_S)
            if found is not None and found["type"] == "message":
                yield Message(found["channel"].decode(), found["data"])

    @contextlib.asynccontextmanager
    async def _call(self) -> AsyncIterator[None]:
        """Limit concurrent calls: the library fails if the pool has no free connection."""
        async with self._slots:
            with self._translate_errors():
                yield

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate exceptions of the library to errors of this package."""
        from redis import exceptions

        known = exceptions.RedisError, exceptions.RedisClusterException, OSError
        try:
            yield
        except known as error:
            raise self._build_error(error) from error

    def _build_error(self, error: Exception) -> StoreRefused | StoreUnavailable:
        from redis import exceptions

        text = self._masker.mask(str(error))
        match error:
            case exceptions.AuthenticationError() | exceptions.AuthorizationError():
                return StoreRefused(f"{self.address} rejected the credentials: {text}")
            case exceptions.ConnectionError() | exceptions.TimeoutError() | OSError():
                return StoreUnavailable(f"cannot reach {self.address}: {text}")
            case exceptions.RedisClusterException():
                return StoreUnavailable(f"cannot use {self.address}: {text}")
            case _:
                return StoreRefused(f"{self.address} rejected the command: {text}")


def _escape(prefix: str) -> str:
    return "".join(f"\\{each}" if each in "*?[]\\" else each for each in prefix)
