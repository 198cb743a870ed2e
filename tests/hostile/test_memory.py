"""What large objects and large answers may cost."""

import asyncio

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http, yaml
from quarterdeck.kit import json as kit_json
from quarterdeck.server.response.frames import FrameCache
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
