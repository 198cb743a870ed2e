"""`pods/log` of simulated pods, over HTTP."""

from typing import Any

from quarterdeck.kit import http

LOGS = {"logs": "line {n}", "log_interval": "10s"}


def pod(template: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "p", **template["metadata"]}, "spec": template["spec"]}


async def read(cluster: Any, query: str = "", accept: str = "text/plain") -> tuple[int, str]:
    async with http.Client() as client:
        url = f"{cluster.cluster.url}{cluster.path('pods', 'p', 'default')}/log?{query}"
        response = await client.request("GET", url, headers=[("Accept", accept)])
        return response.status, (await response.read()).decode()


async def test_a_log_grows_with_time(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", **LOGS)))
        assert await read(cluster) == (200, "line 1\n")
        await cluster.pass_time(25)
        assert await read(cluster, accept="application/json, */*") == (
            200,
            "line 1\nline 2\nline 3\n",
        )
        assert await read(cluster, "tailLines=1&timestamps=true") == (
            200,
            "2026-01-01T00:00:20.000000000Z line 3\n",
        )
        assert await read(cluster, "limitBytes=9") == (200, "line 1\nli")


async def test_what_cannot_be_read_is_refused(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        status, text = await read(cluster)
        assert status == 404 and 'pods \\"p\\" not found' in text
        await cluster.create("pods", pod(template("p", fail="ImagePullBackOff")))
        status, text = await read(cluster)
        assert status == 400 and "trying and failing to pull image" in text
        assert (await read(cluster, "tailLines=-1"))[0] == 422
        assert (await read(cluster, "tailLines=x"))[0] == 400
        assert (await read(cluster, "sinceTime=yesterday"))[0] == 400
        assert (await read(cluster, "container=none"))[0] == 400


async def test_an_unscheduled_pod_has_an_empty_log(world: Any, template: Any) -> None:
    async with world() as cluster:
        await cluster.create("pods", pod(template("p")))
        assert await read(cluster) == (200, "")


async def test_pods_of_other_nodes_are_refused_by_the_nodes_name(world: Any, template: Any) -> None:
    async with world() as cluster:
        value = pod(template("p"))
        await cluster.create("pods", {**value, "spec": {**value["spec"], "nodeName": "real"}})
        status, text = await read(cluster)
        assert status == 404 and 'nodes \\"real\\" not found' in text
        await cluster.create("nodes", {"metadata": {"name": "real"}})
        status, text = await read(cluster)
        assert status == 404 and "node real is not simulated" in text


async def test_a_node_that_is_down_cannot_be_asked(simulation: Any, template: Any) -> None:
    async with simulation(simulated_nodes=1) as cluster:
        await cluster.create("pods", pod(template("p")))
        node = (await cluster.the("pods", "p"))["spec"]["nodeName"]
        note = {"simulate.quarterdeck.dev/down": "true"}
        await cluster.patch("nodes", node, {"metadata": {"annotations": note}}, "")
        status, text = await read(cluster)
        assert status == 500 and f"node {node}: the node is down" in text


async def test_following_ends_when_the_container_exits(simulation: Any, template: Any) -> None:
    async with simulation() as cluster, http.Client() as client:
        value = pod(template("p", run_for="35s", **LOGS))
        value["spec"] = {**value["spec"], "restartPolicy": "Never"}
        await cluster.create("pods", value)
        url = f"{cluster.cluster.url}{cluster.path('pods', 'p', 'default')}/log?follow=true"
        response = await client.request("GET", url)
        lines = response.lines()
        assert await anext(lines) == b"line 1"
        await cluster.pass_time(15)
        assert await anext(lines) == b"line 2"
        await cluster.pass_time(60)
        assert [line async for line in lines] == [b"line 3", b"line 4"]


async def test_following_ends_when_the_pod_is_deleted(simulation: Any, template: Any) -> None:
    async with simulation() as cluster, http.Client() as client:
        await cluster.create("pods", pod(template("p", logs="hello")))
        url = f"{cluster.cluster.url}{cluster.path('pods', 'p', 'default')}/log?follow=1"
        response = await client.request("GET", url)
        lines = response.lines()
        assert await anext(lines) == b"hello"
        await cluster.delete("pods", "p", gracePeriodSeconds=0)
        assert [line async for line in lines] == []


async def test_a_limit_ends_a_followed_log(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("pods", pod(template("p", **LOGS)))
        assert await read(cluster, "follow=true&limitBytes=4") == (200, "line")
