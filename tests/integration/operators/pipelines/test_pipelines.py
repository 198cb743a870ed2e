"""What else a Pipeline can say: contents kept elsewhere, dry runs, pauses, connections, secrets."""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection
from quarterdeck.client import Client
from quarterdeck.meta.conditions import find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators import pipelines
from quarterdeck.runtime.controller import rbac
from quarterdeck.runtime.observability import tracing

OTHER = 'loki.write "y" {\n}\n'
CONFIG_MAPS = GVR("", "v1", "configmaps")
SECRETS = GVR("", "v1", "secrets")
DRY_RUN = "fleetmanagement.grafana.com/dry-run"
HIDDEN = "glsa_hidden_in_the_contents"


def metadata(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace="default")


async def test_contents_of_a_config_map_are_followed(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(contentsFrom={"configMapKeyRef": {"name": "conf", "key": "a.alloy"}})
        pipeline = await at.ready("ContentsUnavailable")
        assert "ConfigMap 'conf' not found" in at.condition(pipeline).message
        await at.client.create(ConfigMap(metadata=metadata("conf"), data={"other": "x"}))
        await at.until(lambda: _says(at, "has no key 'a.alloy'"))
        await at.client.resource(CONFIG_MAPS).patch(
            "conf", {"data": {"a.alloy": OTHER}}, namespace="default"
        )
        await at.ready("Synced")
        assert at.fleet.server.pipelines.find_by_name("web").contents == OTHER
        changed = OTHER.replace("y", "z")
        await at.client.resource(CONFIG_MAPS).patch(
            "conf", {"data": {"a.alloy": changed}}, namespace="default"
        )
        await at.until(lambda: at.fleet.server.pipelines.find_by_name("web").contents == changed)


async def test_optional_contents_that_are_gone_keep_what_was_sent(world: Any) -> None:
    async with world() as at, at.operator():
        reference = {"name": "conf", "key": "a.alloy", "optional": True}
        await at.client.create(ConfigMap(metadata=metadata("conf"), data={"a.alloy": OTHER}))
        await at.create(contentsFrom={"configMapKeyRef": reference})
        await at.ready("Synced")
        await at.client.resource(CONFIG_MAPS).delete("conf", "default")
        pipeline = await at.ready("ContentsUnavailable")
        assert "optional has no effect" in at.condition(pipeline).message
        assert at.fleet.server.pipelines.find_by_name("web").contents == OTHER


async def _says(at: Any, text: str) -> bool:
    return text in at.condition(await at.get()).message


async def test_contents_of_a_secret_are_never_repeated(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with world() as at, at.operator():
        text = f'loki.write "{HIDDEN}" {{\n'
        await at.client.create(Secret(metadata=metadata("conf"), string_data={"a": text}))
        await at.create(contentsFrom={"secretKeyRef": {"name": "conf", "key": "a"}})
        pipeline = await at.ready("ValidationError")
        assert "hidden" in at.condition(pipeline).message
        await at.client.resource(SECRETS).patch(
            "conf", {"stringData": {"a": f"{text}}}\n"}}, namespace="default"
        )
        at.fleet.fail("CreatePipeline", at.answer(400, "invalid_argument", f"bad {HIDDEN}"))
        pipeline = await at.until(lambda: _refused_by_server(at))
        events = await at.client.resource(GVR("", "v1", "events")).list("default")
        assert HIDDEN not in f"{pipeline}{events}{caplog.text}"


async def _refused_by_server(at: Any) -> Any:
    pipeline = await at.get()
    return pipeline if "the fleet server rejected" in at.condition(pipeline).message else None


async def test_a_dry_run_tells_which_collectors_would_notice(world: Any) -> None:
    async with world() as at, at.operator():
        for number in range(3):
            attributes = {"env": "prod" if number else "test"}
            message = {"id": f"edge-{number}", "localAttributes": attributes}
            await at.fleet.server.agents.register(message)
        await at.create(annotations={DRY_RUN: "true"})
        pipeline = await at.ready("DryRun")
        impact = pipeline.status.impact
        assert (impact.collectors, impact.gain, impact.sample) == (3, 2, ("edge-1", "edge-2"))
        assert "2 of 3 collectors affected: 2 gain" in pipeline.status.preview
        assert '+prometheus.scrape "x" {' in pipeline.status.preview
        assert at.fleet.names == []


async def test_a_dry_run_changes_nothing_and_shows_the_difference(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(annotations={DRY_RUN: "true"})
        pipeline = await at.ready("DryRun")
        assert at.fleet.names == []
        assert pipeline.status.id == ""
        assert "would be created" in pipeline.status.preview
        assert at.condition(pipeline, "Valid").status == "True"
        await at.patch({"metadata": {"annotations": {DRY_RUN: None}}})
        pipeline = await at.ready("Synced")
        assert at.fleet.names == ["web"]
        assert pipeline.status.preview == ""
        assert at.condition(pipeline, "Valid").status == "Unknown"
        await at.patch(
            {"metadata": {"annotations": {DRY_RUN: "true"}}, "spec": {"contents": OTHER}}
        )
        pipeline = await at.ready("DryRun")
        assert "+loki.write" in pipeline.status.preview
        assert at.fleet.server.pipelines.find_by_name("web").contents != OTHER
        before = at.fleet.count()
        await at.patch({"metadata": {"labels": {"touched": "yes"}}})
        await at.settle()
        assert at.fleet.count() == before, "one question for one target"


async def test_a_paused_pipeline_is_not_sent_but_can_be_deleted(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create()
        await at.ready("Synced")
        await at.patch({"spec": {"paused": True, "contents": OTHER}})
        pipeline = await at.ready("Suspended")
        assert at.condition(pipeline).status == "False"
        assert at.fleet.server.pipelines.find_by_name("web").contents != OTHER
        await at.patch({"spec": {"paused": False}})
        await at.ready("Synced")
        assert at.fleet.server.pipelines.find_by_name("web").contents == OTHER
        await at.patch({"spec": {"paused": True}})
        await at.ready("Suspended")
        await at.delete()
        await at.gone()
        assert at.fleet.names == []


async def test_an_orphaned_pipeline_stays(world: Any) -> None:
    async with world() as at, at.operator():
        await at.create(deletionPolicy="Orphan")
        await at.ready("Synced")
        await at.delete()
        await at.gone()
        assert at.fleet.names == ["web"]


async def test_without_a_server_a_pipeline_waits_and_may_go(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.create()
        pipeline = await at.ready("NoConnection")
        assert "FLEET_MANAGEMENT_BASE_URL" in at.condition(pipeline).message
        await at.delete()
        await at.gone()


async def test_a_connection_that_appears_is_used(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.create()
        await at.ready("NoConnection")
        await at.connect()
        pipeline = await at.ready("Synced")
        assert pipeline.status.connection == "default/main"

        async def connected() -> Any:
            found = await at.client.get(FleetConnection, "main", "default")
            said = find(found.status.conditions, "Ready")
            return found if said is not None and said.reason == "Connected" else None

        connection = await at.until(connected)
        assert connection.status.last_sync_time


async def test_a_connection_without_its_secret_says_so(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.connect(secretRef={"name": "nowhere"})
        await at.create()
        pipeline = await at.ready("ConnectionInvalid")
        assert "Secret 'nowhere' not found" in at.condition(pipeline).message


async def test_two_defaults_are_refused(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.connect("one")
        await at.connect("two")
        await at.create()
        pipeline = await at.ready("NoConnection")
        assert "one, two" in at.condition(pipeline).message
        await at.patch({"spec": {"connectionRef": {"name": "two"}}})
        pipeline = await at.ready("Synced")
        assert pipeline.status.connection == "default/two"


async def test_plain_http_off_loopback_is_refused(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.connect(url="http://fleet.example.com")
        await at.create()
        pipeline = await at.ready("ConnectionInvalid")
        assert "https" in at.condition(pipeline).message


async def test_a_pipeline_goes_although_its_secret_went_first(world: Any) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.connect()
        await at.create()
        await at.ready("Synced")
        await at.client.resource(SECRETS).delete("main-credentials", "default")
        await at.client.resource(FleetConnection.KIND.gvr).delete("main", "default")
        await at.ready("NoConnection")
        await at.delete()
        await at.gone()
        assert at.fleet.names == []


async def test_the_sweep_asks_once_per_interval_for_everybody(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0, rate=1000.0, burst=1000):
        for number in range(20):
            await at.create(f"p{number}")
        await at.until(lambda: len(at.fleet.names) == 20)
        await at.advance(600)
        assert 8 <= at.fleet.count("ListPipelines") <= 12
        lists = sum(
            at.fleet.count(name)
            for name in ("ListPipelines", "ListPipelinesRevisions", "ListDeliveries")
        )
        assert at.fleet.count() == 2 * 20 + lists, "a write, and the revision of it"
        assert at.fleet.count("ListPipelinesRevisions") == 1, "asked only after a change"


async def test_the_revision_is_told_with_the_first_sync(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        await at.create()
        first = (await at.ready("Synced")).status.revision_id
        assert first
        await at.patch({"spec": {"enabled": False}})
        await at.until(lambda: not at.fleet.server.pipelines.find_by_name("web").enabled)
        await at.advance(70)
        assert int((await at.get()).status.revision_id) > int(first)


async def test_the_revision_is_told_after_a_sweep_if_the_server_was_busy(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0, rate=1.0, burst=1):
        await at.create()
        assert (await at.ready("Synced")).status.revision_id == ""
        await at.advance(70)
        assert (await at.get()).status.revision_id


async def test_a_server_without_revisions_syncs_pipelines(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        for name in ("ListPipelineRevisions", "ListPipelinesRevisions"):
            at.fleet.fail(name, at.answer(501, "unimplemented"))
        await at.create()
        await at.advance(200)
        assert at.condition(await at.get()).status == "True"
        assert at.fleet.count("ListPipelineRevisions") == 1
        assert at.fleet.count("ListPipelinesRevisions") == 0


async def test_nothing_is_used_that_the_role_does_not_allow(world: Any) -> None:
    async with world() as at:
        recorder = rbac.UsageRecorder()
        async with Client(at.client.config, clock=at.clock, network=at.network) as client:
            client.raw.observe(recorder)
            async with at.operator(api=client, has_default=False):
                await at.connect()
                await at.client.create(ConfigMap(metadata=metadata("conf"), data={"a": OTHER}))
                await at.create(contentsFrom={"configMapKeyRef": {"name": "conf", "key": "a"}})
                await at.ready("Synced")
                await at.delete()
                await at.gone()
        rules = rbac.build_rules(pipelines.declare_controllers(), leader_election=False)
        assert rbac.find_uncovered(recorder.uses, rules) == []
        verbs = {use.verb for use in recorder.uses if use.resource == "secrets"}
        assert verbs <= {"get", "list", "watch"}


async def test_secrets_are_watched_without_their_values(world: Any) -> None:
    async with world() as at, at.operator(has_default=False) as manager:
        await at.connect()
        await at.create()
        await at.ready("Synced")
        informers = [each for each in manager.informers if each.kind.KIND.kind == "Secret"]
        assert len(informers) == 1
        kept = b"".join(each.raw for each in informers[0].cache.snapshots())
        assert b"main-credentials" in kept
        assert b'"data"' not in kept


async def test_what_happens_is_counted(world: Any) -> None:
    async with world() as at, at.operator(interval_s=60.0):
        at.fleet.fail("CreatePipeline", at.answer(503, "unavailable"))
        await at.create()
        await at.ready("Synced")
        await at.advance(70)
        at.fleet.put("web", OTHER, matchers=["env=prod"])
        await at.advance(70)
        assert at.manager is not None
        value = at.manager.metrics.registry.get_value
        assert value("fleet_api_requests_total", "CreatePipeline") == 2
        assert value("fleet_api_errors_total", "CreatePipeline", "unavailable") == 1
        assert value("fleet_api_request_duration_seconds", "CreatePipeline") == 2
        assert value("fleet_api_rate_limiter_wait_duration_seconds") >= 2
        assert value("fleet_resource_synced_total", "Pipeline", "Synced") >= 1
        assert value("fleet_resource_synced_total", "Pipeline", "SyncFailed") == 1
        assert value("fleet_pipeline_drift_total", "corrected") == 1


async def test_pipelines_are_synced_after_many_429_responses(world: Any) -> None:
    async with world() as at, at.operator(rate=50.0, burst=5):
        storm = [at.answer(429, "resource_exhausted", retry_after="3")] * 4
        at.fleet.fail("CreatePipeline", *storm)
        for number in range(10):
            await at.create(f"p{number}")
        await at.until(lambda: len(at.fleet.names) == 10)
        for number in range(10):
            await at.ready("Synced", f"p{number}")
        assert at.fleet.count("CreatePipeline") == 14


async def test_slow_answers_are_waited_for_or_given_up(world: Any) -> None:
    async with world() as at, at.operator():

        async def slow(request: Any, proceed: Any) -> Any:
            await at.clock.sleep(5)
            return await proceed()

        at.fleet.fail("CreatePipeline", slow)
        await at.create()
        await at.ready("Synced")
        assert at.fleet.count("CreatePipeline") == 1


async def test_a_pipeline_that_another_client_keeps_deleting_is_left_alone_for_a_while(
    world: Any,
) -> None:
    async with world() as at, at.operator(interval_s=20.0):
        await at.create()
        await at.ready("Synced")
        for _ in range(6):
            await at.advance(25)
            for found in at.fleet.server.pipelines.list_all():
                at.fleet.server.pipelines.remove(found.id, "2026-01-01T00:00:00Z")
        pipeline = await at.get()
        assert "another client that deletes it" in at.condition(pipeline).message
        assert at.fleet.count("CreatePipeline") == 4


async def test_a_page_of_a_proxy_with_status_200_is_a_failure(world: Any) -> None:
    async with world() as at, at.operator():
        at.fleet.fail("CreatePipeline", at.html(200))
        await at.create()
        pipeline = await at.ready("SyncFailed")
        assert "not Connect JSON" in at.condition(pipeline).message
        await at.ready("Synced")


class Spans:
    """A tracer that only remembers names and attributes."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []

    @contextlib.contextmanager
    def start_as_current_span(self, name: str, attributes: dict[str, Any]) -> Iterator[None]:
        self.seen.append((name, attributes))
        yield


async def test_each_call_is_a_span_without_secrets(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = Spans()
    monkeypatch.setattr(tracing, "_active", [])
    tracing.Tracer(spans)
    async with world() as at:
        client = at.driver()
        await client.list()
        await client.aclose()
    assert [name for name, _ in spans.seen] == ["fleet ListPipelines"]
    assert spans.seen[0][1] == {"rpc.system": "connect", "rpc.method": "ListPipelines"}
