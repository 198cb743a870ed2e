"""What large objects and large answers may cost."""

import asyncio

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http, yaml
from quarterdeck.kit import json as kit_json
from quarterdeck.server.response.frames import FrameCache
from quarterdeck.server.response.watch_buffers import LEAST_BYTES, WatchBuffers
from quarterdeck.wire.frame import EventType

MAPS = "/api/v1/namespaces/default/configmaps"


def test_frames_of_large_objects_are_bounded_by_size() -> None:
    cache = FrameCache(limit=1024, limit_bytes=10_000)
    for revision in range(1, 100):
        frame = cache.get(revision, EventType.MODIFIED, "v1", make=lambda: b"x" * 3_000)
        assert len(frame) == 3_000
        assert cache.size <= 10_000
    assert len(cache) == 3


def test_frame_over_the_whole_bound_is_served_and_not_kept() -> None:
    cache = FrameCache(limit_bytes=100)
    assert cache.get(1, EventType.ADDED, "v1", make=lambda: b"x" * 200) == b"x" * 200
    assert (len(cache), cache.size) == (0, 0)


async def test_large_lists_are_yaml_without_being_written_anew() -> None:
    async with Cluster() as cluster, http.Client() as client:
        for index in range(40):
            body = {"metadata": {"name": f"m-{index}"}, "data": {"k": "v" * 4096}}
            response = await client.request("POST", cluster.url + MAPS, body=kit_json.encode(body))
            assert response.status == 201
            await response.read()
        headers = [("Accept", "application/yaml")]
        response = await client.request("GET", cluster.url + MAPS, headers=headers)
        assert response.headers.get("content-type") == "application/yaml"
        text = await response.read()
        found = await asyncio.to_thread(yaml.load, text)
        assert len(found["items"]) >= 40
        assert text.startswith(b"{")
        single = await client.request("GET", f"{cluster.url}{MAPS}/m-1", headers=headers)
        assert (await single.read()).startswith(b"kind: ConfigMap\n")


def test_watchers_that_do_not_read_have_one_bound_together() -> None:
    buffers = WatchBuffers(each_bytes=4_000_000, all_bytes=10_000_000)
    streams = [object() for _ in range(100)]
    waiting = dict.fromkeys(streams, 0)
    for _ in range(100):
        for stream in streams:
            if not buffers.is_full(stream, waiting[stream]):
                waiting[stream] += 50_000
    # each may exceed its bound by the last piece that was written
    assert sum(waiting.values()) <= 10_000_000 + len(streams) * (LEAST_BYTES + 50_000)
    assert max(waiting.values()) <= 4_050_000
    for stream in streams:
        buffers.forget(stream)
    assert buffers.total == 0


def test_watcher_that_reads_is_not_held_up_by_those_that_do_not() -> None:
    buffers = WatchBuffers(each_bytes=4_000_000, all_bytes=10_000_000)
    for number in range(3):
        buffers.is_full(number, 4_000_000)
    assert buffers.total == 12_000_000
    assert not buffers.is_full("reader", LEAST_BYTES)
    assert buffers.is_full("another", LEAST_BYTES + 1)
    buffers.forget(0)
    assert not buffers.is_full("another", LEAST_BYTES + 1)


async def test_watch_that_ended_counts_no_more() -> None:
    async with Cluster() as cluster, http.Client() as client:
        buffers = cluster.api.core.watch_buffers
        assert isinstance(buffers, WatchBuffers)
        response = await client.request("GET", f"{cluster.url}{MAPS}?watch=true")
        body = kit_json.encode({"metadata": {"name": "seen"}, "data": {"k": "v" * 4096}})
        created = await client.request("POST", cluster.url + MAPS, body=body)
        assert created.status == 201
        await created.read()
        text = b""
        pieces = response.chunks()
        while b'"seen"' not in text:
            text += await anext(pieces)
        assert buffers.total > 0
        cluster.api.stop()
        async for _ in pieces:
            pass
        assert buffers.total == 0
