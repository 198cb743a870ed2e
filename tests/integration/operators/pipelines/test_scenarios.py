"""The controller's scenarios, against our own fleet server with its faults injected."""

import itertools
from typing import Any

import pytest

from quarterdeck.apis.core import Namespace
from quarterdeck.apis.fleetmanagement.v1alpha1 import FINALIZER
from quarterdeck.client.intercept import Call, Intercept, InterceptingApi
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.wire.status import from_status

FORCE = "fleetmanagement.grafana.com/force-delete"
SECRETS = GVR("", "v1", "secrets")
OTHER = 'loki.write "y" {\n}\n'


class Intercepted:
    """A client whose calls can be made to fail."""

    def __init__(self, client: Any, *rules: Any) -> None:
        self.raw = InterceptingApi(client.raw, rules)


def failing_status(code: int, times: int) -> Intercept:
    """The first writes of a Pipeline's status fail."""
    left = [times]

    async def replace(call: Call) -> Any:
        if call.path.subresource != "status" or left[0] == 0:
            return await call.proceed()
        left[0] -= 1
        raise from_status({"message": "injected", "code": code}, code)

    return Intercept("patch", replace, resource="pipelines")


async def test_a_new_pipeline_costs_three_writes_and_a_call_with_its_revision(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        pipeline = await at.ready("Synced")
        assert at.fleet.names == ["web"]
        assert pipeline.status.id == at.fleet.server.pipelines.find_by_name("web").id
        assert pipeline.metadata.finalizers == (FINALIZER,)
        assert at.condition(pipeline, "Synced").status == "True"
        assert pipeline.status.created_at and pipeline.status.updated_at
        assert pipeline.status.revision_id
        await at.settle()
        assert [name for _, name in at.fleet.calls] == ["CreatePipeline", "ListPipelineRevisions"]
        assert at.writes() == 3, "finalizer, revision, status"
        assert await at.events() == ["Created"]


async def test_the_finalizer_is_there_before_the_first_call(world: Any) -> None:
    async with world() as at, at.operator():
        seen: list[Any] = []

        async def look(request: Any, proceed: Any) -> Any:
            seen.extend((await at.get()).metadata.finalizers)
            return await proceed()

        at.fleet.fail("CreatePipeline", look)
        await at.create()
        await at.ready("Synced")
        assert seen == [FINALIZER]


async def test_a_resync_without_a_change_makes_no_call(world: Any) -> None:
    async with world() as at:
        async with at.operator():
            await at.create()
            await at.ready("Synced")
        at.fleet.calls.clear()
        async with at.operator() as manager:
            await at.until(lambda: manager.journals[0].recent())
            await at.settle()
            assert at.fleet.calls == []
            assert at.writes() == 0


async def test_what_the_server_refuses_is_sent_again_only_after_a_change(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.fail("CreatePipeline", at.answer(400, "invalid_argument", "bad"))
        await at.create()
        pipeline = await at.ready("ValidationError")
        assert at.condition(pipeline).message == "bad"
        await at.patch({"metadata": {"labels": {"touched": "yes"}}})
        await at.advance(20)
        assert at.fleet.count("CreatePipeline") == 1
        await at.patch({"spec": {"matchers": ["env=test"]}})
        await at.ready("Synced")
        assert at.fleet.count("CreatePipeline") == 2


async def test_a_refusal_outlives_a_restart(world: Any) -> None:
    async with world() as at:
        async with at.operator():
            at.fleet.fail("CreatePipeline", at.answer(400, "invalid_argument", "bad"))
            await at.create()
            await at.ready("ValidationError")
        async with at.operator() as manager:
            await at.until(lambda: manager.journals[0].recent())
            await at.settle()
            assert at.fleet.count("CreatePipeline") == 1


async def test_what_is_not_valid_is_never_sent(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(contents='prometheus.scrape "x" {', matchers=["env==x"])
        pipeline = await at.ready("ValidationError")
        message = at.condition(pipeline).message
        assert "spec.matchers[0]" in message
        assert "spec.contents: line 1" in message
        assert at.fleet.count() == 0


async def test_a_server_that_fails_is_tried_again_with_growing_gaps(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.fail("CreatePipeline", *[at.answer(503, "unavailable")] * 3)
        await at.create()
        await at.ready("Synced")
        times = [when for when, name in at.fleet.calls if name == "CreatePipeline"]
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert len(times) == 4
        assert gaps == sorted(gaps) and gaps[0] > 0


async def test_a_429_pauses_every_pipeline(world: Any) -> None:
    async with world() as at, at.operator(burst=1, rate=100.0):
        at.fleet.fail("CreatePipeline", at.answer(429, "resource_exhausted", retry_after="20"))
        await at.create("one")
        await at.ready("RateLimited", "one")
        await at.create("two")
        await at.ready("RateLimited", "two")
        assert at.fleet.count() == 1
        await at.ready("Synced", "one")
        await at.ready("Synced", "two")
        first, *others = (when for when, _ in at.fleet.calls)
        assert min(others) - first >= 20


async def test_refused_credentials_recover_when_the_secret_changes(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        at.fleet.accept("another-token")
        await at.connect()
        await at.create()
        pipeline = await at.ready("AuthFailed")
        before = at.fleet.count()
        assert "fleet-token-of-the-test" not in str(pipeline)
        await at.advance(60)
        assert at.fleet.count() == before
        await at.client.resource(SECRETS).patch(
            "main-credentials", {"stringData": {"password": "another-token"}}, namespace="default"
        )
        pipeline = await at.ready("Synced", within_s=10)
        assert pipeline.metadata.generation == 1
        assert pipeline.status.connection == "default/main"


async def test_a_missing_scope_is_named(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.fail("CreatePipeline", at.answer(403, "permission_denied", "no"))
        await at.create()
        pipeline = await at.ready("AuthFailed")
        assert "fleet-management:write" in at.condition(pipeline).message


async def test_a_pipeline_that_is_gone_already_lets_its_object_go(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        pipeline = await at.ready("Synced")
        at.fleet.server.pipelines.remove(pipeline.status.id, "2026-01-01T00:00:00Z")
        await at.delete()
        await at.gone()


async def test_deletion_removes_the_pipeline(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        await at.ready("Synced")
        await at.delete()
        await at.gone()
        assert at.fleet.names == []
        assert at.fleet.count("DeletePipeline") == 1


async def test_a_page_of_a_proxy_is_no_deletion(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        await at.ready("Synced")
        at.fleet.fail("DeletePipeline", at.html(404))
        await at.delete()
        pipeline = await at.ready("DeleteFailed")
        assert pipeline.metadata.finalizers == (FINALIZER,)
        assert "force-delete" in at.condition(pipeline).message
        await at.gone()
        assert at.fleet.names == []


async def test_a_wrong_url_orphans_nothing(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        await at.ready("Synced")
        at.fleet.always = at.html(404)
        await at.delete()
        await at.ready("DeleteFailed")
        await at.advance(30)
        at.fleet.always = None
        await at.gone()
        assert at.fleet.names == []


async def test_a_forced_deletion_does_not_wait_for_the_server(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        await at.ready("Synced")
        at.fleet.always = at.html(500)
        await at.delete()
        await at.ready("DeleteFailed")
        await at.patch({"metadata": {"annotations": {FORCE: "true"}}})
        await at.gone()
        assert at.fleet.names == ["web"]


async def test_a_pipeline_deleted_on_the_server_is_made_again(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        first = await at.ready("Synced")
        at.fleet.server.pipelines.remove(first.status.id, "2026-01-01T00:00:00Z")
        await at.patch({"spec": {"matchers": ["env=test"]}})
        await at.until(lambda: at.fleet.names == ["web"])
        pipeline = await at.until(lambda: _with_new_id(at, first.status.id))
        assert at.condition(pipeline).reason == "Synced"
        assert "Recreated" in await at.events()


async def _with_new_id(at: Any, old: str) -> Any:
    pipeline = await at.get()
    return pipeline if pipeline.status.id != old else None


async def test_a_second_not_found_backs_off(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        first = await at.ready("Synced")
        gone = at.answer(404, "not_found", "gone")
        at.fleet.fail("UpdatePipeline", gone)
        at.fleet.fail("CreatePipeline", gone)
        await at.patch({"spec": {"matchers": ["env=test"]}})
        pipeline = await at.ready("SyncFailed")
        assert pipeline.status.id == first.status.id
        assert at.fleet.count("CreatePipeline") == 2
        await at.ready("Synced")
        assert at.fleet.names == ["web"]


@pytest.mark.parametrize("code", [409, 500], ids=["a conflict", "a failure"])
async def test_a_status_that_could_not_be_written_makes_no_second_pipeline(
    world: Any, code: int
) -> None:
    async with world() as at:
        rule = failing_status(code, times=1)
        async with at.operator(api=Intercepted(at.client, rule)):
            await at.create()
            await at.ready("Synced")
            assert at.fleet.names == ["web"]
            assert at.fleet.count("CreatePipeline") == 1
            assert len(at.fleet.calls) == 2, "what was written is remembered"


async def test_a_pipeline_of_a_crashed_operator_is_found_and_deleted(world: Any) -> None:
    async with world() as at:
        rule = failing_status(500, times=1000)
        async with at.operator(api=Intercepted(at.client, rule)):
            await at.create()
            await at.until(lambda: at.fleet.names == ["web"])
        assert (await at.get()).status.id == ""
        await at.delete()
        async with at.operator():
            await at.gone()
        assert at.fleet.names == []


async def test_a_lost_reply_makes_no_second_pipeline(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.fail("CreatePipeline", at.lose_reply)
        await at.create()
        pipeline = await at.ready("Synced")
        assert at.fleet.names == ["web"]
        assert pipeline.status.id == at.fleet.server.pipelines.find_by_name("web").id


async def test_of_two_objects_with_one_name_the_older_wins(world: Any) -> None:
    async with world() as at, at.operator():
        await at.client.create(Namespace(metadata=ObjectMeta(name="other")))
        await at.create("first", **{"name": "shared"})
        await at.ready("Synced", "first")
        await at.clock.advance(5)
        await at.create("second", "other", **{"name": "shared"})
        pipeline = await at.ready("NameConflict", "second", "other")
        assert "default/first" in at.condition(pipeline).message
        await at.delete("second", "other")
        await at.gone("second", "other")
        assert at.fleet.names == ["shared"]
        assert at.fleet.count("DeletePipeline") == 0


async def test_a_name_that_becomes_free_goes_to_the_next(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create("first", **{"name": "shared"})
        await at.ready("Synced", "first")
        await at.create("second", **{"name": "shared"})
        await at.ready("NameConflict", "second")
        await at.delete("first")
        await at.gone("first")
        await at.ready("Synced", "second")
        assert at.fleet.names == ["shared"]


async def test_a_rename_leaves_only_the_new_name(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(**{"name": "a"})
        await at.ready("Synced")
        await at.patch({"spec": {"name": "b"}})
        await at.until(lambda: at.fleet.names == ["b"])
        pipeline = await at.until(lambda: _named(at, "b"))
        assert pipeline.status.id == at.fleet.server.pipelines.find_by_name("b").id


async def _named(at: Any, name: str) -> Any:
    pipeline = await at.get()
    return pipeline if pipeline.status.name == name else None


async def test_a_rename_that_broke_off_is_finished(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(**{"name": "a"})
        await at.ready("Synced")
        at.fleet.fail("DeletePipeline", at.answer(503, "unavailable"))
        await at.patch({"spec": {"name": "b"}})
        await at.ready("SyncFailed")
        assert at.fleet.names == ["a", "b"]
        await at.ready("Synced")
        assert at.fleet.names == ["b"]


async def test_a_rename_whose_reply_was_lost_leaves_nothing_after_a_restart(world: Any) -> None:
    async with world() as at:
        async with at.operator():
            await at.create(**{"name": "a"})
            await at.create("other", **{"name": "c"})
            await at.ready("Synced")
            await at.ready("Synced", "other")
            at.fleet.fail("CreatePipeline", at.lose_reply)
            await at.patch({"spec": {"name": "b"}})
            await at.until(lambda: at.fleet.names == ["a", "b", "c"])
        assert (await at.get()).status.name == "a"
        await at.patch({"spec": {"name": "a"}})  # nothing in the object tells of b any more
        await at.delete()
        await at.delete("other")
        before = at.fleet.count("ListPipelines")
        async with at.operator():
            await at.gone()
            await at.gone("other")
        assert at.fleet.names == []
        assert at.fleet.count("ListPipelines") - before <= 2  # and it was not read for each


async def test_a_change_on_the_server_is_corrected_within_an_interval(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        await at.create()
        await at.ready("Synced")
        await at.advance(70)
        at.fleet.put("web", OTHER, matchers=["env=prod"])
        await at.advance(70)
        assert at.fleet.server.pipelines.find_by_name("web").contents != OTHER
        assert at.fleet.count("ListPipelines") <= 3
        assert "DriftCorrected" in await at.events()


async def test_changes_are_corrected_for_every_connection_to_the_server(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        names = ("one", "two")
        for name in names:
            await at.connect(name, default=False, syncInterval="60s")
            await at.create(f"web-{name}", connectionRef={"name": name})
            await at.ready("Synced", f"web-{name}")
        for _ in range(3):  # whichever connection is swept first
            await at.advance(70)
            for name in names:
                at.fleet.put(f"web-{name}", OTHER, matchers=["env=prod"])
            await at.advance(70)
            for name in names:
                assert at.fleet.server.pipelines.find_by_name(f"web-{name}").contents != OTHER


async def test_a_change_on_the_server_is_only_reported_with_warn(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        await at.create(driftPolicy="Warn")
        await at.ready("Synced")
        await at.advance(70)
        at.fleet.put("web", OTHER, matchers=["env=prod"])
        await at.advance(70)
        pipeline = await at.get()
        assert at.fleet.server.pipelines.find_by_name("web").contents == OTHER
        assert at.condition(pipeline, "Drifted").status == "True"
        assert "contents" in at.condition(pipeline, "Drifted").message
        assert at.condition(pipeline, "Synced").reason == "Drifted"
        assert at.condition(pipeline, "Ready").status == "True"  # the server has it
        at.fleet.put("web", matchers=["env=prod"])
        await at.advance(70)
        pipeline = await at.get()
        assert at.condition(pipeline, "Drifted").status == "False"
        assert at.condition(pipeline, "Synced").status == "True"
        at.fleet.server.pipelines.remove(pipeline.status.id, "2026-01-01T00:00:00Z")
        await at.advance(70)
        pipeline = await at.get()
        assert at.fleet.names == []
        assert at.condition(pipeline, "Ready").message.startswith("changed on the server: deleted")
        assert at.condition(pipeline, "Ready").status == "False"


async def test_a_pipeline_deleted_on_the_server_comes_back_by_the_sweep(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        await at.create()
        pipeline = await at.ready("Synced")
        await at.advance(70)
        at.fleet.server.pipelines.remove(pipeline.status.id, "2026-01-01T00:00:00Z")
        await at.advance(70)
        assert at.fleet.names == ["web"]


async def test_somebody_elses_pipeline_is_left_alone(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.put("web", OTHER)
        await at.create()
        pipeline = await at.ready("AdoptionRefused")
        assert "adoptionPolicy Never" in at.condition(pipeline).message
        assert at.fleet.server.pipelines.find_by_name("web").contents == OTHER
        await at.delete()
        await at.gone()
        assert at.fleet.names == ["web"]


@pytest.mark.parametrize(
    ("policy", "source", "expected"),
    [
        pytest.param("Always", {"type": "SOURCE_TYPE_GIT", "namespace": "x"}, "Synced", id="all"),
        pytest.param("Always", {"type": "SOURCE_TYPE_GRAFANA"}, "AdoptionRefused", id="grafana"),
        pytest.param("IfUnowned", None, "Synced", id="unowned"),
        pytest.param(
            "IfUnowned", {"type": "SOURCE_TYPE_GIT", "namespace": "x"}, "AdoptionRefused", id="git"
        ),
    ],
)
async def test_adoption_follows_its_policy(
    world: Any, policy: str, source: Any, expected: str
) -> None:
    async with world() as at, at.operator():
        at.fleet.put("web", OTHER, source=source)
        await at.create(adoptionPolicy=policy)
        await at.ready(expected)
        is_ours = at.fleet.server.pipelines.find_by_name("web").contents != OTHER
        assert is_ours is (expected == "Synced")


async def test_a_hundred_pipelines_keep_to_the_rate(world: Any) -> None:
    async with world() as at:
        for number in range(100):
            await at.create(f"p{number:03}")
        async with at.operator():
            await at.until(lambda: len(at.fleet.names) == 100, within_s=60)
            for number in (0, 50, 99):
                await at.ready("Synced", f"p{number:03}")
        times = [when for when, name in at.fleet.calls if name == "CreatePipeline"]
        assert len(times) == 100
        assert 30 <= times[-1] - times[0] <= 40
        for start in times:
            assert sum(1 for when in times if start <= when < start + 10) <= 33


async def test_a_server_that_reformats_is_no_drift(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        await at.create()
        await at.ready("Synced")
        stored = at.fleet.server.pipelines.find_by_name("web")
        at.fleet.put(
            "web",
            f"{stored.contents}\n",
            matchers=['env="prod"'],
            metadata=stored.metadata,
            source=stored.source,
        )
        await at.advance(150)
        assert at.fleet.count("UpdatePipeline") == 0
        assert at.condition(await at.get(), "Drifted").status != "True"


async def test_a_mirror_is_never_written_nor_deleted(world: Any) -> None:
    async with world() as at, at.operator():
        identity = at.fleet.put("web", OTHER)
        await at.create(annotations={"fleetmanagement.grafana.com/import-mode": "read-only"})
        pipeline = await at.ready("ReadOnly")
        assert pipeline.status.id == identity
        await at.delete()
        await at.gone()
        assert at.fleet.names == ["web"]
        assert {name for _, name in at.fleet.calls} <= {
            "GetPipeline",
            "GetPipelineID",
            "ListPipelines",
        }


async def test_an_empty_sync_is_refused(world: Any) -> None:
    async with world() as at, at.operator() as manager:
        assert manager is not None
        at.fleet.put("web", source={"type": "SOURCE_TYPE_GIT", "namespace": "x"})
        source = {"type": "SOURCE_TYPE_GIT", "namespace": "x"}
        client = at.driver()
        with pytest.raises(ValueError, match="allow_empty"):
            await client.sync(source, [])
        assert at.fleet.names == ["web"]
        await client.sync(source, [], allow_empty=True)
        assert at.fleet.names == []
        await client.aclose()
