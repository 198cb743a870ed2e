"""Collectors, policies, discovery and external attributes against our fleet server."""

from typing import Any

import pytest

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.fleetmanagement.discovery import MAX_CONFLICTS
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    ExternalAttributeSync,
    FleetConnection,
    Pipeline,
    PipelineDiscovery,
    PipelineSet,
    RemoteAttributePolicy,
)
from quarterdeck.meta.conditions import find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.objects import Object, ObjectMeta
from quarterdeck.operators.pipelines.drivers.records import SourceError
from quarterdeck.operators.pipelines.external_sync import MAX_OWNED
from quarterdeck.operators.pipelines.remote_attribute_policy import MAX_LISTED

SOURCE = {"http": {"url": "https://cmdb.example.com/hosts"}}
MAPPING = {"collectorIDField": "id", "attributeFields": {"env": "environment"}}


async def put(at: Any, kind: type[Object], name_: str, /, **spec: Any) -> None:
    await at.client.resource(kind.KIND.gvr).create(
        {
            "apiVersion": kind.KIND.api_version,
            "kind": kind.KIND.kind,
            "metadata": {"name": name_, "namespace": "default"},
            "spec": spec,
        }
    )


async def ready(at: Any, kind: Any, name: str, reason: str) -> Any:
    async def holds() -> Any:
        obj = await at.client.get(kind, name, "default")
        found = find(obj.status.conditions, "Ready")
        return obj if found is not None and found.reason == reason else None

    return await at.until(holds)


async def register(at: Any, *ids: str, **attributes: str) -> None:
    for identity in ids:
        await at.fleet.server.agents.register({"id": identity, "localAttributes": attributes})


def remote(at: Any, identity: str) -> dict[str, str]:
    return dict(at.fleet.server.collectors.get(identity).remote_attributes)


async def test_a_collector_is_shown_and_gets_its_attributes(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await put(at, Collector, "edge", id="edge-1", name="Edge", remoteAttributes={"env": "prod"})
        await ready(at, Collector, "edge", "NotRegistered")
        await register(at, "edge-1", team="a")
        calls = at.fleet.server.agents
        await calls.get_config({"id": "edge-1"})
        collector = await ready(at, Collector, "edge", "Synced")
        assert remote(at, "edge-1") == {"env": "prod"}
        assert at.fleet.server.collectors.get("edge-1").name == "Edge"
        status = collector.status
        assert status.registered and status.collector_type == "Alloy"
        assert dict(status.local_attributes) == {"team": "a"}
        assert status.attribute_owners[0].owner_kind == "Collector"
        gvr = Collector.KIND.gvr
        patch = {"spec": {"enabled": False, "remoteAttributes": {"env": None, "zone": "z"}}}
        await at.client.resource(gvr).patch("edge", patch, namespace="default")
        await at.until(lambda: remote(at, "edge-1") == {"zone": "z"})
        await at.until(lambda: not at.fleet.server.collectors.get("edge-1").enabled)


async def test_of_two_collectors_of_one_id_the_older_sets_attributes(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "edge-1")
        await put(at, Collector, "one", id="edge-1", remoteAttributes={"env": "prod", "a": "1"})
        await ready(at, Collector, "one", "Synced")
        await at.advance(5)
        await put(at, Collector, "two", id="edge-1", remoteAttributes={"env": "dev", "b": "2"})
        second = await ready(at, Collector, "two", "NameConflict")
        assert "Collector default/one" in str(find(second.status.conditions, "Ready"))
        assert second.status.registered and not second.status.effective_remote_attributes
        for _ in range(4):
            await at.advance(10)
            assert remote(at, "edge-1") == {"env": "prod", "a": "1"}
        await register(at, "edge-1", team="a")
        await at.until(lambda: _has_attributes(at, "two", {"team": "a"}))
        await at.client.resource(Collector.KIND.gvr).delete("one", "default")
        await ready(at, Collector, "two", "Synced")
        assert remote(at, "edge-1") == {"env": "dev", "b": "2"}


async def _has_attributes(at: Any, name: str, attributes: dict[str, str]) -> bool:
    collector = await at.client.get(Collector, name, "default")
    return dict(collector.status.local_attributes) == attributes


async def test_a_written_collector_replaces_a_discovered_one(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "edge-1", team="a")
        selector = {"matchers": ["team=a"]}
        await put(at, RemoteAttributePolicy, "p", selector=selector, attributes={"env": "a"})
        await put(at, CollectorDiscovery, "all", pollInterval="60s")
        await ready(at, Collector, "edge-1", "Synced")
        assert remote(at, "edge-1") == {"env": "a"}
        await put(at, Collector, "mine", id="edge-1", remoteAttributes={"env": "b"})
        await ready(at, Collector, "mine", "Synced")
        for _ in range(4):
            await at.advance(10)
            assert remote(at, "edge-1") == {"env": "b"}
        shown = await ready(at, Collector, "edge-1", "Synced")
        assert shown.status.registered and not shown.status.effective_remote_attributes
        await at.client.resource(Collector.KIND.gvr).delete("edge-1", "default")
        await at.advance(10)
        assert remote(at, "edge-1") == {"env": "b"}


async def test_foreign_attributes_survive_and_ours_go_with_the_object(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "edge-1")
        await at.driver().call(
            "BulkUpdateCollectors",
            {
                "ids": ["edge-1"],
                "ops": [{"op": "ADD", "path": "/remote_attributes/theirs", "value": "1"}],
            },
        )
        await put(at, Collector, "edge", id="edge-1", remoteAttributes={"a/b": "1"})
        await ready(at, Collector, "edge", "Synced")
        assert remote(at, "edge-1") == {"theirs": "1", "a/b": "1"}
        await at.client.resource(Collector.KIND.gvr).delete("edge", "default")
        await at.until(lambda: remote(at, "edge-1") == {"theirs": "1"})
        assert at.fleet.server.collectors.find("edge-1") is not None


async def test_a_change_of_the_switch_keeps_attributes_that_were_just_set(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "edge-1")
        await put(at, Collector, "edge", id="edge-1", remoteAttributes={"env": "prod"})
        await ready(at, Collector, "edge", "Synced")
        await at.advance(10)  # the list of collectors is read again, and kept for a while
        operations = [
            {"op": "ADD", "path": f"/remote_attributes/{key}", "value": "1"}
            for key in ("theirs", "env")
        ]
        await at.driver().call("BulkUpdateCollectors", {"ids": ["edge-1"], "ops": operations})
        patch = {"spec": {"enabled": False, "remoteAttributes": {"env": None, "zone": "z"}}}
        await at.client.resource(Collector.KIND.gvr).patch("edge", patch, namespace="default")
        await at.until(lambda: not at.fleet.server.collectors.get("edge-1").enabled)
        assert remote(at, "edge-1") == {"env": "1", "theirs": "1", "zone": "z"}


async def test_policies_set_attributes_by_priority(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "edge-1", team="a")
        await put(at, Collector, "edge", id="edge-1")
        for name, priority, env in (("low", 0, "test"), ("high", 5, "prod")):
            await put(
                at,
                RemoteAttributePolicy,
                name,
                selector={"matchers": ["team=a"]},
                attributes={"env": env},
                priority=priority,
            )
        await at.until(lambda: remote(at, "edge-1") == {"env": "prod"})
        policy = await ready(at, RemoteAttributePolicy, "high", "Matched")
        assert policy.status.matched_collector_ids == ("edge-1",)
        await put(
            at,
            RemoteAttributePolicy,
            "nobody",
            selector={"matchers": ["team=z"]},
            attributes={"x": "y"},
        )
        await ready(at, RemoteAttributePolicy, "nobody", "NoMatch")


async def test_collectors_are_discovered_and_go_stale(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "Prod_Edge.01", env="prod")
        await register(at, "other", env="test")
        await put(at, CollectorDiscovery, "all", selector={"matchers": ["env=prod"]})
        found = await ready(at, CollectorDiscovery, "all", "Synced")
        assert found.status.collectors_observed == 1
        value = at.manager.metrics.registry.get_value
        assert value("fleet_discovery_list_collectors_result_size", "default", "all") == 2
        assert value("fleet_resource_synced_total", "CollectorDiscovery", "Synced") >= 1
        collector = await at.client.get(Collector, "prod-edge-01-14a64", "default")
        assert collector.spec.id == "Prod_Edge.01"
        assert not collector.metadata.owner_references
        await at.driver().call("DeleteCollector", {"id": "Prod_Edge.01"})

        async def stale() -> bool:
            obj = await at.client.get(CollectorDiscovery, "all", "default")
            return bool(obj.status.stale_collectors == ("prod-edge-01-14a64",))

        await at.until(stale, within_s=900.0)
        await at.client.delete(CollectorDiscovery, "all", "default")
        series = 'fleet_discovery_list_collectors_result_size{namespace="default"'
        await at.until(lambda: series not in at.manager.metrics.registry.render().decode())


async def test_read_only_mirrors_follow_the_server_and_never_delete(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        at.fleet.put("web")
        await put(at, PipelineDiscovery, "all", importMode="ReadOnly", pollInterval="1m")
        await ready(at, PipelineDiscovery, "all", "Synced")
        await at.ready("ReadOnly", "web")
        at.fleet.put("web", 'loki.write "changed" {\n}\n')

        async def follows() -> bool:
            pipeline = await at.client.get(Pipeline, "web", "default")
            return "changed" in pipeline.spec.contents

        await at.until(follows, within_s=200.0)
        await at.delete("web")
        await at.gone("web")
        assert at.fleet.names == ["web"]


async def test_adopted_pipelines_are_managed_and_names_in_use_are_conflicts(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        at.fleet.put("theirs")
        at.fleet.put("taken")
        await at.create(
            "taken", annotations={"fleetmanagement.grafana.com/import-mode": "read-only"}
        )
        await put(at, PipelineDiscovery, "all")
        found = await ready(at, PipelineDiscovery, "all", "Synced")
        await at.ready("Synced", "theirs")
        assert [(each.cr_name, each.reason) for each in found.status.conflicts] == [
            ("taken", "NotOwnedByDiscovery")
        ]
        assert found.status.pipelines_managed == 1


class Inventory:
    """A source of records that a test changes."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] | None = []

    async def read(self, source: Any, secret: Any) -> list[dict[str, Any]]:
        if self.records is None:
            raise SourceError("cmdb.example.com answered HTTP 500, expected 200")
        return self.records


async def put_inventory_sync(at: Any) -> None:
    """Make an ExternalAttributeSync that reads an `Inventory`."""
    await put(
        at,
        ExternalAttributeSync,
        "cmdb",
        source={"http": {"url": "https://cmdb.example.com/hosts"}},
        schedule="1m",
        mapping={"collectorIDField": "id", "attributeFields": {"env": "environment"}},
    )


async def test_an_inventory_wins_and_an_outage_changes_nothing(world: Any) -> None:
    inventory = Inventory()
    inventory.records = [{"id": "edge-1", "environment": "prod"}, {"id": "gone"}]
    async with world() as at, at.operator(interval_s=10.0, reader=inventory):
        await register(at, "edge-1")
        await put(at, Collector, "edge", id="edge-1", remoteAttributes={"env": "test"})
        await put_inventory_sync(at)
        await ready(at, ExternalAttributeSync, "cmdb", "Synced")
        value = at.manager.metrics.registry.get_value
        assert value("fleet_external_sync_owned_keys", "default", "cmdb") == 1
        await at.until(lambda: remote(at, "edge-1") == {"env": "prod"})
        inventory.records = []
        await at.until(lambda: _stalled(at), within_s=200.0)
        inventory.records = None
        await ready(at, ExternalAttributeSync, "cmdb", "SourceFailed")
        assert value("fleet_resource_synced_total", "ExternalAttributeSync", "SourceFailed") >= 1
        assert remote(at, "edge-1") == {"env": "prod"}


async def _stalled(at: Any) -> bool:
    sync = await at.client.get(ExternalAttributeSync, "cmdb", "default")
    return find(sync.status.conditions, "Stalled") is not None


async def test_lists_in_statuses_have_an_end_and_say_so(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        for number in range(MAX_LISTED + 1):
            await register(at, f"edge-{number:04}", team="a")
        await put(
            at,
            RemoteAttributePolicy,
            "all",
            selector={"matchers": ["team=a"]},
            attributes={"env": "prod"},
        )
        policy = await ready(at, RemoteAttributePolicy, "all", "Matched")
        assert policy.status.matched_count == MAX_LISTED + 1
        assert len(policy.status.matched_collector_ids) == MAX_LISTED
        truncated = find(policy.status.conditions, "Truncated")
        assert truncated is not None and truncated.status == "True"
        await at.client.resource(RemoteAttributePolicy.KIND.gvr).patch(
            "all",
            {"spec": {"selector": {"matchers": ["collector.ID=edge-0000"]}}},
            namespace="default",
        )

        async def is_whole() -> bool:
            found = await at.client.get(RemoteAttributePolicy, "all", "default")
            return found.status.matched_count == 1 and not find(
                found.status.conditions, "Truncated"
            )

        await at.until(is_whole)


async def test_an_inventory_of_too_many_collectors_is_refused_and_changes_nothing(
    world: Any,
) -> None:
    inventory = Inventory()
    inventory.records = [{"id": "edge-0000", "environment": "prod"}]
    async with world() as at, at.operator(interval_s=10.0, reader=inventory):
        for number in range(MAX_OWNED + 1):
            await register(at, f"edge-{number:04}")
        await put(at, Collector, "edge", id="edge-0000")
        await put_inventory_sync(at)
        await at.until(lambda: remote(at, "edge-0000") == {"env": "prod"})
        inventory.records = [
            {"id": f"edge-{number:04}", "environment": "test"} for number in range(MAX_OWNED + 1)
        ]
        await at.advance(70)
        await ready(at, ExternalAttributeSync, "cmdb", "OwnedKeysExceeded")
        assert remote(at, "edge-0000") == {"env": "prod"}
        inventory.records = inventory.records[:MAX_OWNED]
        await ready(at, ExternalAttributeSync, "cmdb", "Synced")
        await at.until(lambda: remote(at, "edge-0000") == {"env": "test"})


async def test_of_two_discoveries_one_has_an_object_and_the_other_says_so(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        for number in range(MAX_CONFLICTS + 1):
            await register(at, f"edge-{number:03}")
        await put(at, CollectorDiscovery, "first")
        found = await ready(at, CollectorDiscovery, "first", "Synced")
        assert found.status.collectors_managed == MAX_CONFLICTS + 1
        await put(at, CollectorDiscovery, "second")
        found = await ready(at, CollectorDiscovery, "second", "Synced")
        assert found.status.collectors_managed == 0
        assert {each.reason for each in found.status.conflicts} == {"OwnedByOtherDiscovery"}
        assert len(found.status.conflicts) == MAX_CONFLICTS
        truncated = find(found.status.conditions, "TruncatedConflicts")
        assert truncated is not None and f"of {MAX_CONFLICTS + 1} conflicts" in truncated.message


async def test_ids_of_a_discovery_are_added_to_its_matchers(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await register(at, "by-matcher", env="prod")
        await register(at, "by-id", env="test")
        await register(at, "neither", env="test")
        selector = {"matchers": ["env=prod"], "collectorIDs": ["by-id"]}
        await put(at, CollectorDiscovery, "some", selector=selector)
        await ready(at, CollectorDiscovery, "some", "Synced")
        listed = await at.client.list(Collector, namespace="default")
        assert sorted(each.spec.id for each in listed) == ["by-id", "by-matcher"]


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (Collector, {"id": "edge-1"}),
        (CollectorDiscovery, {}),
        (PipelineDiscovery, {}),
        (RemoteAttributePolicy, {"selector": {"matchers": ["a=b"]}, "attributes": {"x": "y"}}),
        (ExternalAttributeSync, {"source": SOURCE, "mapping": MAPPING}),
        (
            PipelineSet,
            {"source": {"namespace": "git"}, "pipelines": [{"name": "a", "contents": "// a"}]},
        ),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "",
)
async def test_what_waits_for_a_connection_goes_on_when_it_can_be_used(
    world: Any, kind: Any, spec: dict[str, Any]
) -> None:
    async with world() as at, at.operator(has_default=False, reader=Inventory()):
        await register(at, "edge-1")
        await put(at, kind, "early", connectionRef={"name": "main"}, **spec)
        await ready(at, kind, "early", "NoConnection")
        await at.connect(secretRef={"name": "later"})
        await ready(at, kind, "early", "ConnectionInvalid")
        known = await at.client.get(Secret, "main-credentials", "default")
        metadata = ObjectMeta(name="later", namespace="default")
        await at.client.create(Secret(metadata=metadata, data=known.data))

        async def goes_on() -> bool:
            obj = await at.client.get(kind, "early", "default")
            found = find(obj.status.conditions, "Ready")
            return found is not None and found.reason not in ("NoConnection", "ConnectionInvalid")

        await at.until(goes_on, within_s=20.0)


async def test_source_is_read_when_its_secret_appears(world: Any) -> None:
    async with world() as at, at.operator(reader=Inventory()):
        source = {**SOURCE, "secretRef": {"name": "later"}}
        await put(at, ExternalAttributeSync, "inventory", source=source, mapping=MAPPING)
        await ready(at, ExternalAttributeSync, "inventory", "ContentsUnavailable")
        metadata = ObjectMeta(name="later", namespace="default")
        await at.client.create(Secret(metadata=metadata, string_data={"bearer-token": "t"}))
        await ready(at, ExternalAttributeSync, "inventory", "Synced")


SECRETS = GVR("", "v1", "secrets")


@pytest.mark.parametrize("kind", [Collector, PipelineSet], ids=["collector", "set"])
async def test_what_is_on_the_server_goes_although_the_secret_went_first(
    world: Any, kind: type[Object]
) -> None:
    async with world() as at, at.operator(has_default=False):
        await at.connect()
        await put_with_effect(at, kind)
        await at.client.resource(SECRETS).delete("main-credentials", "default")
        await at.client.resource(FleetConnection.KIND.gvr).delete("main", "default")
        await at.client.resource(kind.KIND.gvr).delete("it", "default")
        await at.until(lambda: _is_gone(at, kind))
        assert remote(at, "edge-1") == {} and at.fleet.names == []


async def test_attributes_wait_for_a_connection_that_cannot_be_used_after_a_restart(
    world: Any,
) -> None:
    async with world() as at:
        async with at.operator(has_default=False):
            await at.connect()
            await put_with_effect(at, Collector)
        await at.client.resource(SECRETS).delete("main-credentials", "default")
        await at.client.resource(Collector.KIND.gvr).delete("it", "default")
        async with at.operator(has_default=False):
            await at.advance(10.0)
            assert remote(at, "edge-1") == {"env": "prod"}
            assert not await _is_gone(at, Collector)
            metadata = ObjectMeta(name="main-credentials", namespace="default")
            data = {"username": "tenant", "password": "fleet-token-of-the-test"}
            await at.client.create(Secret(metadata=metadata, string_data=data))
            await at.until(lambda: _is_gone(at, Collector), within_s=400.0)
        assert remote(at, "edge-1") == {}


async def put_with_effect(at: Any, kind: type[Object]) -> None:
    """An object `it` whose effect is on the server."""
    await register(at, "edge-1")
    if kind is Collector:
        await put(at, kind, "it", id="edge-1", remoteAttributes={"env": "prod"})
    else:
        source = {"type": "Git", "namespace": "repo"}
        member = {"name": "a", "contents": 'loki.write "x" {\n}\n', "matchers": ["env=prod"]}
        await put(at, kind, "it", source=source, pipelines=[member])
    await ready(at, kind, "it", "Synced")


async def _is_gone(at: Any, kind: type[Object]) -> bool:
    return not await at.client.list(kind)


async def test_pipelines_of_a_set_are_not_discovered(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        await put_with_effect(at, PipelineSet)
        at.fleet.put("foreign")
        await put(at, PipelineDiscovery, "all")
        await ready(at, PipelineDiscovery, "all", "Synced")
        assert [each.metadata.name for each in await at.client.list(Pipeline)] == ["foreign"]


async def test_a_pipeline_that_cannot_be_an_object_does_not_stop_a_discovery(world: Any) -> None:
    async with world() as at, at.operator(interval_s=10.0):
        identity = at.fleet.put("a", source={"type": "SOURCE_TYPE_GIT"})
        at.fleet.put("b")
        await put(at, PipelineDiscovery, "all")
        found = await ready(at, PipelineDiscovery, "all", "ValidationError")
        condition = find(found.status.conditions, "Ready")
        assert condition is not None and "1 refused: Pipeline" in condition.message
        assert "source.namespace" in condition.message
        assert [each.metadata.name for each in await at.client.list(Pipeline)] == ["b"]
        assert (found.status.pipelines_observed, found.status.pipelines_managed) == (2, 1)
        at.fleet.server.pipelines.remove(identity, "2026-01-01T00:00:00Z")
        at.fleet.put("a")
        await at.advance(300)
        await ready(at, PipelineDiscovery, "all", "Synced")
        assert len(await at.client.list(Pipeline)) == 2


async def test_a_read_only_mirror_loses_what_the_server_no_longer_has(world: Any) -> None:
    git = {"type": "SOURCE_TYPE_GIT", "namespace": "repo"}
    async with world() as at, at.operator(interval_s=10.0):
        at.fleet.put("a", source=git)
        await at.connect("main")
        reference = {"name": "main"}
        await put(at, PipelineDiscovery, "all", importMode="ReadOnly", connectionRef=reference)
        await ready(at, PipelineDiscovery, "all", "Synced")
        mirror = await at.client.get(Pipeline, "a", "default")
        assert mirror.spec.source.namespace == "repo" and mirror.spec.connection_ref.name == "main"
        at.fleet.put("a")
        patch = {"spec": {"connectionRef": None}}
        gvr = PipelineDiscovery.KIND.gvr
        await at.client.resource(gvr).patch("all", patch, namespace="default")
        await at.advance(300)
        mirror = await at.client.get(Pipeline, "a", "default")
        assert mirror.spec.source is None and mirror.spec.connection_ref is None
        version = mirror.metadata.resource_version
        await at.advance(300)
        mirror = await at.client.get(Pipeline, "a", "default")
        assert mirror.metadata.resource_version == version
