"""What real clients found: each a difference from Kubernetes that somebody met."""

from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json

SETS = "/apis/apps/v1/namespaces/default/statefulsets"
MAPS = "/api/v1/namespaces/default/configmaps"


async def ask(
    cluster: Cluster, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, bytes]:
    async with http.Client() as client:
        response = await client.request(
            method,
            cluster.url + path,
            headers=[(name.replace("_", "-"), value) for name, value in headers.items()],
            body=None if body is None else kit_json.encode(body),
        )
        return response.status, await response.read()


def stateful_set(mounted: str) -> dict[str, Any]:
    labels = {"app": "db"}
    container = {
        "name": "db",
        "image": "db:1",
        "volumeMounts": [{"name": mounted, "mountPath": "/data"}],
    }
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return {
        "metadata": {"name": "db"},
        "spec": {
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [claim],
        },
    }


async def test_stateful_set_mounts_its_claims() -> None:
    async with Cluster() as cluster:
        assert (await ask(cluster, "POST", SETS, stateful_set("data")))[0] == 201


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_namespace_of_a_cluster_scoped_object_is_dropped(method: str) -> None:
    async with Cluster() as cluster:
        body = {"metadata": {"name": "spare", "namespace": "default"}}
        path = "/api/v1/namespaces"
        if method == "PUT":
            await ask(cluster, "POST", path, {"metadata": {"name": "spare"}})
            path += "/spare"
        status, answer = await ask(cluster, method, path, body)
        assert status in (200, 201)
        assert "namespace" not in kit_json.decode(answer)["metadata"]


async def test_get_of_one_object_is_never_a_watch() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}})
        status, answer = await ask(cluster, "GET", f"{MAPS}/m?watch=true")
        assert (status, kit_json.decode(answer)["kind"]) == (200, "ConfigMap")


async def test_answers_end_their_line_and_are_indented_for_people() -> None:
    async with Cluster() as cluster:
        _, made = await ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}})
        assert made.endswith(b"}\n")
        assert (await ask(cluster, "GET", f"{MAPS}/absent"))[1].endswith(b"}\n")
        _, read = await ask(cluster, "GET", f"{MAPS}/m", User_Agent="curl/8.5.0")
        assert read.startswith(b'{\n  "kind"')
        _, plain = await ask(cluster, "GET", f"{MAPS}/m?pretty=false", User_Agent="curl/8.5.0")
        assert b"\n" not in plain.rstrip(b"\n")
