"""Answers in protobuf, as client-go asks for them by default."""

import json
import struct
from typing import Any

import pytest
from tests.integration.server.conftest import CONFIG_MAPS, WIDGETS, Answer, Api, Serving

from quarterdeck.kit import http, protowire
from quarterdeck.meta import builtins
from quarterdeck.meta.builtins import protobuf_writer

PROTOBUF = "application/vnd.kubernetes.protobuf"
AS_METADATA = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def read(answer: Answer) -> dict[str, Any]:
    assert answer.headers.get("content-type") == PROTOBUF, answer
    return builtins.decode_protobuf(answer.body)


async def test_one_object_and_a_list_say_what_json_says(serving: Serving) -> None:
    async with serving() as api:
        await api.make("a", data={"k": "v"})
        shown = await api("GET", f"{CONFIG_MAPS}/a", accept="application/json")
        assert read(await api("GET", f"{CONFIG_MAPS}/a", accept=PROTOBUF)) == shown.body
        listed = await api("GET", CONFIG_MAPS)
        found = read(await api("GET", CONFIG_MAPS, accept=f"{PROTOBUF},application/json"))
        assert (found["kind"], found["metadata"]) == ("ConfigMapList", listed.body["metadata"])
        assert [each["metadata"]["name"] for each in found["items"]] == [
            each["metadata"]["name"] for each in listed.body["items"]
        ]


async def test_writes_are_read_and_answered_in_protobuf(serving: Serving) -> None:
    async with serving() as api:
        value = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "b"}}
        body = protobuf_writer.encode(value | {"data": {"k": "1"}})
        made = await api("POST", CONFIG_MAPS, body, media=PROTOBUF, accept=PROTOBUF)
        assert (made.status, read(made)["data"]) == (201, {"k": "1"})
        body = protobuf_writer.encode(value | {"data": {"k": "2"}})
        put = await api("PUT", f"{CONFIG_MAPS}/b", body, media=PROTOBUF, accept=PROTOBUF)
        assert (put.status, read(put)["data"]) == (200, {"k": "2"})
        gone = await api("DELETE", f"{CONFIG_MAPS}/b", accept=PROTOBUF)
        assert read(gone)["status"] == "Success"


async def test_errors_are_a_status_in_protobuf(serving: Serving) -> None:
    async with serving() as api:
        answer = await api("GET", f"{CONFIG_MAPS}/none", accept=PROTOBUF)
        status = read(answer)
        assert (answer.status, status["reason"], status["code"]) == (404, "NotFound", 404)
        assert status["details"] == {"name": "none", "kind": "configmaps"}


async def test_a_list_of_metadata_has_nothing_else(serving: Serving) -> None:
    async with serving() as api:
        await api.make("a", data={"k": "v"})
        answer = await api("GET", f"{CONFIG_MAPS}/a", accept=AS_METADATA)
        assert answer.headers.get("content-type") == PROTOBUF
        assert b"PartialObjectMetadata" in answer.body
        as_list = AS_METADATA.replace("PartialObjectMetadata", "PartialObjectMetadataList")
        listed = await api("GET", CONFIG_MAPS, accept=as_list)
        assert b"PartialObjectMetadataList" in listed.body


async def test_custom_objects_have_no_protobuf_but_their_metadata_has(serving: Serving) -> None:
    async with serving() as api:
        await api.define_widgets()
        value = {"kind": "Widget", "apiVersion": "stable.example.com/v1"}
        await api("POST", WIDGETS, value | {"metadata": {"name": "w"}})
        assert (await api("GET", f"{WIDGETS}/w", accept=PROTOBUF)).status == 406
        both = await api("GET", f"{WIDGETS}/w", accept=f"{PROTOBUF},application/json")
        assert both.body["kind"] == "Widget"
        partial = await api("GET", f"{WIDGETS}/w", accept=AS_METADATA)
        assert partial.headers.get("content-type") == PROTOBUF


async def test_tables_fall_back_to_json(serving: Serving) -> None:
    async with serving() as api:
        table = "as=Table;g=meta.k8s.io;v=v1"
        answer = await api(
            "GET", CONFIG_MAPS, accept=f"{PROTOBUF};{table},application/json;{table}"
        )
        assert answer.body["kind"] == "Table"


async def test_the_scale_of_an_object_is_answered_in_protobuf(serving: Serving) -> None:
    async with serving() as api:
        path = "/apis/apps/v1/namespaces/default/deployments"
        template = {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 3}
        await api.make("d", path, spec=spec)
        scale = read(await api("GET", f"{path}/d/scale", accept=PROTOBUF))
        assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 3})


class Frames:
    """The events of a watch in protobuf: a length of four bytes before each."""

    def __init__(self, response: http.ClientResponse) -> None:
        self._chunks = response.chunks()
        self._data = b""

    async def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._data += await anext(self._chunks)
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    async def next(self) -> tuple[str, dict[str, Any]]:
        (size,) = struct.unpack(">I", await self._take(4))
        event = dict(protowire.iterate_fields(await self._take(size)))
        raw = dict(protowire.iterate_fields(event[2]))[1]
        return event[1].decode(), builtins.decode_protobuf(raw)


async def watch(api: Api, query: str) -> http.ClientResponse:
    url = f"{api.cluster.url}{CONFIG_MAPS}?watch=1&{query}"
    return await api.client.request("GET", url, headers=[("Accept", PROTOBUF)])


async def test_a_watch_sends_frames_with_their_length(serving: Serving) -> None:
    async with serving() as api:
        await api.make("a", data={"k": "v"})
        response = await watch(
            api,
            "sendInitialEvents=true&allowWatchBookmarks=true"
            "&resourceVersionMatch=NotOlderThan"
            "&fieldSelector=metadata.name!=kube-root-ca.crt",
        )
        try:
            assert response.headers.get("content-type") == f"{PROTOBUF};stream=watch"
            frames = Frames(response)
            kind, value = await frames.next()
            assert (kind, value["data"]) == ("ADDED", {"k": "v"})
            kind, value = await frames.next()
            assert kind == "BOOKMARK"
            assert value["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
            await api.make("b")
            kind, value = await frames.next()
            assert (kind, value["metadata"]["name"]) == ("ADDED", "b")
            await api("DELETE", f"{CONFIG_MAPS}/b")
            kind, value = await frames.next()
            assert (kind, value["metadata"]["name"]) == ("DELETED", "b")
        finally:
            await response.aclose()


@pytest.mark.parametrize("resource", ["pods", "services", "secrets", "nodes", "namespaces"])
async def test_empty_and_full_lists_of_kinds_decode(serving: Serving, resource: str) -> None:
    async with serving() as api:
        answer = await api("GET", f"/api/v1/{resource}", accept=PROTOBUF)
        shown = await api("GET", f"/api/v1/{resource}")
        assert len(read(answer).get("items", [])) == len(shown.body["items"])
        assert json.dumps(read(answer)["metadata"]) == json.dumps(shown.body["metadata"])
