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


PODS = "/api/v1/namespaces/default/pods"


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]} | spec,
    }


async def test_replaced_pod_keeps_what_admission_computed() -> None:
    async with Cluster() as cluster:
        _, made = await ask(cluster, "POST", PODS, pod())
        sent = kit_json.decode(made)
        for name in ("tolerations", "priority", "preemptionPolicy"):
            del sent["spec"][name]
        sent["metadata"]["labels"] = {"changed": "yes"}
        del sent["metadata"]["resourceVersion"]
        status, answer = await ask(cluster, "PUT", f"{PODS}/p", sent)
        assert status == 200, answer
        spec = kit_json.decode(answer)["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
        assert len(spec["tolerations"]) == 2


async def test_ephemeral_containers_are_put_alone() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", PODS, pod())
        added = {"name": "debug", "image": "busybox"}
        body = {"metadata": {"name": "p"}, "spec": {"ephemeralContainers": [added]}}
        path = f"{PODS}/p/ephemeralcontainers"
        status, answer = await ask(cluster, "PUT", path, body)
        assert status == 200, answer
        spec = kit_json.decode(answer)["spec"]
        assert [each["name"] for each in spec["containers"]] == ["c"]
        assert [each["name"] for each in spec["ephemeralContainers"]] == ["debug"]
        body["spec"] = {"ephemeralContainers": []}
        status, answer = await ask(cluster, "PUT", path, body)
        assert (status, b"may not be removed" in answer) == (422, True)


@pytest.mark.parametrize(
    ("version", "query", "expected"),
    [
        pytest.param("1", "", 500, id="a version"),
        pytest.param("1", "?dryRun=All", 201, id="a version in a dry run"),
        pytest.param("0", "", 201, id="zero"),
        pytest.param("abc", "", 201, id="no version"),
    ],
)
async def test_a_resource_version_of_a_new_object_is_refused_unless_dry_run(
    version: str, query: str, expected: int
) -> None:
    async with Cluster() as cluster:
        body = {"metadata": {"name": "m", "resourceVersion": version}}
        assert (await ask(cluster, "POST", MAPS + query, body))[0] == expected


async def test_resource_version_of_an_invalid_object_is_not_looked_at() -> None:
    async with Cluster() as cluster:
        body = {"metadata": {"name": "Not Valid", "resourceVersion": "1"}}
        assert (await ask(cluster, "POST", MAPS, body))[0] == 422


async def test_node_lease_namespace_may_be_deleted() -> None:
    async with Cluster() as cluster:
        assert (await ask(cluster, "DELETE", "/api/v1/namespaces/kube-node-lease"))[0] == 200
        assert (await ask(cluster, "DELETE", "/api/v1/namespaces/kube-public"))[0] == 403


DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
APPLY = "application/apply-patch+yaml"


def deployment() -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    return {
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


@pytest.mark.parametrize("metadata", [{"name": "web"}, {}], ids=["named", "without a name"])
async def test_scale_is_applied(metadata: dict[str, str]) -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", DEPLOYMENTS, deployment())
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": metadata,
            "spec": {"replicas": 3},
        }
        path = f"{DEPLOYMENTS}/web/scale?fieldManager=m"
        status, answer = await ask(cluster, "PATCH", path, scale, Content_Type=APPLY)
        assert status == 409, answer
        path += "&force=true"
        status, answer = await ask(cluster, "PATCH", path, scale, Content_Type=APPLY)
        assert status == 200, answer
        assert kit_json.decode(answer)["spec"] == {"replicas": 3}
        _, answer = await ask(cluster, "GET", f"{DEPLOYMENTS}/web")
        found = kit_json.decode(answer)
        assert found["spec"]["replicas"] == 3
        owned = [each for each in found["metadata"]["managedFields"] if each["manager"] == "m"]
        assert [(each["operation"], each["subresource"], each["fieldsV1"]) for each in owned] == [
            ("Apply", "scale", {"f:spec": {"f:replicas": {}}})
        ]


@pytest.mark.parametrize("path", [f"{PODS}/p/binding", PODS.replace("pods", "bindings")])
async def test_pod_is_bound_to_a_node(path: str) -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", PODS, pod(schedulerName="mine"))
        body = {
            "metadata": {"name": "p", "annotations": {"by": "mine"}},
            "target": {"kind": "Node", "name": "n1"},
        }
        status, answer = await ask(cluster, "POST", path, body)
        assert (status, kit_json.decode(answer)["status"]) == (201, "Success"), answer
        found = kit_json.decode((await ask(cluster, "GET", f"{PODS}/p"))[1])
        assert found["spec"]["nodeName"] == "n1"
        assert found["metadata"]["annotations"] == {"by": "mine"}
        assert ("PodScheduled", "True") in [
            (each["type"], each["status"]) for each in found["status"]["conditions"]
        ]
        status, answer = await ask(cluster, "POST", path, body)
        assert (status, b"already assigned to node" in answer) == (409, True)


async def test_patch_to_a_wrong_type_is_unprocessable() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, {"metadata": {"name": "m"}})
        for media in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            status, answer = await ask(
                cluster, "PATCH", f"{MAPS}/m", {"data": {"a": 1}}, Content_Type=media
            )
            message = kit_json.decode(answer)["message"]
            assert (status, message.startswith(' "" is invalid: patch: Invalid value: ')) == (
                422,
                True,
            ), message
        assert '"map[data:map[a:1]]"' in message


async def test_applied_object_of_another_kind_is_named() -> None:
    async with Cluster() as cluster:
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m"}}
        path = f"{MAPS}/m?fieldManager=m"
        status, answer = await ask(cluster, "PATCH", path, body, Content_Type=APPLY)
        assert (status, kit_json.decode(answer)["message"]) == (
            400,
            "invalid object type: /v1, Kind=Secret",
        )


async def test_too_large_config_map_names_the_whole_object() -> None:
    async with Cluster() as cluster:
        body = {"metadata": {"name": "m"}, "data": {"a": "x" * (1024 * 1024 + 1)}}
        status, answer = await ask(cluster, "POST", MAPS, body)
        causes = kit_json.decode(answer)["details"]["causes"]
        assert (status, [each["field"] for each in causes]) == (422, ["[]"])


async def test_deleted_namespace_has_no_grace_period() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
        _, answer = await ask(cluster, "DELETE", "/api/v1/namespaces/gone")
        metadata = kit_json.decode(answer)["metadata"]
        assert metadata["deletionTimestamp"]
        assert "deletionGracePeriodSeconds" not in metadata


async def test_paths_of_the_wrong_scope_are_not_found() -> None:
    async with Cluster() as cluster:
        for path in ("/api/v1/namespaces/default/nodes", "/api/v1/pods/p"):
            status, answer = await ask(cluster, "GET", path)
            assert (status, kit_json.decode(answer)["reason"]) == (404, "NotFound")


async def test_system_priority_classes_exist() -> None:
    async with Cluster() as cluster:
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        _, answer = await ask(cluster, "GET", path)
        found = {
            each["metadata"]["name"]: each["value"] for each in kit_json.decode(answer)["items"]
        }
        assert found == {
            "system-node-critical": 2_000_001_000,
            "system-cluster-critical": 2_000_000_000,
        }
