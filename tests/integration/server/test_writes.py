"""Writes: optimistic concurrency, dry runs, deletion, generateName, races."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.integration.server.conftest import definition

from quarterdeck.kit import http
from quarterdeck.server.api import ApiServer
from quarterdeck.server.options import ServerOptions
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import open_sqlite

MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/stable.example.com/v1/namespaces/default/widgets"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


def widget(name: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "stable.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        **more,
    }


async def test_stale_update_is_a_conflict_and_changes_nothing(serving: Any) -> None:
    async with serving() as api:
        made = (await api.make("a", data={"v": "1"})).body
        await api("PATCH", f"{MAPS}/a", {"data": {"v": "2"}}, media=MERGE)
        stale = await api("PUT", f"{MAPS}/a", made | {"data": {"v": "3"}})
        assert (stale.status, stale.body["reason"]) == (409, "Conflict")
        assert (await api("GET", f"{MAPS}/a")).body["data"] == {"v": "2"}


async def test_update_of_another_incarnation_is_a_conflict(serving: Any) -> None:
    async with serving() as api:
        uid = (await api.make("a")).body["metadata"]["uid"]
        await api("DELETE", f"{MAPS}/a")
        await api.make("a")
        answer = await api("PUT", f"{MAPS}/a", {"metadata": {"name": "a", "uid": uid}})
        assert answer.status == 409
        assert "UID in precondition" in answer.message


async def test_racing_patches_all_land(serving: Any, tmp_path: Path) -> None:
    async with serving(in_memory=False, data_dir=tmp_path / "data") as api:
        await api.make("a", data={})
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    api("PATCH", f"{MAPS}/a", {"data": {f"k{number}": "v"}}, media=MERGE)
                )
                for number in range(50)
            ]
        assert {task.result().status for task in tasks} == {200}
        assert len({task.result().version for task in tasks}) == 50
        assert len((await api("GET", f"{MAPS}/a")).body["data"]) == 50


async def test_of_racing_creates_one_wins(serving: Any, tmp_path: Path) -> None:
    async with serving(in_memory=False, data_dir=tmp_path / "data") as api:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(api("POST", MAPS, {"metadata": {"name": "a"}})) for _ in range(20)
            ]
        statuses = sorted(task.result().status for task in tasks)
        assert statuses == [201] + [409] * 19


async def test_write_that_changes_nothing_makes_no_version(serving: Any) -> None:
    async with serving() as api:
        version = (await api.make("a", data={"v": "1"})).version
        again = await api("PATCH", f"{MAPS}/a", {"data": {"v": "1"}}, media=MERGE)
        assert (again.status, again.version) == (200, version)


@pytest.mark.parametrize(
    ("method", "path", "body", "media"),
    [
        pytest.param("POST", MAPS, {"metadata": {"name": "new"}}, "application/json", id="create"),
        pytest.param(
            "PUT", f"{MAPS}/a", {"metadata": {"name": "a"}}, "application/json", id="update"
        ),
        pytest.param("PATCH", f"{MAPS}/a", {"data": {"v": "9"}}, MERGE, id="patch"),
        pytest.param(
            "PATCH",
            f"{MAPS}/fresh",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fresh"}},
            APPLY,
            id="apply",
        ),
        pytest.param("DELETE", f"{MAPS}/a", None, "application/json", id="delete"),
        pytest.param("DELETE", MAPS, None, "application/json", id="deletecollection"),
    ],
)
async def test_dry_run_changes_nothing(
    serving: Any, method: str, path: str, body: Any, media: str
) -> None:
    async with serving() as api:
        await api.make("a", data={"v": "1"})
        before = await api("GET", MAPS)
        answer = await api(method, f"{path}?dryRun=All&fieldManager=t", body, media=media)
        assert answer.status in (200, 201), answer
        after = await api("GET", MAPS)
        assert after.body == before.body


async def test_a_dry_run_is_validated(serving: Any) -> None:
    async with serving() as api:
        answer = await api("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "Bad Name"}})
        assert answer.status == 422


async def test_generated_names_are_unique_and_short_enough(serving: Any) -> None:
    async with serving() as api:
        prefix = "x" * 70
        found = set()
        for _ in range(20):
            answer = await api("POST", MAPS, {"metadata": {"generateName": prefix}})
            found.add(answer.body["metadata"]["name"])
        assert len(found) == 20
        assert {len(name) for name in found} == {63}


async def test_services_with_generated_names_share_no_address(serving: Any) -> None:
    async with serving() as api:
        spec = {"type": "NodePort", "ports": [{"port": 80}]}
        service = {"metadata": {"generateName": "web-"}, "spec": spec}
        path = "/api/v1/namespaces/default/services"
        made = await asyncio.gather(*[api("POST", path, service) for _ in range(20)])
        specs = [each.body["spec"] for each in made]
        assert len({each["clusterIP"] for each in specs}) == 20
        assert len({each["ports"][0]["nodePort"] for each in specs}) == 20


async def test_status_and_spec_do_not_mix(serving: Any) -> None:
    async with serving() as api:
        await api.define_widgets()
        made = await api("POST", WIDGETS, widget("a", spec={"v": 1}, status={"p": "no"}))
        assert "status" not in made.body
        main = await api("PATCH", f"{WIDGETS}/a", {"status": {"p": "no"}}, media=MERGE)
        assert main.version == made.version
        body = {"status": {"p": "yes"}, "spec": {"v": 2}, "metadata": {"labels": {"l": "m"}}}
        part = await api("PATCH", f"{WIDGETS}/a/status", body, media=MERGE)
        assert part.body["status"] == {"p": "yes"}
        assert part.body["spec"] == {"v": 1}
        assert "labels" not in part.body["metadata"]
        assert part.body["metadata"]["generation"] == 1
        changed = await api("PATCH", f"{WIDGETS}/a", {"spec": {"v": 2}}, media=MERGE)
        assert changed.body["metadata"]["generation"] == 2
        assert changed.body["status"] == {"p": "yes"}


async def test_finalizer_keeps_an_object_until_it_is_taken_off(serving: Any) -> None:
    async with serving() as api:
        await api.make("a", metadata={"finalizers": ["example.com/wait"]})
        first = await api("DELETE", f"{MAPS}/a")
        assert first.body["metadata"]["deletionTimestamp"]
        second = await api("DELETE", f"{MAPS}/a")
        assert second.version == first.version
        off = await api("PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, media=MERGE)
        assert off.status == 200
        assert (await api("GET", f"{MAPS}/a")).status == 404


@pytest.mark.parametrize(
    ("preconditions", "text"),
    [
        pytest.param({"uid": "other"}, "the UID in the precondition (other)", id="uid"),
        pytest.param({"resourceVersion": "1"}, "the ResourceVersion in the", id="version"),
    ],
)
async def test_a_deletion_with_wrong_preconditions_is_a_conflict(
    serving: Any, preconditions: Any, text: str
) -> None:
    async with serving() as api:
        await api.make("a")
        answer = await api("DELETE", f"{MAPS}/a", {"preconditions": preconditions})
        assert answer.status == 409
        assert text in answer.message
        assert (await api("GET", f"{MAPS}/a")).status == 200


async def test_deletecollection_takes_what_is_selected(serving: Any) -> None:
    async with serving() as api:
        await api.make("a", metadata={"labels": {"go": "yes"}})
        await api.make("b")
        gone = await api("DELETE", f"{MAPS}?labelSelector=go%3Dyes")
        assert [item["metadata"]["name"] for item in gone.body["items"]] == ["a"]
        left = await api("GET", MAPS)
        assert [item["metadata"]["name"] for item in left.body["items"]] == ["b"]


async def test_failing_test_of_a_json_patch_is_invalid(serving: Any) -> None:
    async with serving() as api:
        await api.make("a")
        patch = [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}]
        answer = await api("PATCH", f"{MAPS}/a", patch, media=JSON_PATCH)
        assert (answer.status, answer.body["reason"]) == (422, "Invalid")


async def test_apply_reads_yaml_and_reports_conflicts(serving: Any) -> None:
    async with serving() as api:
        text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n"
        made = await api("PATCH", f"{MAPS}/a?fieldManager=one", text, media=APPLY)
        assert made.status == 201
        other = text.replace(b"k: v", b"k: w")
        answer = await api("PATCH", f"{MAPS}/a?fieldManager=two", other, media=APPLY)
        assert (answer.status, answer.body["reason"]) == (409, "Conflict")
        assert answer.body["details"]["causes"][0]["field"] == ".data.k"
        forced = await api("PATCH", f"{MAPS}/a?fieldManager=two&force=true", other, media=APPLY)
        assert forced.body["data"] == {"k": "w"}


async def test_lease_may_be_made_by_put(serving: Any) -> None:
    async with serving() as api:
        path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
        body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
        assert (await api("PUT", path, body)).status == 201
        assert (await api("PUT", path, body)).status == 422
        assert (await api("PUT", f"{MAPS}/none", {"metadata": {"name": "none"}})).status == 404


async def test_acknowledged_writes_are_there_after_a_restart(serving: Any, data_dir: Path) -> None:
    async with serving(in_memory=False, data_dir=data_dir) as api:
        await api.define_widgets()
        assert (await api("POST", WIDGETS, widget("a", spec={"v": 1}))).status == 201
        before = await api("GET", f"{WIDGETS}/a")
    async with serving(in_memory=False, data_dir=data_dir) as api:
        assert (await api("GET", f"{WIDGETS}/a")).body == before.body
        later = await api.make("later")
        assert int(later.version) > int(before.version)


async def test_groups_are_listed_in_the_same_order_after_a_restart(
    serving: Any, data_dir: Path
) -> None:
    async with serving(in_memory=False, data_dir=data_dir) as api:
        await api.define_widgets()
        earlier = definition()
        earlier["metadata"] = {"name": "widgets.a.example.com"}
        earlier["spec"]["group"] = "a.example.com"
        assert (await api("POST", DEFINITIONS, earlier)).status == 201
        before = (await api("GET", "/apis")).body
    async with serving(in_memory=False, data_dir=data_dir) as api:
        assert (await api("GET", "/apis")).body == before


async def test_objects_of_a_removed_definition_are_not_served(serving: Any) -> None:
    async with serving() as api:
        await api.define_widgets()
        groups = await api("GET", "/apis")
        assert any(each["name"] == "stable.example.com" for each in groups.body["groups"])
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.stable.example.com"
        await api("DELETE", path)
        await api("PATCH", path, {"metadata": {"finalizers": None}}, media=MERGE)
        assert (await api("GET", path)).status == 404
        assert (await api("GET", WIDGETS)).status == 404


async def test_namespace_that_ends_takes_nothing_new(serving: Any) -> None:
    async with serving() as api:
        await api.make("old", "/api/v1/namespaces")
        begun = await api("DELETE", "/api/v1/namespaces/old")
        assert begun.body["status"]["phase"] == "Terminating"
        answer = await api("POST", "/api/v1/namespaces/old/configmaps", {"metadata": {"name": "a"}})
        assert answer.status == 403
        assert answer.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    store = open_sqlite(tmp_path / "state.db", derive=decode_object_meta, max_bytes=300_000)
    api = ApiServer(store, ServerOptions(lifecycle=False))
    await api.start()
    server = http.Server(api.handle)
    listener = await server.listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.port}{MAPS}"
    async with http.Client() as client:
        kept: list[str] = []
        for number in range(100):
            body = {"metadata": {"name": f"n{number:03}"}, "data": {"x": "y" * 20_000}}
            answer = await client.request("POST", url, body=json.dumps(body).encode())
            status = json.loads(await answer.read())
            if answer.status != 201:
                break
            kept.append(body["metadata"]["name"])
        assert (answer.status, status["reason"]) == (507, "InsufficientStorage")
        listed = json.loads(await (await client.request("GET", url)).read())
        assert [item["metadata"]["name"] for item in listed["items"]] == kept
    await server.close()
    await store.close()


async def test_a_patch_of_anything_but_metadata_answers_as_one_that_names_it(
    serving: Any,
) -> None:
    async with serving() as api:
        await api.define_widgets(
            type="object", properties={"size": {"type": "integer"}, "text": {"type": "string"}}
        )
        kind = {"apiVersion": "stable.example.com/v1", "kind": "Widget"}
        labels = {"b": "1", "a": "2"}
        made = await api(
            "POST", WIDGETS, {**kind, "metadata": {"name": "w", "labels": labels}, "spec": {}}
        )
        assert made.status == 201
        strict = f"{WIDGETS}/w?fieldValidation=Strict"
        wrong = {"spec": {"size": 1, "other": 2}}
        short = await api("PATCH", strict, wrong, media=MERGE)
        long = await api("PATCH", strict, {"metadata": {}, **wrong}, media=MERGE)
        assert short.status == long.status == 422
        assert short.body == long.body and 'unknown field "spec.other"' in short.message
        kept = await api("PATCH", f"{WIDGETS}/w", {"spec": {"size": 1}}, media=MERGE)
        metadata = kept.body["metadata"]
        assert (metadata["labels"], metadata["generation"]) == (labels, 2)
        assert metadata["uid"] == made.body["metadata"]["uid"]
        status = await api("PATCH", f"{WIDGETS}/w/status", {"status": {"n": 1}}, media=MERGE)
        assert (status.body["spec"], status.body["status"]) == ({"size": 1}, {"n": 1})
        assert status.body["metadata"]["generation"] == 2
        stored = await api("GET", f"{WIDGETS}/w")
        assert stored.body == status.body


@pytest.mark.parametrize("entries", [[], [{}]], ids=["no entry", "an empty entry"])
@pytest.mark.parametrize("media", [MERGE, STRATEGIC, JSON_PATCH, ""])
async def test_empty_managed_fields_reset_all_owners(
    serving: Any, media: str, entries: list[Any]
) -> None:
    async with serving() as api:
        made = (await api.make("a", data={"v": "1"})).body
        assert made["metadata"]["managedFields"]
        if media == JSON_PATCH:
            body: Any = [{"op": "replace", "path": "/metadata/managedFields", "value": entries}]
        else:
            body = {"metadata": {"managedFields": entries}, "data": {"v": "2"}}
        if media:
            answer = await api("PATCH", f"{MAPS}/a", body, media=media)
        else:
            body["metadata"]["name"] = "a"
            answer = await api("PUT", f"{MAPS}/a", body)
        assert answer.status == 200
        assert "managedFields" not in answer.body["metadata"]


async def test_custom_objects_keep_owners_without_an_empty_entry(serving: Any) -> None:
    async with serving() as api:
        await api("POST", DEFINITIONS, definition())
        await api("POST", WIDGETS, widget("a", spec={"size": 1}))
        sent: list[list[Any]] = [[], [{}]]
        for entries in sent:
            body = {"metadata": {"managedFields": entries}}
            answer = await api("PATCH", f"{WIDGETS}/a", body, media=MERGE)
            assert answer.status == 200
            assert ("managedFields" in answer.body["metadata"]) == (entries == [])
