"""Conversion webhooks of custom resources: what the recorded answers do not show."""

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from webhook_server import WebhookServer, webhook_server

from quarterdeck.kit import http
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITION = f"{DEFINITIONS}/doors.conv.example.com"
V1 = "/apis/conv.example.com/v1/namespaces/default/doors"
V2 = "/apis/conv.example.com/v2/namespaces/default/doors"
MERGE = "application/merge-patch+json"


class Webhook:
    """Converts `host` and `port` to `address` and back; counts what it is asked."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.spoil: Callable[[Object], Object | None] = lambda value: value

    async def handle(self, request: http.Request) -> http.Response:
        review = json.loads(await request.read(16 * 1024 * 1024))
        asked = review["request"]
        self.sizes.append(len(asked["objects"]))
        objects = [self._convert(each, asked["desiredAPIVersion"]) for each in asked["objects"]]
        response = {
            "uid": asked["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [self.spoil(each) for each in objects],
        }
        answer = {key: review[key] for key in ("apiVersion", "kind")} | {"response": response}
        return http.Response(
            200, [("Content-Type", "application/json")], json.dumps(answer).encode()
        )

    def _convert(self, value: Object, target: str) -> Object:
        spec = dict(value.get("spec") or {})
        if target.endswith("v2") and "host" in spec:
            spec["address"] = f"{spec.pop('host')}:{spec.pop('port')}"
        elif target.endswith("v1") and "address" in spec:
            spec["host"], spec["port"] = spec.pop("address").split(":")
        return {**value, "apiVersion": target, "spec": spec}


def definition(hooks: WebhookServer, storage: str = "v1") -> Object:
    def version(name: str, *fields: str) -> Object:
        members = {field: {"type": "string"} for field in fields}
        spec = {"type": "object", "properties": members}
        return {
            "name": name,
            "served": True,
            "storage": name == storage,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            "selectableFields": [{"jsonPath": f".spec.{fields[0]}"}],
        }

    client = {"url": f"{hooks.url}/", "caBundle": hooks.ca_bundle}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "doors.conv.example.com"},
        "spec": {
            "group": "conv.example.com",
            "scope": "Namespaced",
            "names": {"plural": "doors", "singular": "door", "kind": "Door"},
            "conversion": {"strategy": "Webhook", "webhook": webhook},
            "versions": [version("v1", "host", "port"), version("v2", "address")],
        },
    }


def door(name: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "conv.example.com/v1",
        "kind": "Door",
        "metadata": {"name": name, **metadata},
        "spec": {"host": name, "port": "80"},
    }


@contextlib.asynccontextmanager
async def doors(serving: Any, **options: Any) -> AsyncIterator[tuple[Any, Webhook]]:
    webhook = Webhook()
    async with webhook_server(webhook.handle) as hooks, serving(**options) as api:
        assert (await api("POST", DEFINITIONS, definition(hooks))).status == 201
        yield api, webhook


def stored_version(api: Any, name: str) -> str:
    entry = api.cluster.api.core.store.get(StoreKey("doors.conv.example.com", "default", name))
    return str(json.loads(entry.value)["apiVersion"])


async def test_list_converts_all_objects_of_a_page_at_once(serving: Any) -> None:
    async with doors(serving) as (api, webhook):
        for number in range(20):
            assert (await api("POST", V1, door(f"d{number:02}"))).status == 201
        webhook.sizes.clear()
        listed = await api("GET", V2)
        assert [each["spec"]["address"] for each in listed.body["items"]] == [
            f"d{number:02}:80" for number in range(20)
        ]
        assert webhook.sizes == [20]


async def test_stored_version_is_served_without_asking(serving: Any) -> None:
    async with doors(serving) as (api, webhook):
        await api("POST", V1, door("front"))
        webhook.sizes.clear()
        assert (await api("GET", f"{V1}/front")).body["spec"] == {"host": "front", "port": "80"}
        assert webhook.sizes == []


async def test_watch_shows_live_events_in_its_version(serving: Any) -> None:
    async with doors(serving) as (api, _webhook):
        await api("POST", V1, door("front"))
        async with api.watch(f"{V2}?watch=true&resourceVersion=0") as stream:
            kind, value = await stream.next()
            assert (kind, value["spec"]) == ("ADDED", {"address": "front:80"})
            patch = {"spec": {"port": "81"}}
            assert (await api("PATCH", f"{V1}/front", patch, media=MERGE)).status == 200
            kind, value = await stream.next()
            assert (kind, value["spec"]) == ("MODIFIED", {"address": "front:81"})
            await api("DELETE", f"{V1}/front")
            kind, value = await stream.next()
            assert (kind, value["spec"]) == ("DELETED", {"address": "front:81"})


async def test_watch_ends_with_an_error_when_an_object_cannot_be_converted(serving: Any) -> None:
    async with doors(serving) as (api, webhook):
        async with api.watch(f"{V2}?watch=true") as stream:
            webhook.spoil = lambda value: None
            await api("POST", V1, door("front"))
            kind, value = await stream.next()
            assert kind == "ERROR"
            assert "conversion webhook for conv.example.com/v1, Kind=Door" in value["message"]
            assert await stream.rest() == []
        assert (await api("GET", f"{V1}/front")).status == 200


async def test_webhook_that_loses_metadata_loses_nothing(serving: Any) -> None:
    def forget(value: Object) -> Object:
        kept = {name: value["metadata"][name] for name in ("name", "namespace", "uid")}
        return {**value, "metadata": kept}

    async with doors(serving) as (api, webhook):
        owner = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": "6b264c5c-f936-4bec-8800-5b07ac053af6",
        }
        made = await api(
            "POST", V1, door("front", finalizers=["a.example.com/b"], ownerReferences=[owner])
        )
        assert made.status == 201, made.body
        webhook.spoil = forget
        patched = await api("PATCH", f"{V2}/front", {"spec": {"address": "x:1"}}, media=MERGE)
        assert patched.status == 200, patched.body
        metadata = (await api("GET", f"{V1}/front")).body["metadata"]
        assert metadata["finalizers"] == ["a.example.com/b"]
        assert metadata["ownerReferences"] == [owner]
        assert metadata["creationTimestamp"] == made.body["metadata"]["creationTimestamp"]
        assert metadata["managedFields"]


async def test_webhook_cannot_add_fields_the_schema_does_not_know(serving: Any) -> None:
    def smuggle(value: Object) -> Object:
        return {**value, "spec": {**value["spec"], "extra": "x"}, "beside": 1}

    async with doors(serving) as (api, webhook):
        await api("POST", V1, door("front"))
        webhook.spoil = smuggle
        read = (await api("GET", f"{V2}/front")).body
        assert read["spec"] == {"address": "front:80"}
        assert "beside" not in read


async def test_labels_of_a_wrong_type_are_refused(serving: Any) -> None:
    def mislabel(value: Object) -> Object:
        return {**value, "metadata": {**value["metadata"], "labels": {"a": 1}}}

    async with doors(serving) as (api, webhook):
        await api("POST", V1, door("front"))
        webhook.spoil = mislabel
        answer = await api("GET", f"{V2}/front")
        assert answer.status == 500
        assert "invalid metadata.labels" in answer.message


async def test_writing_an_object_again_migrates_its_stored_version(serving: Any) -> None:
    async with doors(serving) as (api, _webhook):
        await api("POST", V1, door("front"))
        switch = [
            {"op": "replace", "path": "/spec/versions/0/storage", "value": False},
            {"op": "replace", "path": "/spec/versions/1/storage", "value": True},
        ]
        changed = await api("PATCH", DEFINITION, switch, media="application/json-patch+json")
        assert changed.body["status"]["storedVersions"] == ["v1", "v2"]
        assert stored_version(api, "front") == "conv.example.com/v1"
        value = (await api("GET", f"{V2}/front")).body
        assert (await api("PUT", f"{V2}/front", value)).status == 200
        assert stored_version(api, "front") == "conv.example.com/v2"
        assert (await api("GET", f"{V1}/front")).body["spec"] == {"host": "front", "port": "80"}


async def test_field_selectors_see_the_requested_version(serving: Any) -> None:
    async with doors(serving) as (api, _webhook):
        await api("POST", V1, door("front"))
        await api("POST", V1, door("back"))
        listed = await api("GET", f"{V2}?fieldSelector=spec.address%3Dback:80")
        assert [each["metadata"]["name"] for each in listed.body["items"]] == ["back"]


async def test_objects_are_deleted_in_any_version(serving: Any) -> None:
    async with doors(serving) as (api, _webhook):
        await api("POST", V1, door("front"))
        await api("POST", V1, door("back"))
        assert (await api("DELETE", f"{V2}/front")).status == 200
        gone = await api("DELETE", V2)
        assert [each["spec"]["address"] for each in gone.body["items"]] == ["back:80"]
        assert (await api("GET", V1)).body["items"] == []


async def test_a_collection_is_deleted_and_listed_in_any_version(serving: Any) -> None:
    async with doors(serving) as (api, webhook):
        names = [f"d{number:02}" for number in range(40)]
        for name in names:
            assert (await api("POST", V1, door(name))).status == 201
        webhook.sizes.clear()
        gone = await api("DELETE", V2)
        assert gone.status == 200
        assert [each["spec"]["address"] for each in gone.body["items"]] == [
            f"{name}:80" for name in names
        ]
        assert sum(webhook.sizes) <= 3 * len(names)  # the list, and each to v2 and back
        assert (await api("GET", V1)).body["items"] == []


def webhook_configuration(hooks: WebhookServer, kind: str) -> Object:
    rule = {
        "apiGroups": ["conv.example.com"],
        "apiVersions": ["v2"],
        "operations": ["CREATE"],
        "resources": ["doors"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "m"},
        "webhooks": [
            {
                "name": "m.hook.example.com",
                "clientConfig": {"url": f"{hooks.url}/", "caBundle": hooks.ca_bundle},
                "rules": [rule],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def respond(review: Object, **response: Any) -> http.Response:
    answer = {key: review[key] for key in ("apiVersion", "kind")}
    answer["response"] = {"uid": review["request"]["uid"], "allowed": True, **response}
    return http.Response(200, [("Content-Type", "application/json")], json.dumps(answer).encode())


ADMISSION = "/apis/admissionregistration.k8s.io/v1"


async def test_mutating_webhook_sees_the_version_it_registered_for(serving: Any) -> None:
    seen: list[Object] = []

    async def admit(request: http.Request) -> http.Response:
        review = json.loads(await request.read(1024 * 1024))
        seen.append(review["request"]["object"])
        operations = [{"op": "replace", "path": "/spec/address", "value": "y:2"}]
        patch = base64.b64encode(json.dumps(operations).encode()).decode()
        return respond(review, patchType="JSONPatch", patch=patch)

    async with webhook_server(admit) as hooks, doors(serving) as (api, _webhook):
        path = f"{ADMISSION}/mutatingwebhookconfigurations"
        assert (await api("POST", path, webhook_configuration(hooks, "Mutating"))).status == 201
        created = await api("POST", V1, door("front"))
        assert created.status == 201, created.body
        assert created.body["spec"] == {"host": "y", "port": "2"}
        assert seen[0]["spec"] == {"address": "front:80"}


async def test_validating_webhook_sees_objects_whose_name_is_made_up(serving: Any) -> None:
    seen: list[Object] = []

    async def admit(request: http.Request) -> http.Response:
        review = json.loads(await request.read(1024 * 1024))
        seen.append(review["request"]["object"])
        return respond(review)

    async with webhook_server(admit) as hooks, doors(serving) as (api, webhook):
        path = f"{ADMISSION}/validatingwebhookconfigurations"
        assert (await api("POST", path, webhook_configuration(hooks, "Validating"))).status == 201
        value = door("x")
        value["metadata"] = {"generateName": "d-"}
        created = await api("POST", V1, value)
        assert created.status == 201, created.body
        assert seen[-1]["spec"] == {"address": "x:80"}
        assert len(webhook.sizes) == 1, "one conversion is enough"


async def test_policy_sees_the_version_it_matches(serving: Any) -> None:
    async with doors(serving) as (api, _webhook):
        rule = webhook_configuration(WebhookServer("", ""), "Validating")["webhooks"][0]["rules"][0]
        policy = {
            "metadata": {"name": "p"},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [
                    {
                        "expression": "!object.spec.address.startsWith('bad:')",
                        "messageExpression": "'not ' + object.spec.address",
                    }
                ],
            },
        }
        binding = {
            "metadata": {"name": "p"},
            "spec": {"policyName": "p", "validationActions": ["Deny"]},
        }
        assert (await api("POST", f"{ADMISSION}/validatingadmissionpolicies", policy)).status == 201
        path = f"{ADMISSION}/validatingadmissionpolicybindings"
        assert (await api("POST", path, binding)).status == 201
        assert (await api("POST", V1, door("good"))).status == 201
        refused = await api("POST", V1, door("bad"))
        assert refused.status == 422
        assert "denied request: not bad:80" in refused.message


async def test_controllers_create_what_a_policy_with_converted_params_allows(serving: Any) -> None:
    async with doors(serving, lifecycle=True) as (api, webhook):
        await api("POST", V1, door("front"))
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
        policy = {
            "metadata": {"name": "p"},
            "spec": {
                "paramKind": {"apiVersion": "conv.example.com/v2", "kind": "Door"},
                "matchConstraints": {"resourceRules": [{**rule, "resources": ["configmaps"]}]},
                "validations": [{"expression": "params.spec.address == 'front:80'"}],
            },
        }
        reference = {"name": "front", "namespace": "default", "parameterNotFoundAction": "Deny"}
        binding = {
            "metadata": {"name": "p"},
            "spec": {
                "policyName": "p",
                "paramRef": reference,
                "validationActions": ["Deny"],
            },
        }
        for name, value in (("policies", policy), ("policybindings", binding)):
            made = await api("POST", f"{ADMISSION}/validatingadmission{name}", value)
            assert made.status == 201
        webhook.sizes.clear()
        await api.make("team", "/api/v1/namespaces")
        await api.cluster.api.lifecycle.wait_until_idle()
        found = await api("GET", "/api/v1/namespaces/team/configmaps/kube-root-ca.crt")
        assert found.status == 200
        assert webhook.sizes


async def test_owner_that_goes_takes_objects_of_other_versions_along(serving: Any) -> None:
    async with doors(serving, lifecycle=True) as (api, webhook):
        owner = (await api("POST", V1, door("owner"))).body["metadata"]
        reference = {
            "apiVersion": "conv.example.com/v2",
            "kind": "Door",
            "name": "owner",
            "uid": owner["uid"],
        }
        await api("POST", V1, door("part", ownerReferences=[reference]))
        webhook.spoil = lambda value: None  # the garbage collector needs no conversion
        await api("DELETE", f"{V1}/owner")
        await api.cluster.api.lifecycle.wait_until_idle()
        assert (await api("GET", f"{V1}/part")).status == 404
