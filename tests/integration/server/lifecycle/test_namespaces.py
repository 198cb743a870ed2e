"""Namespaces: what they begin with, and how they end."""

import json
from typing import Any

import pytest
from tests.integration.server.conftest import definition
from webhook_server import webhook_server

from quarterdeck.kit import http

NAMESPACE = {"metadata": {"name": "team"}}


async def test_namespace_begins_with_account_and_certificate(world: Any) -> None:
    async with world(certificate_authority="-----PEM-----") as cluster:
        await cluster.create("namespaces", NAMESPACE)
        assert await cluster.names("serviceaccounts", "team") == ["default"]
        authority = await cluster.the("configmaps", "kube-root-ca.crt", "team")
        assert authority["data"] == {"ca.crt": "-----PEM-----"}


async def test_account_and_certificate_come_back(world: Any) -> None:
    async with world() as cluster:
        await cluster.delete("serviceaccounts", "default")
        await cluster.patch("configmaps", "kube-root-ca.crt", {"data": {"ca.crt": "forged"}})
        assert await cluster.get("serviceaccounts", "default") is not None
        authority = await cluster.the("configmaps", "kube-root-ca.crt")
        assert authority["data"] == {"ca.crt": ""}


async def test_namespace_takes_its_contents_along(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("namespaces", NAMESPACE)
        for number in range(600):
            await cluster.create("secrets", {"metadata": {"name": f"s{number}"}}, "team")
        await cluster.delete("namespaces", "team")
        assert await cluster.get("namespaces", "team") is None
        assert await cluster.names("secrets", "team") == []


async def test_namespace_takes_objects_along_that_are_not_served(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("namespaces", NAMESPACE)
        kinds = "customresourcedefinitions"
        made = await cluster.create(kinds, definition())
        kind = {"apiVersion": "stable.example.com/v1", "kind": "Widget"}
        widget = {"metadata": {"name": "w", "finalizers": ["example.com/hold"]}}
        await cluster.create("widgets", kind | widget, "team")
        version = made["spec"]["versions"][0]
        unserved = {"spec": {"versions": [{**version, "served": False}]}}
        await cluster.patch(kinds, made["metadata"]["name"], unserved)
        await cluster.delete("namespaces", "team")
        assert await cluster.get("namespaces", "team") is None


@pytest.mark.parametrize("order", ["definition first", "namespace first"])
async def test_namespace_takes_objects_along_that_were_deleted_while_they_were_served(
    world: Any, order: str
) -> None:
    async with world() as cluster:
        await cluster.create("namespaces", NAMESPACE)
        kinds = "customresourcedefinitions"
        made = await cluster.create(kinds, definition())
        kind = {"apiVersion": "stable.example.com/v1", "kind": "Widget"}
        widget = {"metadata": {"name": "w", "finalizers": ["example.com/hold"]}}
        await cluster.create("widgets", kind | widget, "team")
        await cluster.delete("widgets", "w", "team")
        version = made["spec"]["versions"][0]
        unserved = {"spec": {"versions": [{**version, "served": False}]}}
        if order == "namespace first":
            await cluster.delete("namespaces", "team")
            assert await cluster.get("namespaces", "team") is not None
        await cluster.patch(kinds, made["metadata"]["name"], unserved)
        if order == "definition first":
            await cluster.delete("namespaces", "team")
        assert await cluster.get("namespaces", "team") is None


async def test_namespace_leaves_deleted_objects_that_another_version_serves(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("namespaces", NAMESPACE)
        kinds = "customresourcedefinitions"
        made = await cluster.create(kinds, definition())
        kind = {"apiVersion": "stable.example.com/v1", "kind": "Widget"}
        widget = {"metadata": {"name": "w", "finalizers": ["example.com/hold"]}}
        await cluster.create("widgets", kind | widget, "team")
        version = made["spec"]["versions"][0]
        versions = [{**version, "served": False}, {**version, "name": "v2", "storage": False}]
        await cluster.patch(kinds, made["metadata"]["name"], {"spec": {"versions": versions}})
        await cluster.delete("namespaces", "team")
        found = await cluster.the("namespaces", "team")
        reasons = {each["type"]: each["reason"] for each in found["status"]["conditions"]}
        assert reasons["NamespaceFinalizersRemaining"] == "SomeFinalizersRemain"
        path = "/apis/stable.example.com/v2/namespaces/team/widgets/w"
        status, _ = await cluster.send(
            "PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json"
        )
        assert status == 200
        assert await cluster.get("namespaces", "team") is None


async def test_namespace_says_what_keeps_it(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("namespaces", NAMESPACE)
        held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
        await cluster.create("configmaps", held, "team")
        await cluster.delete("namespaces", "team")
        namespace = await cluster.the("namespaces", "team")
        assert namespace["status"]["phase"] == "Terminating"
        told = {
            each["type"]: (each["status"], each["reason"], each["message"])
            for each in namespace["status"]["conditions"]
        }
        assert told == {
            "NamespaceDeletionDiscoveryFailure": (
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            "NamespaceDeletionGroupVersionParsingFailure": (
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            "NamespaceDeletionContentFailure": (
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 1 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: example.com/hold in 1"
                " resource instances",
            ),
        }
        await cluster.patch("configmaps", "held", {"metadata": {"finalizers": None}}, "team")
        assert await cluster.get("namespaces", "team") is None


async def test_workloads_of_a_namespace_do_not_fight_its_end(
    simulation: Any, workload: Any
) -> None:
    async with simulation() as cluster:
        await cluster.create("namespaces", NAMESPACE)
        await cluster.create("deployments", workload("Deployment", "web", replicas=5), "team")
        assert len(await cluster.names("pods", "team")) == 5
        await cluster.delete("namespaces", "team")
        assert await cluster.get("namespaces", "team") is None
        assert cluster.lifecycle.engine.statistics()["failing"] == 0


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
async def test_object_is_refused_whose_namespace_ends_while_a_webhook_thinks(
    world: Any, kind: str
) -> None:
    async with world() as cluster:

        async def end_namespace(request: http.Request) -> http.Response:
            review = json.loads(await request.read(1024 * 1024))
            await cluster.delete("namespaces", "team")
            assert await cluster.get("namespaces", "team") is None
            response = {"uid": review["request"]["uid"], "allowed": True}
            answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
            return http.Response(200, [], json.dumps({**answer, "response": response}).encode())

        async with webhook_server(end_namespace) as hook:
            await cluster.create("namespaces", NAMESPACE)
            rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
            webhook = {
                "name": "slow.example.com",
                "clientConfig": {"url": f"{hook.url}/", "caBundle": hook.ca_bundle},
                "rules": [{**rule, "resources": ["secrets"]}],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations"
            body = {"metadata": {"name": "slow"}, "webhooks": [webhook]}
            assert (await cluster.send("POST", path, body))[0] == 201
            secrets = cluster.path("secrets", "", "team")
            status, answer = await cluster.send("POST", secrets, {"metadata": {"name": "late"}})
            assert (status, answer["message"]) == (404, 'namespaces "team" not found')
        _, left = await cluster.send("GET", "/api/v1/secrets")
        assert left["items"] == []
