"""Own writes of kinds that are watched by a field selector."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import msgspec
import pytest

from quarterdeck.apis.core import Secret
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import ObjectMeta, encode, replace
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.informer.informer import CacheScope, Informer


def secret(name: str) -> Secret:
    return Secret(metadata=ObjectMeta(name=name, namespace="default"), type="Opaque")


@contextlib.asynccontextmanager
async def filled(client: Client, fields: str) -> AsyncIterator[Cache[Secret]]:
    """A cache that has been filled, and whose watch has ended: only own writes change it."""
    informer = Informer(
        client.raw,
        Secret,
        scope=CacheScope(fields=fields),
        clock=SystemClock(),
        rng=random.Random(1),
    )
    running = asyncio.create_task(informer.run())
    await informer.wait_for_cache_sync()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    yield informer.cache


@pytest.mark.parametrize(
    "fields", ["metadata.name=a", "type=Opaque", "type=Opaque,metadata.name!=b"]
)
async def test_an_object_stays_visible_after_an_own_write(fields: str) -> None:
    async with Cluster() as cluster:
        client = cluster.client
        before = await client.create(secret("a"))
        async with filled(client, fields) as cache:
            labels = {"written": "yes"}
            metadata = msgspec.structs.replace(before.metadata, labels=labels)
            written = await client.update(replace(before, metadata=metadata))
            cache.record_write(encode(written))
            found = cache.get(Key("default", "a"))
        assert found is not None
        assert found.metadata.labels == labels


@pytest.mark.parametrize(
    ("fields", "visible"),
    [("metadata.name=a", True), ("metadata.name=b", False), ("type=Opaque", False)],
    ids=["matches", "does not match", "only the server can say"],
)
async def test_a_created_object_is_visible_if_it_surely_matches(fields: str, visible: bool) -> None:
    async with Cluster() as cluster, filled(cluster.client, fields) as cache:
        cache.record_write(encode(await cluster.client.create(secret("a"))))
        assert (cache.get(Key("default", "a")) is not None) is visible
