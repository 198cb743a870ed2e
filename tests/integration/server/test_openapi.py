import gzip
import json
from typing import Any

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.server.openapi import outline

WIDGET: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.stable.example.com"},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "description": "How big."}
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


async def fetch(client: http.Client, url: str, *headers: tuple[str, str]) -> tuple[int, Any, bytes]:
    async with await client.request("GET", url, headers=headers) as response:
        return response.status, response.headers, await response.read()


async def test_every_kind_has_a_patch_that_validates_fields() -> None:
    async with Cluster() as cluster, http.Client() as client:
        _, _, body = await fetch(client, f"{cluster.url}/openapi/v3")
        index = json.loads(body)["paths"]
        assert {"api/v1", "apis/apps/v1", "apis/batch/v1"} <= index.keys()
        _, _, body = await fetch(client, cluster.url + index["apis/apps/v1"]["serverRelativeURL"])
        document = json.loads(body)
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    patch = document["paths"][path]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
    }
    assert "fieldValidation" in {each["name"] for each in patch["parameters"]}
    schemas = document["components"]["schemas"]
    containers = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


async def test_every_reference_leads_somewhere() -> None:
    async with Cluster() as cluster, http.Client() as client:
        _, _, body = await fetch(client, f"{cluster.url}/openapi/v3")
        for entry in json.loads(body)["paths"].values():
            _, _, body = await fetch(client, cluster.url + entry["serverRelativeURL"])
            document = json.loads(body)
            known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
            assert references(document) <= known
        _, _, body = await fetch(client, f"{cluster.url}/openapi/v2")
        swagger = json.loads(body)
        assert references(swagger) <= {f"#/definitions/{each}" for each in swagger["definitions"]}


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*(references(each) for each in value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*(references(each) for each in value.values()))
    target = value.get("$ref")
    return found | ({target} if isinstance(target, str) else set())


async def test_a_hashed_document_is_cached_for_ever_and_compressed() -> None:
    async with Cluster() as cluster, http.Client() as client:
        _, _, body = await fetch(client, f"{cluster.url}/openapi/v3")
        url = cluster.url + json.loads(body)["paths"]["api/v1"]["serverRelativeURL"]
        status, headers, body = await fetch(client, url, ("Accept-Encoding", "gzip"))
        assert status == 200
        assert headers.get("cache-control") == "public, immutable"
        assert headers.get("content-encoding") == "gzip"
        assert json.loads(gzip.decompress(body))["openapi"] == "3.0.0"
        status, _, body = await fetch(client, url, ("If-None-Match", headers.get("etag")))
        assert (status, body) == (304, b"")
        status, headers, _ = await fetch(client, f"{url}0")
        assert status == 301
        assert (headers.get("location") or "").startswith("/openapi/v3/api/v1?hash=")


async def test_a_new_definition_appears_and_changes_only_its_own_hash() -> None:
    async with Cluster() as cluster, http.Client() as client:
        _, _, body = await fetch(client, f"{cluster.url}/openapi/v3")
        before = json.loads(body)["paths"]
        response = await client.request(
            "POST",
            f"{cluster.url}/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            headers=[("Content-Type", "application/json")],
            body=json.dumps(WIDGET).encode(),
        )
        async with response:
            assert response.status == 201, await response.read()
        _, _, body = await fetch(client, f"{cluster.url}/openapi/v3")
        after = json.loads(body)["paths"]
        assert {name: after[name] for name in before} == before
        name = "apis/stable.example.com/v1"
        _, _, body = await fetch(client, cluster.url + after[name]["serverRelativeURL"])
        schema = json.loads(body)["components"]["schemas"]["com.example.stable.v1.Widget"]
        assert schema["properties"]["spec"]["properties"]["size"]["description"] == "How big."
        assert schema["x-kubernetes-group-version-kind"][0]["kind"] == "Widget"
        status, _, _ = await fetch(client, f"{cluster.url}/openapi/v3/apis/nope/v1")
        assert status == 404


async def test_protobuf_v2_is_an_outline(serving: Any) -> None:
    async with serving() as api:
        media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
        answer = await api("GET", "/openapi/v2", accept=media)
        assert answer.headers.get("content-type") == outline.MEDIA_TYPE
        assert answer.body.startswith(b"\n\x032.0\x12")
        assert b"v1.32.4" in answer.body
        both = await api("GET", "/openapi/v2", accept=f"{media}, application/json")
        assert both.body["swagger"] == "2.0"
