"""Quotas, seen by those whom they limit."""

import asyncio
from typing import Any

Object = dict[str, Any]


def quota(**hard: str) -> Object:
    spelled = {name.replace("__", "/").replace("_", "."): text for name, text in hard.items()}
    return {"metadata": {"name": "small"}, "spec": {"hard": spelled}}


def pod(name: str, **requests: str) -> Object:
    container = {"name": "main", "image": "x", "resources": {"requests": requests}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


async def used(cluster: Any) -> dict[str, str]:
    found: dict[str, str] = (await cluster.the("resourcequotas", "small"))["status"]["used"]
    return found


async def test_a_pod_of_ones_own_is_bound_as_well(simulation: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("resourcequotas", quota(pods="1", requests_cpu="500m"))
        await cluster.create("pods", pod("first", cpu="200m"))
        status, answer = await cluster.send("POST", cluster.path("pods"), pod("more", cpu="200m"))
        assert (status, answer["reason"]) == (403, "Forbidden")
        assert answer["message"] == (
            'pods "more" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1,'
            " limited: pods=1"
        )
        assert await used(cluster) == {"pods": "1", "requests.cpu": "200m"}
        await cluster.delete("pods", "first", gracePeriodSeconds=0)
        assert await used(cluster) == {"pods": "0", "requests.cpu": "0"}
        await cluster.create("pods", pod("more", cpu="200m"))


async def test_a_burst_cannot_slip_past(simulation: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("resourcequotas", quota(count__configmaps="6"))
        path = cluster.path("configmaps")
        answers = await asyncio.gather(
            *(cluster.send("POST", path, {"metadata": {"name": f"c{n}"}}) for n in range(20))
        )
        assert sorted(status for status, _ in answers) == [201] * 5 + [403] * 15
        assert await used(cluster) == {"count/configmaps": "6"}  # kube-root-ca.crt is one


async def test_what_was_refused_for_another_reason_is_given_back(simulation: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("resourcequotas", quota(secrets="2"))
        await cluster.create("secrets", {"metadata": {"name": "same"}})
        status, _ = await cluster.send(
            "POST", cluster.path("secrets"), {"metadata": {"name": "same"}}
        )
        assert status == 409
        assert await used(cluster) == {"secrets": "1"}
        path = cluster.path("secrets") + "?dryRun=All"
        assert (await cluster.send("POST", path, {"metadata": {"name": "x"}}))[0] == 201
        assert await used(cluster) == {"secrets": "1"}


async def test_a_deployment_stops_where_the_requests_end(
    simulation: Any, workload: Any, template: Any
) -> None:
    async with simulation() as cluster:
        await cluster.create("resourcequotas", quota(requests_cpu="500m"))
        asks = template("web")
        asks["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "200m"}}
        await cluster.create("deployments", workload("Deployment", "web", asks, replicas=3))
        found = await cluster.the("deployments", "web")
        assert found["status"]["readyReplicas"] == 2
        failure = next(c for c in found["status"]["conditions"] if c["type"] == "ReplicaFailure")
        assert "requested: requests.cpu=200m, used: requests.cpu=400m" in failure["message"]
        await cluster.patch("resourcequotas", "small", {"spec": {"hard": {"requests.cpu": "1"}}})
        await cluster.pass_time(600)
        assert (await cluster.the("deployments", "web"))["status"]["readyReplicas"] == 3


async def test_a_job_waits_for_room_and_then_ends(simulation: Any, template: Any) -> None:
    async with simulation() as cluster:
        await cluster.create("resourcequotas", quota(pods="1"))
        lasting = template("work", run_for="60s")
        lasting["spec"]["restartPolicy"] = "Never"
        job = {
            "metadata": {"name": "work"},
            "spec": {"parallelism": 2, "completions": 2, "template": lasting},
        }
        await cluster.create("jobs", job)
        assert await used(cluster) == {"pods": "1"}
        assert "FailedCreate" in await cluster.reasons("Job")
        await cluster.pass_time(1200)
        assert (await cluster.the("jobs", "work"))["status"]["succeeded"] == 2
