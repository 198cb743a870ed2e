"""The façade in front of a cluster elsewhere: answers, refusals and streams are passed on."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import ClusterConfig
from quarterdeck.client.transport import Transport
from quarterdeck.kit import http
from quarterdeck.services.applications.proxy import Proxy

MAPS = "/api/v1/namespaces/default/configmaps"


@asynccontextmanager
async def passing_on(server: str) -> AsyncIterator[tuple[http.Client, str]]:
    transport = Transport(ClusterConfig(server=server, timeout_s=240))
    async with http.Server(Proxy(transport).handle) as front, http.Client() as client:
        listener = await front.listen("127.0.0.1", 0)
        yield client, listener.url
    await transport.aclose()


async def test_writes_reads_and_refusals_are_passed_on() -> None:
    async with Cluster() as cluster, passing_on(cluster.url) as (client, url):
        body = json.dumps({"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "ConfigMap"})
        headers = [("Content-Type", "application/json")]
        async with await client.request(
            "POST", url + MAPS, headers=headers, body=body.encode()
        ) as made:
            assert made.status == 201
        async with await client.request("GET", f"{url}{MAPS}/a") as found:
            assert json.loads(await found.read())["metadata"]["name"] == "a"
        async with await client.request("GET", f"{url}{MAPS}/z") as missing:
            assert missing.status == 404
            assert json.loads(await missing.read())["reason"] == "NotFound"
        async with await client.request("GET", f"{url}/readyz") as ready:
            assert (ready.status, await ready.read()) == (200, b"ok")


async def test_a_watch_is_passed_on_as_it_comes() -> None:
    async with (
        Cluster() as cluster,
        passing_on(cluster.url) as (client, url),
        await client.request("GET", f"{url}{MAPS}?watch=true") as watch,
    ):
        first = json.loads(await anext(aiter(watch.lines())))
        assert first["object"]["metadata"]["name"] == "kube-root-ca.crt"


async def test_a_cluster_that_cannot_be_reached_is_a_503() -> None:
    async with (
        passing_on("http://127.0.0.1:1") as (client, url),
        await client.request("POST", url + MAPS, body=b"{}") as answer,
    ):
        document = json.loads(await answer.read())
    assert (answer.status, document["reason"]) == (503, "ServiceUnavailable")
    assert "POST http://127.0.0.1:1" in document["message"]
