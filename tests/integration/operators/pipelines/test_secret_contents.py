"""Contents from a Secret stay hidden, also after the spec has changed to other contents."""

from typing import Any

import pytest

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    Pipeline,
    PipelineDiscovery,
    PipelineRevision,
    PipelineSet,
)
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.services.fleet.records import Collector as Registered

HIDDEN = "glsa_hidden_in_the_contents"
TEXT = f'loki.write "{HIDDEN}" {{\n}}\n'
PUBLIC = 'loki.write "public" {\n}\n'
DRY_RUN = "fleetmanagement.grafana.com/dry-run"
REFERENCE = {"secretKeyRef": {"name": "conf", "key": "a"}}
ROLLOUT = {"steps": [{"weight": 30}]}


async def begin(at: Any, text: str = TEXT, **spec: Any) -> None:
    """A pipeline whose contents are in a Secret."""
    metadata = ObjectMeta(name="conf", namespace="default")
    await at.client.create(Secret(metadata=metadata, string_data={"a": text}))
    await at.create(contentsFrom=REFERENCE, matchers=["env=prod"], **spec)
    await at.ready("Synced")


async def register(at: Any, *ids: str) -> None:
    for identity in ids:
        message = {"id": identity, "localAttributes": {"env": "prod"}}
        await at.fleet.server.agents.register(message)


async def shown(at: Any) -> str:
    """Everything that people without rights to Secrets can read."""
    found = []
    for kind in (Pipeline, PipelineRevision, PipelineSet, Collector):
        found += await at.client.resource(kind.KIND.gvr).list("default")
    found += await at.client.resource(GVR("", "v1", "events")).list("default")
    return json.encode(found).decode()


@pytest.mark.parametrize("is_metadata_kept", [True, False], ids=["kept", "dropped"])
async def test_a_dry_run_hides_the_contents_that_a_secret_had_before(
    world: Any, *, is_metadata_kept: bool
) -> None:
    async with world() as at, at.operator():
        if not is_metadata_kept:
            at.fleet.always = drop_metadata
        await register(at, "edge-1")
        await begin(at)
        inline = {"contents": PUBLIC, "contentsFrom": None}
        await at.patch({"metadata": {"annotations": {DRY_RUN: "true"}}, "spec": inline})
        pipeline = await at.ready("DryRun")
        assert "contents: differ" in pipeline.status.preview
        assert HIDDEN not in await shown(at)


async def drop_metadata(request: Any, proceed: Any) -> Any:
    """The answers of a server that does not keep metadata."""
    answer = await proceed()
    return type(answer)(answer.status, answer.headers, _strip(answer.body))


def _strip(body: bytes) -> bytes:
    message = json.decode(body)
    for each in (message, *message.get("pipelines", ())):
        each.pop("metadata", None)
    return bytes(json.encode(message))


def write_otel(receiver: str, name: str) -> str:
    return (
        f"receivers:\n  otlp/{receiver}: {{}}\nexporters:\n  debug/{name}: {{}}\n"
        f"service:\n  pipelines:\n    logs/{name}:\n"
        f"      receivers: [otlp/{receiver}]\n      exporters: [debug/{name}]\n"
    )


async def test_a_dry_run_hides_the_contents_of_other_pipelines_that_are_secret(world: Any) -> None:
    async with world() as at, at.operator():
        agent = Registered(
            id="edge-1",
            collector_type="COLLECTOR_TYPE_OTEL",
            local_attributes={"env": "prod"},
        )
        at.fleet.server.collectors.put(agent)
        text = write_otel(HIDDEN, "one")
        await begin(at, text, configType="OpenTelemetryCollector")
        await at.create(
            "other",
            contents=write_otel("other", "two"),
            configType="OpenTelemetryCollector",
            annotations={DRY_RUN: "true"},
        )
        pipeline = await at.ready("DryRun", "other")
        assert "otlp/other" in pipeline.status.preview
        assert HIDDEN not in await shown(at)


async def test_revisions_of_a_rollout_hide_the_contents_that_a_secret_had_before(
    world: Any,
) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, *(f"edge-{number}" for number in range(10)))
        await begin(at)
        inline = {"contents": PUBLIC, "contentsFrom": None, "rollout": ROLLOUT}
        await at.patch({"spec": inline})
        await at.until(lambda: _count_revisions(at, 2))
        await at.advance(60.0)
        assert HIDDEN not in await shown(at)


async def _count_revisions(at: Any, count: int) -> bool:
    return len(await at.client.list(PipelineRevision)) >= count


async def test_revisions_of_a_rollout_show_contents_that_no_secret_had(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await at.create(contents=PUBLIC)
        await at.ready("Synced")
        changed = PUBLIC.replace("public", "changed")
        await at.patch({"spec": {"contents": changed, "rollout": ROLLOUT}})
        await at.until(lambda: _count_revisions(at, 2))
        assert {each.spec.contents for each in await at.client.list(PipelineRevision)} == {PUBLIC}


async def test_a_rollback_to_contents_of_a_secret_keeps_them_hidden(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at)
        first = (await at.until(lambda: _with_revision(at))).status.revision_id
        await at.patch({"spec": {"contents": PUBLIC, "contentsFrom": None}})
        await at.until(lambda: _count_revisions(at, 2))
        await at.patch({"spec": {"rollbackTo": first}})
        await at.until(lambda: _count_revisions(at, 3))
        assert at.fleet.server.pipelines.find_by_name("web").contents == TEXT
        assert HIDDEN not in await shown(at)


async def _with_revision(at: Any) -> Pipeline | None:
    pipeline: Pipeline = await at.get()
    return pipeline if pipeline.status.revision_id else None


@pytest.mark.parametrize("code", ["internal", "failed_precondition", "unknown"])
async def test_messages_of_the_server_about_secret_contents_are_hidden(
    world: Any, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with world() as at, at.operator():
        at.fleet.fail("CreatePipeline", at.answer(500, code, f"bad {HIDDEN}"))
        metadata = ObjectMeta(name="conf", namespace="default")
        await at.client.create(Secret(metadata=metadata, string_data={"a": TEXT}))
        await at.create(contentsFrom=REFERENCE, matchers=["env=prod"])
        await at.until(lambda: at.fleet.count("CreatePipeline") > 0)
        await at.settle()
        assert HIDDEN not in await shown(at) + caplog.text


async def test_messages_about_the_secret_text_of_a_rollout_are_hidden(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at)
        fault = at.answer(400, "invalid_argument", f"bad {HIDDEN}")
        at.fleet.fail("UpdatePipeline", fault)
        inline = {"contents": PUBLIC, "contentsFrom": None, "rollout": ROLLOUT}
        await at.patch({"spec": inline})
        await at.ready("ValidationError")
        assert HIDDEN not in await shown(at)


async def test_failures_of_collectors_with_secret_contents_are_hidden(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at)
        document = {
            "apiVersion": Collector.KIND.api_version,
            "kind": "Collector",
            "metadata": {"name": "edge", "namespace": "default"},
            "spec": {"id": "edge-1"},
        }
        agents = at.fleet.server.agents
        request = {"id": "edge-1", "localAttributes": {"env": "prod"}}
        answer = await agents.get_config(request)
        status = {"status": "RemoteConfigStatuses_FAILED", "errorMessage": f"bad {HIDDEN}"}
        await agents.get_config({**request, "hash": answer["hash"], "remoteConfigStatus": status})
        await at.client.resource(Collector.KIND.gvr).create(document)
        pipeline = await at.until(lambda: _failed(at))
        assert pipeline.status.delivery.failures[0].startswith("edge-1: ")
        assert (await at.until(lambda: _reported(at))).status.config_status == "FAILED"
        assert HIDDEN not in await shown(at)


async def _failed(at: Any, name: str = "web") -> Pipeline | None:
    pipeline: Pipeline = await at.get(name)
    delivery = pipeline.status.delivery
    return pipeline if delivery is not None and delivery.failed else None


async def _reported(at: Any) -> Collector | None:
    collector: Collector = await at.client.get(Collector, "edge", "default")
    return collector if collector.status.config_status else None


async def test_pipelines_with_secret_contents_are_not_discovered(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at, name="site")
        await at.patch({"metadata": {"labels": {"in": "set"}}})
        document = {
            "apiVersion": PipelineSet.KIND.api_version,
            "kind": "PipelineSet",
            "metadata": {"name": "set", "namespace": "default"},
            "spec": {
                "source": {"type": "Git", "namespace": "repo"},
                "selector": {"matchLabels": {"in": "set"}},
            },
        }
        created = await at.client.resource(PipelineSet.KIND.gvr).create(document)
        await at.until(lambda: _has_owner(at, "site", created["metadata"]["uid"]))
        discovery = {
            "apiVersion": PipelineDiscovery.KIND.api_version,
            "kind": "PipelineDiscovery",
            "metadata": {"name": "all", "namespace": "default"},
            "spec": {"importMode": "ReadOnly"},
        }
        at.fleet.put("foreign", PUBLIC)
        await at.client.resource(PipelineDiscovery.KIND.gvr).create(discovery)
        await at.until(lambda: _exists(at, "foreign"))
        assert HIDDEN not in await shown(at)


async def _has_owner(at: Any, name: str, uid: str) -> bool:
    metadata = at.fleet.server.pipelines.find_by_name(name).metadata
    return bool(metadata["quarterdeck-owner"] == uid)


async def _exists(at: Any, name: str) -> bool:
    return name in [each.metadata.name for each in await at.client.list(Pipeline)]


async def fail(at: Any, identity: str) -> None:
    """An agent that cannot load what it is served, and quotes the Secret in its report."""
    agents = at.fleet.server.agents
    request = {"id": identity, "localAttributes": {"env": "prod"}}
    answer = await agents.get_config(request)
    status = {"status": "RemoteConfigStatuses_FAILED", "errorMessage": f"bad {HIDDEN}"}
    await agents.get_config({**request, "hash": answer["hash"], "remoteConfigStatus": status})


async def observe(at: Any, identity: str) -> None:
    document = {
        "apiVersion": Collector.KIND.api_version,
        "kind": "Collector",
        "metadata": {"name": "edge", "namespace": "default"},
        "spec": {"id": identity},
    }
    await at.client.resource(Collector.KIND.gvr).create(document)


async def test_failures_that_may_quote_the_secret_of_another_pipeline_are_hidden(
    world: Any,
) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at)
        await at.create("other", contents=PUBLIC, matchers=["env=prod"])
        await at.ready("Synced", "other")
        await fail(at, "edge-1")
        failed = await at.until(lambda: _failed(at, "other"))
        assert failed.status.delivery.failures[0].startswith("edge-1: ")
        assert HIDDEN not in await shown(at)


async def test_failures_of_collectors_with_a_secret_candidate_are_hidden(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await at.create(contents=PUBLIC, matchers=["env=prod"])
        await at.ready("Synced")
        metadata = ObjectMeta(name="conf", namespace="default")
        await at.client.create(Secret(metadata=metadata, string_data={"a": TEXT}))
        rollout = {"steps": [{"weight": 99}], "maxFailures": 9}
        spec = {"contents": None, "contentsFrom": REFERENCE, "rollout": rollout}
        await at.patch({"spec": spec})
        await at.until(lambda: _has_candidate(at))
        await fail(at, "edge-1")
        await observe(at, "edge-1")
        assert (await at.until(lambda: _reported(at))).status.config_status == "FAILED"
        assert HIDDEN not in await shown(at)


async def _has_candidate(at: Any) -> bool:
    return bool(at.fleet.server.pipelines.candidates)


async def test_failures_with_a_secret_that_a_pipeline_had_before_are_hidden(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await begin(at)
        await fail(at, "edge-1")
        await at.patch({"spec": {"contents": PUBLIC, "contentsFrom": None}})
        await at.until(lambda: _is_public(at))
        await observe(at, "edge-1")
        assert (await at.until(lambda: _reported(at))).status.config_status == "FAILED"
        assert HIDDEN not in await shown(at)


async def _is_public(at: Any) -> bool:
    return bool(at.fleet.server.pipelines.find_by_name("web").contents == PUBLIC)


async def select(at: Any, **spec: Any) -> None:
    """A set that sends every Pipeline with the label `in: set`."""
    source = {"type": "Git", "namespace": "repo"}
    document = {
        "apiVersion": PipelineSet.KIND.api_version,
        "kind": "PipelineSet",
        "metadata": {"name": "set", "namespace": "default"},
        "spec": {"source": source, "selector": {"matchLabels": {"in": "set"}}, **spec},
    }
    await at.client.resource(PipelineSet.KIND.gvr).create(document)


async def test_messages_of_the_server_about_a_set_with_secret_contents_are_hidden(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with world() as at, at.operator():
        await begin(at)
        at.fleet.fail("SyncPipelines", at.answer(400, "invalid_argument", f"bad {HIDDEN}"))
        await select(at)
        await at.patch({"metadata": {"labels": {"in": "set"}}})
        await at.until(lambda: _is_refused(at))
        assert HIDDEN not in await shown(at) + caplog.text


@pytest.mark.parametrize("is_candidate", [False, True], ids=["contents", "candidate"])
async def test_messages_about_secret_contents_that_a_deleted_set_keeps_are_hidden(
    world: Any, caplog: pytest.LogCaptureFixture, *, is_candidate: bool
) -> None:
    caplog.set_level("DEBUG")
    async with world() as at, at.operator():
        await begin(at, source={"type": "Git", "namespace": "repo"})
        if is_candidate:  # and the stable text is public
            await at.patch({"spec": {"contents": PUBLIC, "contentsFrom": None}})
            await at.until(lambda: _is_public(at))
            rollout = {"steps": [{"weight": 99}]}
            await at.patch(
                {"spec": {"contents": None, "contentsFrom": REFERENCE, "rollout": rollout}}
            )
            await at.until(lambda: _has_candidate(at))
        await at.create("other", contents=PUBLIC)
        await at.patch({"metadata": {"labels": {"in": "set"}}}, "other")
        await select(at)
        await at.until(lambda: _has_synced(at))
        fault = at.answer(400, "invalid_argument", f"bad {HIDDEN}")
        at.fleet.fail("SyncPipelines", *[fault] * 5)
        await at.client.resource(PipelineSet.KIND.gvr).delete("set", "default")
        await at.until(lambda: _is_refused(at))
        assert HIDDEN not in await shown(at) + caplog.text


async def _is_refused(at: Any) -> bool:
    return at.fleet.count("SyncPipelines") > 0 and "rejected" in await shown(at)


async def _has_synced(at: Any) -> bool:
    set_ = await at.client.get(PipelineSet, "set", "default")
    return bool(set_.status.applied_hash)
