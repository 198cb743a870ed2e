"""Definitions over HTTP: served at once, changed while served, gone with their objects."""

import asyncio
import copy
from typing import Any

from webhook_server import webhook_server

from quarterdeck.app.cluster import Cluster
from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json

GROUP = "/apis/stable.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAME = "gadgets.stable.example.com"
GADGETS = f"{GROUP}/v1/namespaces/default/gadgets"


def gadgets(**schema: Any) -> dict[str, Any]:
    """A definition whose spec has the given properties."""
    spec = {"type": "object", "properties": schema}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version],
        },
    }


def gadget(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": name, **metadata},
        "spec": {},
    }


class Caller:
    """Plain requests to a cluster."""

    def __init__(self, cluster: Cluster, client: http.Client) -> None:
        self._url = cluster.url
        self._client = client

    async def __call__(
        self, method: str, path: str, body: Any = None, *, media: str = "application/json"
    ) -> tuple[int, Any]:
        response = await self._client.request(
            method,
            self._url + path,
            headers=[("content-type", media)],
            body=None if body is None else kit_json.encode(body),
        )
        text = await response.read()
        is_json = (response.headers.get("content-type") or "").startswith("application/json")
        return response.status, kit_json.decode(text) if is_json else text


async def until_gone(call: Caller, path: str) -> None:
    async with asyncio.timeout(240):
        while (await call("GET", path))[0] != 404:
            pass


async def established(call: Caller, definition: dict[str, Any]) -> dict[str, Any]:
    """Create a definition and read it again, as clients do who mean to change it."""
    assert (await call("POST", DEFINITIONS, definition))[0] == 201
    _, found = await call("GET", f"{DEFINITIONS}/{definition['metadata']['name']}")
    return dict(found)


async def test_a_definition_is_served_by_the_time_it_is_answered() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        status, made = await call("POST", DEFINITIONS, gadgets())
        assert (status, made["status"]["conditions"]) == (201, None)
        _, made = await call("GET", f"{DEFINITIONS}/gadgets.stable.example.com")
        assert {each["type"]: each["status"] for each in made["status"]["conditions"]} == {
            "NamesAccepted": "True",
            "Established": "True",
        }
        assert (await call("POST", GADGETS, gadget("a")))[0] == 201
        status, listed = await call("GET", GADGETS)
        assert (status, [each["metadata"]["name"] for each in listed["items"]]) == (200, ["a"])


async def test_a_definition_takes_its_objects_along() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        await call("POST", DEFINITIONS, gadgets())
        for index in range(5):
            await call("POST", GADGETS, gadget(f"g{index}"))
        await call("POST", GADGETS, gadget("held", finalizers=["example.com/hold"]))
        place = f"{DEFINITIONS}/gadgets.stable.example.com"
        status, going = await call("DELETE", place)
        assert status == 200
        assert going["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
        conditions = {each["type"]: each["reason"] for each in going["status"]["conditions"]}
        assert conditions["Terminating"] == "InstanceDeletionPending"
        await until_gone(call, f"{GADGETS}/g4")
        status, refused = await call("POST", GADGETS, gadget("late"))
        assert (status, refused["reason"]) == (405, "MethodNotAllowed")
        _, held = await call("GET", f"{GADGETS}/held")
        assert held["metadata"]["deletionTimestamp"]
        assert (await call("GET", place))[0] == 200
        patch = {"metadata": {"finalizers": None}}
        await call("PATCH", f"{GADGETS}/held", patch, media="application/merge-patch+json")
        await until_gone(call, place)
        assert (await call("POST", DEFINITIONS, gadgets()))[0] == 201
        _, listed = await call("GET", GADGETS)
        assert listed["items"] == []


async def test_objects_applied_to_a_definition_that_ends_go_with_it() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        await established(call, gadgets())
        await call("POST", GADGETS, gadget("held", finalizers=["example.com/wait"]))
        assert (await call("DELETE", f"{DEFINITIONS}/{NAME}"))[0] == 200
        place = f"{GADGETS}/a?fieldManager=m"  # its name sorts before what was asked to go
        applied = await call("PATCH", place, gadget("a"), media="application/apply-patch+yaml")
        assert applied[0] == 201
        _, served = await call("GET", f"{GROUP}/v1")
        [kind] = served["resources"]
        assert kind["verbs"] == ["delete", "deletecollection", "get", "list", "watch"]
        free = {"metadata": {"finalizers": None}}
        await call("PATCH", f"{GADGETS}/held", free, media="application/merge-patch+json")
        await until_gone(call, f"{DEFINITIONS}/{NAME}")


async def test_an_object_is_not_stored_after_its_definition_was_deleted() -> None:
    """The definition is deleted while an admission webhook is called."""
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)

        async def delete_definition(request: http.Request) -> http.Response:
            review = kit_json.decode(await request.read(1_000_000))
            assert (await call("DELETE", f"{DEFINITIONS}/{NAME}"))[0] == 200
            await until_gone(call, f"{DEFINITIONS}/{NAME}")
            review["response"] = {"uid": review["request"]["uid"], "allowed": True}
            answer = kit_json.encode(review)
            return http.Response(200, [("Content-Type", "application/json")], answer)

        async with webhook_server(delete_definition) as server:
            hook = {
                "name": "late.example.com",
                "clientConfig": {"url": server.url, "caBundle": server.ca_bundle},
                "rules": [
                    {
                        "apiGroups": ["stable.example.com"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["gadgets"],
                    }
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
            await call("POST", hooks, {"metadata": {"name": "late"}, "webhooks": [hook]})
            await established(call, gadgets())
            status, refused = await call("POST", GADGETS, gadget("late"))
        assert (status, refused["reason"]) == (404, "NotFound")
        await established(call, gadgets())
        _, listed = await call("GET", GADGETS)
        assert listed["items"] == []


async def test_a_held_definition_says_that_its_objects_are_gone() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        definition = gadgets()
        definition["metadata"]["finalizers"] = ["example.com/wait"]
        await established(call, definition)
        await call("POST", GADGETS, gadget("a"))
        assert (await call("DELETE", f"{DEFINITIONS}/{NAME}"))[0] == 200
        async with asyncio.timeout(240):
            while (found := (await call("GET", f"{DEFINITIONS}/{NAME}"))[1])["metadata"][
                "finalizers"
            ] != ["example.com/wait"]:
                pass
        last = found["status"]["conditions"][-1]
        assert (last["type"], last["status"]) == ("Terminating", "False")
        assert (last["reason"], last["message"]) == (
            "InstanceDeletionCompleted",
            "removed all instances",
        )


async def test_a_later_default_shows_up_on_older_objects() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        definition = await established(call, gadgets())
        await call("POST", GADGETS, gadget("a"))
        changed = copy.deepcopy(definition)
        schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"] = {"size": {"type": "integer", "default": 3}}
        status, _ = await call("PUT", f"{DEFINITIONS}/gadgets.stable.example.com", changed)
        assert status == 200
        _, found = await call("GET", f"{GADGETS}/a")
        assert found["spec"] == {"size": 3}
        _, listed = await call("GET", GADGETS)
        assert listed["items"][0]["spec"] == {"size": 3}


async def test_a_tightened_schema_tolerates_what_does_not_change() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        number = {"type": "integer"}
        definition = await established(call, gadgets(a=number, b=number))
        body = gadget("a")
        body["spec"] = {"a": 1, "b": 1}
        await call("POST", GADGETS, body)
        changed = copy.deepcopy(definition)
        schema = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        limited = {"type": "integer", "minimum": 5}
        schema["properties"]["spec"]["properties"] = {"a": limited, "b": limited}
        await call("PUT", f"{DEFINITIONS}/gadgets.stable.example.com", changed)
        merge = "application/merge-patch+json"
        status, _ = await call("PATCH", f"{GADGETS}/a", {"spec": {"b": 7}}, media=merge)
        assert status == 200
        status, refused = await call("PATCH", f"{GADGETS}/a", {"spec": {"b": 2}}, media=merge)
        assert status == 422
        assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.b"]


async def test_two_versions_serve_the_same_objects() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        definition = gadgets()
        second = copy.deepcopy(definition["spec"]["versions"][0]) | {"name": "v2", "storage": False}
        definition["spec"]["versions"].append(second)
        await call("POST", DEFINITIONS, definition)
        await call("POST", GADGETS, gadget("a"))
        status, found = await call("GET", f"{GROUP}/v2/namespaces/default/gadgets/a")
        assert (status, found["apiVersion"]) == (200, "stable.example.com/v2")
        body = gadget("b") | {"apiVersion": "stable.example.com/v2"}
        status, made = await call("POST", f"{GROUP}/v2/namespaces/default/gadgets", body)
        assert (status, made["apiVersion"]) == (201, "stable.example.com/v2")
        _, listed = await call("GET", GADGETS)
        assert [each["apiVersion"] for each in listed["items"]] == ["stable.example.com/v1"] * 2


async def test_names_that_become_free_go_to_whoever_waits() -> None:
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        await call("POST", DEFINITIONS, gadgets())
        second = gadgets()
        second["metadata"]["name"] = "others.stable.example.com"
        second["spec"]["names"] |= {"plural": "others", "singular": "other"}
        await call("POST", DEFINITIONS, second)
        _, waiting = await call("GET", f"{DEFINITIONS}/others.stable.example.com")
        conditions = {each["type"]: each["status"] for each in waiting["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "False", "Established": "False"}
        others = f"{GROUP}/v1/namespaces/default/others"
        assert (await call("GET", others))[0] == 404
        await call("DELETE", f"{DEFINITIONS}/gadgets.stable.example.com")
        await until_gone(call, f"{DEFINITIONS}/gadgets.stable.example.com")
        async with asyncio.timeout(240):
            while (await call("GET", others))[0] != 200:
                pass


async def test_a_float_without_fraction_is_stored_as_an_integer() -> None:
    number, body = {"type": "number"}, gadget("a") | {"spec": {"n": 1000.0, "f": 1.5}}
    async with Cluster() as cluster, http.Client() as client:
        call = Caller(cluster, client)
        await call("POST", DEFINITIONS, gadgets(n=number, f=number))
        assert (await call("POST", GADGETS, body))[0] == 201
        _, found = await call("GET", f"{GADGETS}/a")
        assert [type(found["spec"][name]) for name in ("n", "f")] == [int, float]
        merge = "application/merge-patch+json"
        _, found = await call("PATCH", f"{GADGETS}/a", {"spec": {"n": 7.0}}, media=merge)
        assert (found["spec"]["n"], type(found["spec"]["n"])) == (7, int)
        apply = f"{GADGETS}/b?fieldManager=m"
        media = "application/apply-patch+yaml"
        _, found = await call("PATCH", apply, body | {"metadata": {"name": "b"}}, media=media)
        assert [type(found["spec"][name]) for name in ("n", "f")] == [int, float]
