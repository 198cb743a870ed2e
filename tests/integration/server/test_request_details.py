"""Details of requests on which Kubernetes decides otherwise than one may expect."""

from typing import Any

import pytest

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json

MAPS = "/api/v1/namespaces/default/configmaps"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


async def ask(
    cluster: Cluster, method: str, path: str, body: Any = None, media: str = "application/json"
) -> tuple[int, Any, list[str]]:
    async with http.Client() as client:
        response = await client.request(
            method,
            cluster.url + path,
            headers=[("Content-Type", media)],
            body=None if body is None else kit_json.encode(body),
        )
        content = kit_json.decode(await response.read())
        warnings = [value for name, value in response.headers.items() if name.lower() == "warning"]
        return response.status, content, warnings


def config_map(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "m"} | metadata, "data": {"a": "1"}}


async def test_body_of_a_deletion_hides_the_query() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, config_map())
        body = {"propagationPolicy": "Background"}
        await ask(cluster, "DELETE", f"{MAPS}/m?dryRun=All", body)
        assert (await ask(cluster, "GET", f"{MAPS}/m"))[0] == 404


async def test_deleted_job_orphans_its_pods_with_a_warning() -> None:
    async with Cluster() as cluster:
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        job = {"metadata": {"name": "j"}, "spec": {"template": template, "suspend": True}}
        await ask(cluster, "POST", JOBS, job)
        status, answer, warnings = await ask(cluster, "DELETE", f"{JOBS}/j?dryRun=All")
        assert (status, "orphan" in answer["metadata"]["finalizers"]) == (200, True)
        assert "child pods are preserved by default" in warnings[0]
        _, _, warnings = await ask(cluster, "DELETE", f"{JOBS}/j?propagationPolicy=Background")
        assert warnings == []


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        pytest.param({"op": "replace", "path": "/data/b", "value": "2"}, 200, id="replace adds"),
        pytest.param({"op": "copy", "from": "/data/x", "path": "/data/b"}, 200, id="copy of none"),
        pytest.param({"op": "test", "path": "/data/x", "value": None}, 200, id="test of none"),
        pytest.param({"op": "test", "path": "/x/y", "value": None}, 422, id="test without parent"),
        pytest.param({"op": "add", "path": "", "value": {}}, 422, id="add of everything"),
    ],
)
async def test_json_patches_of_absent_paths_answer_as_in_kubernetes(
    operation: dict[str, Any], expected: int
) -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, config_map())
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/m", [operation], JSON_PATCH)
        assert status == expected, answer


async def test_null_labels_are_empty() -> None:
    async with Cluster() as cluster:
        status, made, _ = await ask(cluster, "POST", MAPS, config_map(labels={"a": None}))
        assert (status, made["metadata"]["labels"]) == (201, {"a": ""})


@pytest.mark.parametrize(
    ("member", "value"),
    [("deletionTimestamp", "2020-01-01T00:00:00Z"), ("deletionGracePeriodSeconds", 5)],
)
async def test_clients_do_not_begin_deletions_by_patch(member: str, value: Any) -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, config_map())
        body = {"metadata": {member: value}}
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/m", body, MERGE)
        assert (status, answer["details"]["causes"][0]["field"]) == (422, f"metadata.{member}")


async def test_patched_and_applied_objects_keep_a_name() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, config_map())
        body = {"metadata": {"name": None}}
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/m", body, MERGE)
        unnamed = (
            "the name of the object (m based on URL) was undeterminable: name must be provided"
        )
        assert (status, answer["message"]) == (400, unnamed)
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/m?fieldManager=m", config, APPLY)
        assert (status, answer["metadata"]["name"]) == (200, "m")
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/n?fieldManager=m", config, APPLY)
        assert (status, answer["message"]) == (400, unnamed.replace("(m ", "(n "))


async def test_only_apply_is_forced() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, config_map())
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/m?force=true", {}, MERGE)
        assert (status, answer["details"]["causes"][0]["field"]) == (422, "force")


async def test_strategic_patch_does_not_change_the_kind() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", MAPS, config_map())
        body = {"kind": "Secret", "apiVersion": "v2", "data": {"b": "2"}}
        status, answer, _ = await ask(cluster, "PATCH", f"{MAPS}/m", body, STRATEGIC)
        assert (status, answer["kind"], answer["data"]) == (200, "ConfigMap", {"a": "1", "b": "2"})


async def test_owner_references_are_kept_once() -> None:
    async with Cluster() as cluster:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}
        _, made, warnings = await ask(
            cluster, "POST", MAPS, config_map(ownerReferences=[owner, owner])
        )
        assert made["metadata"]["ownerReferences"] == [owner]
        assert "duplicate UID(s) observed: u-1" in warnings[0]


async def test_status_writers_change_labels_of_quotas() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {}})
        body = {"metadata": {"labels": {"a": "b"}}}
        _, answer, _ = await ask(cluster, "PATCH", f"{QUOTAS}/q/status", body, MERGE)
        assert answer["metadata"]["labels"] == {"a": "b"}


async def test_list_of_any_version_comes_whole() -> None:
    async with Cluster() as cluster:
        for name in ("a", "b"):
            await ask(cluster, "POST", MAPS, {"metadata": {"name": name}})
        _, answer, _ = await ask(cluster, "GET", f"{MAPS}?limit=1&resourceVersion=0")
        assert len(answer["items"]) >= 2
        assert "continue" not in answer["metadata"]


async def test_merge_patch_drops_nulls_in_lists() -> None:
    async with Cluster() as cluster:
        await ask(cluster, "POST", ACCOUNTS, {"metadata": {"name": "m"}})
        body = {"imagePullSecrets": [{"name": None}, {"name": "s"}]}
        status, answer, _ = await ask(cluster, "PATCH", f"{ACCOUNTS}/m", body, MERGE)
        assert (status, answer["imagePullSecrets"]) == (200, [{}, {"name": "s"}])


async def test_nodes_are_not_selected_by_namespace() -> None:
    async with Cluster() as cluster:
        status, answer, _ = await ask(
            cluster, "GET", "/api/v1/nodes?fieldSelector=metadata.namespace%3Dx"
        )
        assert (status, answer["message"]) == (
            400,
            "field label not supported: metadata.namespace",
        )


async def test_unknown_part_of_table_rows_is_refused() -> None:
    async with Cluster() as cluster, http.Client() as client:
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        for part, expected in (("x", 400), ("Object", 200)):
            response = await client.request(
                "GET", f"{cluster.url}{MAPS}?includeObject={part}", headers=[("Accept", accept)]
            )
            await response.read()
            assert response.status == expected
