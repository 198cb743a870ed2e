"""PipelineSets: one call for all, and nothing at all where the spec does not allow it."""

import threading
from typing import Any

import pytest
from tests.integration.operators.pipelines.answers import falsify

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Pipeline,
    PipelineRevision,
    PipelineSet,
    TenantPolicy,
)
from quarterdeck.meta.conditions import find
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.telemetry import contents
from quarterdeck.wire.status import NotFound

NOW = "2026-01-01T00:00:00Z"
TEXT = 'loki.write "x" {\n}\n'
OTEL = (
    "receivers: {otlp: {}}\nexporters: {debug: {}}\n"
    "service: {pipelines: {logs: {receivers: [otlp], exporters: [debug]}}}\n"
)
SOURCE = {"type": "Git", "namespace": "team-a"}
ON_SERVER = {"type": "SOURCE_TYPE_GIT", "namespace": "team-a"}


def member(name: str, contents: str = TEXT, **more: Any) -> dict[str, Any]:
    return {"name": name, "contents": contents, "matchers": ["env=prod"], **more}


async def create(at: Any, name: str = "set", **spec: Any) -> None:
    await at.client.resource(PipelineSet.KIND.gvr).create(
        {
            "apiVersion": PipelineSet.KIND.api_version,
            "kind": "PipelineSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"source": SOURCE, **spec},
        }
    )


async def patch(at: Any, spec: dict[str, Any]) -> None:
    await at.client.resource(PipelineSet.KIND.gvr).patch("set", {"spec": spec}, namespace="default")


async def ready(
    at: Any, reason: str, total: int | None = None, *, name: str = "set"
) -> PipelineSet:
    async def holds() -> PipelineSet | None:
        set_: PipelineSet = await at.client.get(PipelineSet, name, "default")
        found = find(set_.status.conditions, "Ready")
        is_there = found is not None and found.reason == reason
        return set_ if is_there and total in (None, set_.status.total) else None

    result: PipelineSet = await at.until(holds)
    return result


async def test_a_set_is_sent_by_one_call_and_pruned(world: Any) -> None:
    async with world() as at, at.operator():
        await create(at, pipelines=[member("a"), member("b")], matchers=["team=a"])
        set_ = await ready(at, "Synced", 2)
        assert at.fleet.names == ["a", "b"] and at.fleet.count("SyncPipelines") == 1
        assert [(each.name, each.state) for each in set_.status.members] == [
            ("a", "Synced"),
            ("b", "Synced"),
        ]
        assert at.fleet.server.pipelines.find_by_name("a").matchers == ("team=a", "env=prod")
        await patch(at, {"pipelines": [member("b"), member("c")]})
        await at.until(lambda: at.fleet.names == ["b", "c"])

        async def tells() -> bool:
            return (await ready(at, "Synced", 2)).status.deletions == ("a",)

        assert await at.until(tells)


async def test_too_many_deletions_and_an_empty_set_are_refused(world: Any) -> None:
    async with world() as at, at.operator():
        for name in "abc":
            at.fleet.put(name, source=ON_SERVER)
        await create(at, pipelines=[member("a")], maxDeletions=1)
        set_ = await ready(at, "TooManyDeletions")
        condition = find(set_.status.conditions, "Ready")
        assert condition is not None and "would delete 2 pipelines" in condition.message
        assert at.fleet.names == ["a", "b", "c"] and at.fleet.count("SyncPipelines") == 0
        await patch(at, {"maxDeletions": 5, "pipelines": None, "selector": {}})
        await ready(at, "EmptySet")
        assert at.fleet.names == ["a", "b", "c"]
        await patch(at, {"allowEmpty": True})
        await at.until(lambda: at.fleet.names == [])


async def test_without_pruning_others_of_the_source_stay(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.put("old", source=ON_SERVER)
        await create(at, pipelines=[member("new")], prune=False)
        await ready(at, "Synced", 1)
        assert at.fleet.names == ["new", "old"]
        await at.client.resource(PipelineSet.KIND.gvr).delete("set", "default")
        await at.until(lambda: at.fleet.names == ["old"])


async def test_pipelines_of_others_are_not_taken_over(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.put("a")
        await create(at, pipelines=[member("a"), member("b")])
        await ready(at, "AdoptionRefused")
        assert at.fleet.names == ["a"]


async def test_a_bad_member_stops_the_whole_set(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create("good")
        await at.create("bad", contents="x {")
        await create(at, selector={})
        await ready(at, "ValidationError")
        assert at.fleet.count("SyncPipelines") == 0


async def test_selected_pipelines_go_with_the_set(world: Any) -> None:
    async with world() as at, at.operator():
        for name in ("a", "b"):
            await at.create(name)
            await at.ready("Synced", name)
        await create(at, selector={})
        set_ = await ready(at, "Synced", 2)
        assert set_.status.members[0].pipeline == "default/a"
        pipeline = await at.ready("InSet", "a")
        assert at.condition(pipeline).status == "True"
        owners = {each.source["namespace"] for each in at.fleet.server.pipelines.list_all()}
        assert owners == {"team-a"}
        await at.delete("a")
        await at.gone("a")
        await at.until(lambda: at.fleet.names == ["b"])


async def test_a_hand_made_change_is_corrected(world: Any) -> None:
    async with world() as at, at.operator(interval_s=30.0):
        await create(at, pipelines=[member("a")])
        await ready(at, "Synced", 1)
        at.fleet.put("a", 'loki.write "other" {\n}\n', source=ON_SERVER)
        await at.until(
            lambda: at.fleet.server.pipelines.find_by_name("a").contents == TEXT, within_s=90.0
        )


async def test_a_server_that_answers_half_is_found_out(world: Any) -> None:
    async with world() as at, at.operator():

        async def pretend(request: Any, proceed: Any) -> Any:
            from quarterdeck.kit import http

            await request.read(1 << 24)
            return http.Response(200, [("Content-Type", "application/json")], b"{}")

        at.fleet.fail("SyncPipelines", pretend)
        await create(at, pipelines=[member("a")])
        set_ = await ready(at, "SyncFailed")
        assert set_.status.members[0].state == "Missing"
        await ready(at, "Synced", 1)
        assert at.fleet.names == ["a"]


@pytest.mark.parametrize("prune", [True, False])
async def test_a_list_that_leaves_pipelines_out_deletes_none(world: Any, *, prune: bool) -> None:
    def keep_one(message: dict[str, Any]) -> None:
        message["pipelines"] = [each for each in message["pipelines"] if each["name"] == "a"]

    async with world() as at, at.operator(interval_s=30.0):
        for name in ("old", "older"):
            at.fleet.put(name, source=ON_SERVER)
        await create(at, pipelines=[member("a")], prune=False)
        await ready(at, "Synced", 1)
        at.fleet.always = falsify("ListPipelines", keep_one)
        await patch(at, {"pipelines": [member("a"), member("b")], "prune": prune})
        await patch(at, {"maxDeletions": 1})
        set_ = await ready(at, "SyncFailed")
        said = find(set_.status.conditions, "Ready")
        assert said is not None and "does not list pipeline 'old'" in said.message
        assert at.fleet.names == ["a", "old", "older"]
        at.fleet.always = None
        await ready(at, "TooManyDeletions" if prune else "Synced", 2)
        assert {"a", "old", "older"} <= set(at.fleet.names)


async def test_a_deleted_set_takes_its_pipelines_along(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.put("foreign")
        await create(at, pipelines=[member("a")])
        await ready(at, "Synced", 1)
        await at.client.resource(PipelineSet.KIND.gvr).delete("set", "default")

        async def is_gone() -> bool:
            try:
                await at.client.get(PipelineSet, "set", "default")
            except NotFound:
                return True
            return False

        await at.until(is_gone)
        assert at.fleet.names == ["foreign"]


async def test_history_is_kept_and_led_back_to(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await at.create(revisionHistoryLimit=2)
        await at.ready("Synced")
        first = (await _with_revision(at, "")).status.revision_id
        texts = [f'loki.write "v{number}" {{\n}}\n' for number in range(3)]
        before = first
        for text in texts:
            await at.patch({"spec": {"contents": text}})
            before = (await _with_revision(at, before)).status.revision_id
        kept = await at.until(lambda: _kept(at, 2))
        assert [each.spec.operation for each in kept] == ["Update", "Update"]
        assert kept[-1].spec.contents == texts[-1]
        assert kept[-1].metadata.owner_references[0].kind == "Pipeline"
        await at.patch({"spec": {"rollbackTo": kept[0].spec.revision_id}})
        await at.until(lambda: at.fleet.server.pipelines.find_by_name("web").contents == texts[1])
        pipeline = await at.ready("Synced")
        assert pipeline.status.rolled_back_to == kept[0].spec.revision_id
        await at.patch({"spec": {"rollbackTo": first}})  # no object any more, asked of the server
        await at.until(
            lambda: "prometheus" in at.fleet.server.pipelines.find_by_name("web").contents
        )
        await at.patch({"spec": {"rollbackTo": "999"}})
        await at.ready("RevisionNotFound")
        await at.patch({"spec": {"rollbackTo": None}})
        await at.until(lambda: at.fleet.server.pipelines.find_by_name("web").contents == texts[-1])


@pytest.mark.parametrize("limit", [10, 0], ids=["from an object", "from the server"])
async def test_a_rollback_restores_the_language_of_the_contents(world: Any, limit: int) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await at.create(contents=TEXT, revisionHistoryLimit=limit)
        first = (await _with_revision(at, "")).status.revision_id
        await at.patch({"spec": {"contents": OTEL, "configType": "OpenTelemetryCollector"}})
        await _with_revision(at, first)
        await at.patch({"spec": {"rollbackTo": first}})
        await at.until(lambda: at.fleet.server.pipelines.find_by_name("web").contents == TEXT)
        await at.ready("Synced")
        assert at.fleet.server.pipelines.find_by_name("web").config_type == "CONFIG_TYPE_ALLOY"


@pytest.mark.parametrize("is_made_up", [False, True], ids=["older", "made up"])
async def test_a_rollback_does_not_leave_the_collectors_of_a_tenant(
    world: Any, *, is_made_up: bool
) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await at.create(matchers=["env=prod"])
        first = (await _with_revision(at, "")).status.revision_id
        policy = {"requiredMatchers": ["team=a"]}
        await at.client.resource(TenantPolicy.KIND.gvr).create(
            {
                "apiVersion": TenantPolicy.KIND.api_version,
                "kind": "TenantPolicy",
                "metadata": {"name": "a"},
                "spec": policy,
            }
        )
        await at.patch({"spec": {"matchers": ["env=prod", "team=a"]}})
        pipeline = await _with_revision(at, first)
        if is_made_up:
            first = "999"
            await _make_up(at, pipeline, first)
        await at.patch({"spec": {"rollbackTo": first}})
        refused = await at.ready("ValidationError")
        assert "TenantPolicy a" in at.condition(refused).message
        stored = at.fleet.server.pipelines.find_by_name("web")
        assert stored.matchers == ("env=prod", "team=a")
        await at.patch({"spec": {"rollbackTo": pipeline.status.revision_id}})
        await at.ready("Synced")
        await at.patch({"spec": {"rollbackTo": first}})
        await at.ready("ValidationError")
        await at.client.resource(TenantPolicy.KIND.gvr).delete("a")
        await at.ready("Synced")
        assert at.fleet.server.pipelines.find_by_name("web").matchers == ("env=prod",)


async def _make_up(at: Any, pipeline: Pipeline, revision: str) -> None:
    """A revision that the server never had, as anybody with the editor role can write it."""
    owner = {
        "apiVersion": Pipeline.KIND.api_version,
        "kind": "Pipeline",
        "name": pipeline.metadata.name,
        "uid": pipeline.metadata.uid,
        "controller": True,
    }
    metadata = {"name": "made-up", "namespace": "default", "ownerReferences": [owner]}
    spec = {"pipeline": "web", "revisionId": revision, "contents": TEXT, "matchers": ["env=prod"]}
    await at.client.resource(PipelineRevision.KIND.gvr).create(
        {
            "apiVersion": PipelineRevision.KIND.api_version,
            "kind": "PipelineRevision",
            "metadata": metadata,
            "spec": spec,
        }
    )


async def _with_revision(at: Any, before: str) -> Pipeline:
    async def holds() -> Pipeline | None:
        pipeline: Pipeline = await at.get()
        is_new = pipeline.status.revision_id not in ("", before)
        return pipeline if is_new else None

    found: Pipeline = await at.until(holds)
    return found


async def _kept(at: Any, count: int) -> list[PipelineRevision] | None:
    listed = await at.client.list(PipelineRevision)
    found = sorted(listed, key=lambda each: int(each.spec.revision_id))
    pipeline = await at.get()
    is_current = found and found[-1].spec.revision_id == pipeline.status.revision_id
    return found if len(found) == count and is_current else None


async def test_a_source_belongs_to_one_set_and_the_next_one_gets_it(world: Any) -> None:
    async with world() as at, at.operator():
        await create(at, pipelines=[member("a")])
        await ready(at, "Synced", 1)
        await create(at, "another", pipelines=[member("b")])
        rival = await ready(at, "NameConflict", name="another")
        condition = find(rival.status.conditions, "Ready")
        assert condition is not None and "PipelineSet default/set" in condition.message
        assert at.fleet.names == ["a"] and at.fleet.count("SyncPipelines") == 1
        await at.client.delete(PipelineSet, "set", "default")
        await ready(at, "Synced", 1, name="another")
        assert at.fleet.names == ["b"]


async def test_a_paused_set_that_was_never_sent_holds_no_source(world: Any) -> None:
    async with world() as at, at.operator():
        await create(at, pipelines=[member("a")], paused=True)
        await ready(at, "Suspended")
        await at.advance(2)  # the next one is younger
        await create(at, "another", pipelines=[member("b")])
        await ready(at, "Synced", 1, name="another")
        await patch(at, {"paused": False})
        await ready(at, "NameConflict")
        assert at.fleet.names == ["b"]
        changed = {"spec": {"pipelines": [member("b"), member("c")]}}
        resource = at.client.resource(PipelineSet.KIND.gvr)
        await resource.patch("another", changed, namespace="default")
        await ready(at, "Synced", 2, name="another")  # an edit does not lose the source
        assert at.fleet.names == ["b", "c"]


async def test_a_set_that_was_sent_keeps_its_source_while_it_is_paused(world: Any) -> None:
    async with world() as at, at.operator():
        await create(at, pipelines=[member("a")])
        await ready(at, "Synced", 1)
        await patch(at, {"paused": True})
        await ready(at, "Suspended")
        await create(at, "another", pipelines=[member("b")])
        await ready(at, "NameConflict", name="another")
        assert at.fleet.names == ["a"]


async def test_a_pipeline_of_the_source_outside_the_set_stays(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await at.create(source=SOURCE, contents=TEXT)
        pipeline = await at.ready("Synced")
        await create(at, pipelines=[member("a")])
        await ready(at, "Synced", 1)
        await at.advance(60)
        assert at.fleet.names == ["a", "web"]
        assert at.fleet.server.pipelines.find_by_name("web").id == pipeline.status.id
        await at.client.delete(PipelineSet, "set", "default")
        await at.until(lambda: _is_gone(at))
        await at.advance(60)
        assert at.fleet.names == ["web"]
        assert set(await at.events()) == {"Created", "Synced"}  # neither made again nor corrected


async def test_a_set_that_moves_to_the_source_of_another_deletes_nothing_of_it(world: Any) -> None:
    async with world() as at, at.operator():
        own = {"type": "Git", "namespace": "team-b"}
        await create(at, pipelines=[member("a")], source=own)
        await ready(at, "Synced", 1)
        await create(at, "another", pipelines=[member("b")])
        await ready(at, "Synced", 1, name="another")
        await patch(at, {"source": SOURCE})
        await ready(at, "NameConflict")
        await at.client.delete(PipelineSet, "set", "default")
        await at.until(lambda: _is_gone(at))
        assert at.fleet.names == ["a", "b"]


async def _is_gone(at: Any) -> bool:
    try:
        await at.client.get(PipelineSet, "set", "default")
    except NotFound:
        return True
    return False


async def test_a_pipeline_that_its_set_has_not_sent_yet_is_deleted_with_its_object(
    world: Any,
) -> None:
    async with world() as at, at.operator():
        await at.create()
        await at.ready("Synced")
        await at.patch({"metadata": {"labels": {"in": "set"}}})
        await create(at, selector={"matchLabels": {"in": "set"}}, paused=True)
        await at.ready("InSet")
        await at.delete()
        await at.gone()
        assert at.fleet.names == []


async def test_a_refused_set_is_sent_once_the_server_allows_it(world: Any) -> None:
    async with world() as at, at.operator(interval_s=30.0):
        foreign = at.fleet.put("a")
        await create(at, pipelines=[member("a")])
        await ready(at, "AdoptionRefused")
        at.fleet.server.pipelines.remove(foreign, NOW)
        await ready(at, "Synced", 1)
        surplus = [at.fleet.put(name, source=ON_SERVER) for name in ("b", "c")]
        await patch(at, {"maxDeletions": 1})
        await ready(at, "TooManyDeletions")
        at.fleet.server.pipelines.remove(surplus[0], NOW)
        await ready(at, "Synced", 1)
        assert at.fleet.names == ["a"]


@pytest.mark.parametrize("kind", [ConfigMap, Secret], ids=["ConfigMap", "Secret"])
async def test_a_set_follows_the_objects_that_have_the_contents(world: Any, kind: Any) -> None:
    async with world() as at, at.operator(interval_s=3600.0):
        member_name = "configMapKeyRef" if kind is ConfigMap else "secretKeyRef"
        await at.create("a", contentsFrom={member_name: {"name": "conf", "key": "x"}})
        await create(at, selector={})
        await ready(at, "ContentsUnavailable")
        metadata = ObjectMeta(name="conf", namespace="default")
        texts = "data" if kind is ConfigMap else "string_data"
        made = await at.client.create(kind(metadata=metadata, **{texts: {"x": TEXT}}))
        await ready(at, "Synced", 1)
        changed = TEXT.replace("x", "changed")
        key = "data" if kind is ConfigMap else "stringData"
        await at.client.resource(kind.KIND.gvr).patch(
            "conf", {key: {"x": changed}}, namespace=made.metadata.namespace
        )
        await at.until(lambda: at.fleet.server.pipelines.find_by_name("a").contents == changed)


async def test_large_contents_of_a_set_are_checked_in_a_thread(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    check = contents._check

    def note(text: str, config_type: contents.ConfigType) -> Any:
        threads.append(threading.get_ident())
        return check(text, config_type)

    async with world() as at, at.operator():
        await at.create("a", contents=f"{TEXT}// {'x' * 40_000}\n")
        await at.ready("Synced", "a")
        contents._check_large.cache_clear()  # as after a restart of the operator
        monkeypatch.setattr(contents, "_check", note)
        await create(at, selector={})
        await ready(at, "Synced", 1)
    assert threads and threading.get_ident() not in threads
