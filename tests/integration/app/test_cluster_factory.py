"""Clusters on demand: real servers, one a name, gone when deleted."""

import asyncio

import pytest

from quarterdeck.apis.core.config import Namespace
from quarterdeck.app.cluster_factory import EmbeddedClusters
from quarterdeck.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.client.factory import ClusterFactory
from quarterdeck.kit.clock import SystemClock


async def test_cluster_answers_until_it_is_deleted() -> None:
    async with EmbeddedClusters(clock=SystemClock()) as clusters:
        factory: ClusterFactory = clusters
        config = await factory.create("one")
        assert config.server.startswith("https://127.0.0.1:")
        async with Client(config) as client:
            namespaces = await client.list(Namespace)
            assert "default" in {each.metadata.name for each in namespaces}
        await factory.delete("one")
        async with Client(config) as client:
            with pytest.raises(ClientError):
                await client.list(Namespace)
        await factory.delete("one")


async def test_one_cluster_a_name_however_many_ask() -> None:
    async with EmbeddedClusters(clock=SystemClock()) as clusters:
        found = await asyncio.gather(*(clusters.create("one") for _ in range(4)))
        assert len({config.server for config in found}) == 1
        other = await clusters.create("two")
        assert other.server != found[0].server
        assert clusters.names == ["one", "two"]
    assert clusters.names == []


async def test_cluster_is_gone_when_its_deletion_is_cancelled() -> None:
    for turns in range(1, 8):
        async with EmbeddedClusters(clock=SystemClock()) as clusters:
            config = await clusters.create("one")
            deletion = asyncio.ensure_future(clusters.delete("one"))
            for _ in range(turns):
                await asyncio.sleep(0)
            deletion.cancel()
            await asyncio.gather(deletion, return_exceptions=True)
            assert clusters.names == []
            async with Client(config) as client:
                with pytest.raises(ClientError):
                    await client.list(Namespace)
