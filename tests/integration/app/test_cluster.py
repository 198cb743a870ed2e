"""The embedded cluster: quick, private, and leaving nothing behind."""

import asyncio
import gc
import os
import stat
import threading
from pathlib import Path

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http


async def test_cluster_serves_and_stops() -> None:
    async with Cluster() as cluster, http.Client() as client:
        answer = await client.request("GET", f"{cluster.url}/readyz")
        assert await answer.read() == b"ok"
        url = cluster.url
    async with http.Client() as client:
        with pytest.raises(http.ConnectError):
            await client.request("GET", f"{url}/readyz")


async def test_kubeconfig_is_private_and_goes_with_the_cluster() -> None:
    async with Cluster() as cluster:
        path = cluster.kubeconfig
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert cluster.kubeconfig == path
    assert not path.parent.exists()


async def test_client_comes_with_the_cluster() -> None:
    async with Cluster() as cluster:
        from quarterdeck.meta.identity import GVR

        found = await cluster.client.resource(GVR("", "v1", "namespaces")).get("default")
        assert found["metadata"]["name"] == "default"
        assert cluster.client is cluster.client


async def test_four_namespaces_are_there_from_the_start(tmp_path: Path) -> None:
    for _ in range(2):
        async with Cluster(in_memory=False, data_dir=tmp_path) as cluster, http.Client() as client:
            answer = await client.request("GET", f"{cluster.url}/api/v1/namespaces")
            body = await answer.read()
            for name in (b"default", b"kube-system", b"kube-public", b"kube-node-lease"):
                assert b'"name":"%b"' % name in body


async def test_dozens_of_clusters_leak_nothing() -> None:
    async def live() -> None:
        async with Cluster() as cluster, http.Client() as client:
            watch = await client.request("GET", f"{cluster.url}/api/v1/namespaces?watch=1")
            await anext(watch.lines())
            await watch.aclose()

    await live()
    gc.collect()
    before = _resources()
    for _ in range(40):
        await live()
    gc.collect()
    assert _resources() <= before + 2
    assert len(asyncio.all_tasks()) == 1


def _resources() -> int:
    files = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    return files + threading.active_count()


async def test_cluster_that_keeps_its_objects_needs_a_place() -> None:
    with pytest.raises(ValueError, match="data_dir"):
        Cluster(in_memory=False)


async def test_failed_start_leaves_nothing_behind() -> None:
    async with Cluster() as cluster:
        port = int(cluster.url.rpartition(":")[2])
        with pytest.raises(OSError):
            async with Cluster(port=port):
                pass
    assert len(asyncio.all_tasks()) == 1
