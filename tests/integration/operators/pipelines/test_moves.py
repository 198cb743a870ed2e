"""Pipelines that move to another fleet server, and connections that are not there."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from tests.integration.operators.pipelines.conftest import EVENTS, TOKEN, FaultyFleet, answer

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    FleetConnection,
    Pipeline,
    PipelineSet,
)
from quarterdeck.kit import http
from quarterdeck.meta.conditions import find
from quarterdeck.meta.objects import Object, ObjectMeta

OTHER_HOST = "other.svc"
CONTENTS = 'loki.write "x" {\n}\n'


@contextlib.asynccontextmanager
async def other_fleet(world: Any) -> AsyncIterator[FaultyFleet]:
    """A second fleet server, with a FleetConnection `other` to it."""
    fleet = FaultyFleet(world.clock)
    server = http.Server(fleet.handle, clock=world.clock)
    world.network.serve(server, OTHER_HOST)
    await world.connect("main", default=False)
    await world.connect("other", default=False, url=f"http://{OTHER_HOST}")
    try:
        yield fleet
    finally:
        await server.close()


async def move(world: Any) -> None:
    await world.patch({"spec": {"connectionRef": {"name": "other"}}})


async def test_a_pipeline_that_moves_is_removed_from_its_first_server(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        await w.create(connectionRef={"name": "main"})
        await w.ready("Synced")
        await move(w)
        await w.until(lambda: other.names == ["web"] and w.fleet.names == [])
        pipeline = await w.ready("Synced")
        assert pipeline.status.connection == "default/other"
        await w.delete()
        await w.gone()
        assert other.names == []


async def test_what_remains_on_the_first_server_is_told(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        await w.create(connectionRef={"name": "main"})
        await w.ready("Synced")
        w.fleet.fail("DeletePipeline", answer(403, "permission_denied"))
        await move(w)
        await w.until(lambda: other.names == ["web"])

        async def is_told() -> bool:
            return "Orphaned" in await w.events()

        await w.until(is_told)
        assert w.fleet.names == ["web"]


async def test_a_pipeline_whose_first_connection_is_gone_moves(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        async with w.operator():
            await w.create(connectionRef={"name": "main"})
            await w.ready("Synced")
        await w.client.resource(FleetConnection.KIND.gvr).delete("main", "default")
        await move(w)
        async with w.operator():
            await w.until(lambda: other.names == ["web"])

            async def is_told() -> bool:
                return "Orphaned" in await w.events()

            await w.until(is_told)
        assert w.fleet.names == ["web"]


async def test_a_connection_that_does_not_exist_is_named_and_waited_for(world: Any) -> None:
    async with world() as w, w.operator(has_default=False):
        await w.create(connectionRef={"name": "main"})
        pipeline = await w.ready("NoConnection")
        text = "spec.connectionRef: FleetConnection default/main not found"
        assert w.condition(pipeline).message == text
        await w.connect("main", default=False)
        await w.ready("Synced")


async def remove_connection(world: Any) -> None:
    await world.client.resource(FleetConnection.KIND.gvr).delete("other", "default")


async def put(world: Any, kind: type[Object], name_: str, /, **spec: Any) -> None:
    await world.client.resource(kind.KIND.gvr).create(
        {
            "apiVersion": kind.KIND.api_version,
            "kind": kind.KIND.kind,
            "metadata": {"name": name_, "namespace": "default"},
            "spec": spec,
        }
    )


async def get_reason(world: Any, kind: Any, name: str) -> str:
    found = find((await world.client.get(kind, name, "default")).status.conditions, "Ready")
    return found.reason if found is not None else ""


async def test_a_deletion_touches_no_other_server_than_the_one_it_was_sent_to(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        foreign = w.fleet.put("foreign")
        async with w.operator():
            await w.create(connectionRef={"name": "other"})
            assert (await w.ready("Synced")).status.id == foreign
        await remove_connection(w)
        await w.patch({"spec": {"connectionRef": None}})
        await w.delete()
        async with w.operator():  # which does not know the other server any more
            await w.until(lambda: is_waiting(w))
            assert w.fleet.names == ["foreign"] and other.names == ["web"]
            url, secret = f"http://{OTHER_HOST}", {"name": "other-credentials"}
            await put(w, FleetConnection, "other", url=url, secretRef=secret)
            await w.gone()
            assert w.fleet.names == ["foreign"] and other.names == []


async def test_a_deletion_finds_its_server_under_another_name(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        async with w.operator():
            await w.create(connectionRef={"name": "other"})
            await w.ready("Synced")
        await remove_connection(w)
        url, secret = f"http://{OTHER_HOST}", {"name": "other-credentials"}
        await put(w, FleetConnection, "renamed", url=url, secretRef=secret, default=True)
        await w.patch({"spec": {"connectionRef": None}})
        await w.delete()
        async with w.operator():
            await w.gone()
        assert other.names == []


async def is_waiting(world: Any) -> bool:
    return bool(await get_reason(world, Pipeline, "web") == "DeleteFailed")


async def test_a_deleted_set_deletes_nothing_of_another_server(world: Any) -> None:
    source = {"type": "Git", "namespace": "repo"}
    on_server = {"type": "SOURCE_TYPE_GIT", "namespace": "repo"}
    member = {"name": "a", "contents": 'loki.write "x" {\n}\n', "matchers": ["env=prod"]}
    async with world() as w, other_fleet(w) as other, w.operator():
        w.fleet.put("b", source=on_server)
        await w.client.resource(FleetConnection.KIND.gvr).patch(
            "other", {"spec": {"default": True}}, namespace="default"
        )
        await put(w, PipelineSet, "set", source=source, pipelines=[member])
        await w.until(lambda: other.names == ["a"])
        await w.until(lambda: has_reason(w, PipelineSet, "set", "Synced"))
        other.fail("SyncPipelines", *[answer(503, "unavailable")] * 3)
        other.fail("ListPipelines", *[answer(503, "unavailable")] * 3)
        await w.client.resource(PipelineSet.KIND.gvr).delete("set", "default")
        await remove_connection(w)
        await w.until(lambda: other.names == [])
        assert w.fleet.names == ["b"]


async def has_reason(world: Any, kind: Any, name: str, reason: str) -> bool:
    return await get_reason(world, kind, name) == reason


async def test_a_deleted_collector_keeps_its_attributes_on_another_server(world: Any) -> None:
    attributes = {"env": "prod"}
    async with world() as w, other_fleet(w) as other:
        for each in (w.fleet, other):
            await each.server.agents.register({"id": "edge-1"})
        async with w.operator():
            reference = {"name": "other"}
            await put(
                w,
                Collector,
                "edge",
                id="edge-1",
                remoteAttributes=attributes,
                connectionRef=reference,
            )
            await w.until(lambda: has_reason(w, Collector, "edge", "Synced"))
        rules = w.fleet.server.collectors
        rules.put(msgspec.structs.replace(rules.get("edge-1"), remote_attributes=attributes))
        await remove_connection(w)
        gvr = Collector.KIND.gvr
        patch = {"spec": {"connectionRef": None}}
        await w.client.resource(gvr).patch("edge", patch, namespace="default")
        await w.client.resource(gvr).delete("edge", "default")
        async with w.operator():
            await w.until(lambda: is_absent(w, Collector, "edge"))
        assert rules.get("edge-1").remote_attributes == attributes


async def is_absent(world: Any, kind: Any, name: str) -> bool:
    return name not in [each.metadata.name for each in await world.client.list(kind)]


async def test_a_set_that_moves_takes_no_source_of_another_there(world: Any) -> None:
    source = {"type": "Git", "namespace": "repo"}
    async with world() as w, other_fleet(w) as other, w.operator():
        for name, reference in (("one", "other"), ("two", "main")):
            member = {"name": f"p-{name}", "contents": 'loki.write "x" {\n}\n', "matchers": ["a=b"]}
            reference_to = {"name": reference}
            await put(
                w, PipelineSet, name, source=source, pipelines=[member], connectionRef=reference_to
            )
            await w.until(lambda name=name: has_reason(w, PipelineSet, name, "Synced"))
            await w.advance(5)
        assert (w.fleet.names, other.names) == (["p-two"], ["p-one"])
        patch = {"spec": {"connectionRef": {"name": "main"}}}
        await w.client.resource(PipelineSet.KIND.gvr).patch("one", patch, namespace="default")
        await w.until(lambda: has_reason(w, PipelineSet, "one", "NameConflict"))
        assert w.fleet.names == ["p-two"]
        assert await has_reason(w, PipelineSet, "two", "Synced")


async def test_what_a_set_that_moves_leaves_behind_is_told(world: Any) -> None:
    source = {"type": "Git", "namespace": "repo"}
    member = {"name": "a", "contents": 'loki.write "x" {\n}\n', "matchers": ["a=b"]}
    async with world() as w, other_fleet(w) as other, w.operator():
        first = {"name": "other"}
        await put(w, PipelineSet, "set", source=source, pipelines=[member], connectionRef=first)
        await w.until(lambda: has_reason(w, PipelineSet, "set", "Synced"))
        w.fleet.fail("SyncPipelines", answer(503, "unavailable"))
        patch = {"spec": {"connectionRef": {"name": "main"}}}
        await w.client.resource(PipelineSet.KIND.gvr).patch("set", patch, namespace="default")
        await w.until(lambda: is_told_orphaned(w))
        assert w.fleet.names == other.names == ["a"]
        await w.client.resource(PipelineSet.KIND.gvr).delete("set", "default")
        await w.until(lambda: w.fleet.names == [])
        assert other.names == ["a"]


async def is_told_orphaned(world: Any) -> bool:
    return "Orphaned" in await world.events()


async def put_set(world: Any, name: str, connection: str, **spec: Any) -> None:
    """A set of one pipeline; all sets have the same source."""
    await put(
        world,
        PipelineSet,
        name,
        source={"type": "Git", "namespace": "repo"},
        pipelines=[{"name": f"p-{name}", "contents": CONTENTS, "matchers": ["a=b"]}],
        connectionRef={"name": connection},
        **spec,
    )


async def move_set(world: Any, name: str, connection: str) -> None:
    patch = {"spec": {"connectionRef": {"name": connection}}}
    await world.client.resource(PipelineSet.KIND.gvr).patch(name, patch, namespace="default")


async def delete_set(world: Any, name: str) -> None:
    await world.client.resource(PipelineSet.KIND.gvr).delete(name, "default")
    await world.until(lambda: is_absent(world, PipelineSet, name))


async def test_a_set_without_a_source_where_it_moves_cleans_up_where_it_was(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        for name, connection in (("one", "other"), ("two", "main")):
            await put_set(w, name, connection)
            await w.until(lambda name=name: has_reason(w, PipelineSet, name, "Synced"))
        await move_set(w, "one", "main")
        await w.until(lambda: has_reason(w, PipelineSet, "one", "NameConflict"))
        await delete_set(w, "one")
        assert (w.fleet.names, other.names) == (["p-two"], [])


async def test_a_set_that_gets_its_source_late_tells_what_it_left_behind(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        for name, connection in (("one", "other"), ("two", "main")):
            await put_set(w, name, connection)
            await w.until(lambda name=name: has_reason(w, PipelineSet, name, "Synced"))
        await move_set(w, "one", "main")
        await w.until(lambda: has_reason(w, PipelineSet, "one", "NameConflict"))
        await delete_set(w, "two")
        await w.until(lambda: is_told_orphaned(w))
        assert (w.fleet.names, other.names) == (["p-one"], ["p-one"])


async def test_a_deleted_set_keeps_what_its_successor_has_sent(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        await put_set(w, "one", "other")
        await w.until(lambda: has_reason(w, PipelineSet, "one", "Synced"))
        await put_set(w, "two", "other")
        await w.until(lambda: has_reason(w, PipelineSet, "two", "NameConflict"))
        w.fleet.fail("SyncPipelines", *[answer(503, "unavailable")] * 9)
        await move_set(w, "one", "main")
        await w.until(lambda: has_reason(w, PipelineSet, "two", "Synced"))
        assert await has_reason(w, PipelineSet, "one", "SyncFailed")
        sent = other.count("SyncPipelines")
        await delete_set(w, "one")
        assert other.names == ["p-two"] and other.count("SyncPipelines") == sent


async def test_a_pipeline_that_moves_while_the_operator_is_down_is_removed(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        for name in ("a", "b"):  # opened before `main`, by all workers for connections
            await w.connect(name, default=False)
        async with w.operator():
            await w.create(connectionRef={"name": "main"})
            await w.ready("Synced")
        await move(w)

        async def wait(request: Any, proceed: Any) -> Any:
            await w.clock.sleep(20.0)
            return await proceed()

        w.fleet.fail("ListPipelines", wait, wait)
        async with w.operator():
            await w.until(lambda: other.names == ["web"] and w.fleet.names == [])
            assert "Orphaned" not in await w.events()


async def remove_credentials(world: Any) -> None:
    await world.client.resource(Secret.KIND.gvr).delete("other-credentials", "default")


async def restore_credentials(world: Any) -> None:
    metadata = ObjectMeta(name="other-credentials", namespace="default")
    values = {"username": "tenant", "password": TOKEN}
    await world.client.create(Secret(metadata=metadata, string_data=values))


async def get_message(world: Any, kind: Any, name: str) -> str:
    found = find((await world.client.get(kind, name, "default")).status.conditions, "Ready")
    return found.message if found is not None else ""


async def test_a_deleted_collector_waits_for_a_connection_that_cannot_be_used(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        await other.server.agents.register({"id": "edge-1"})
        async with w.operator():
            reference = {"name": "other"}
            spec = {"id": "edge-1", "remoteAttributes": {"env": "prod"}}
            await put(w, Collector, "edge", **spec, connectionRef=reference)
            await w.until(lambda: has_reason(w, Collector, "edge", "Synced"))
        gvr = Collector.KIND.gvr
        patch = {"spec": {"connectionRef": {"name": "main"}}}
        await w.client.resource(gvr).patch("edge", patch, namespace="default")
        await remove_credentials(w)
        await w.client.resource(gvr).delete("edge", "default")
        async with w.operator():
            await w.until(lambda: has_reason(w, Collector, "edge", "ConnectionInvalid"))
            await restore_credentials(w)
            await w.advance(300)
            await w.until(lambda: is_absent(w, Collector, "edge"))
        assert other.server.collectors.get("edge-1").remote_attributes == {}


async def test_a_deletion_says_why_a_connection_cannot_be_used(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        async with w.operator():
            await w.create(connectionRef={"name": "other"})
            await w.ready("Synced")
            await put_set(w, "set", "other")
            await w.until(lambda: has_reason(w, PipelineSet, "set", "Synced"))
        await remove_credentials(w)
        await w.delete()
        await w.client.resource(PipelineSet.KIND.gvr).delete("set", "default")
        async with w.operator():
            await w.until(lambda: is_waiting(w))
            await w.until(lambda: has_reason(w, PipelineSet, "set", "ConnectionInvalid"))
            for kind, name in ((Pipeline, "web"), (PipelineSet, "set")):
                text = await get_message(w, kind, name)
                assert "Secret 'other-credentials' not found" in text
                assert "force-delete=true" in text
            await restore_credentials(w)
            await w.advance(300)
            await w.gone()
            await w.until(lambda: is_absent(w, PipelineSet, "set"))
        assert other.names == []


async def test_a_set_whose_connection_was_renamed_is_not_said_to_have_left(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        async with w.operator():
            await put_set(w, "one", "other")
            await w.until(lambda: has_reason(w, PipelineSet, "one", "Synced"))
        await remove_connection(w)
        spec = {"url": f"http://{OTHER_HOST}", "secretRef": {"name": "other-credentials"}}
        await put(w, FleetConnection, "renamed", **spec)
        await move_set(w, "one", "renamed")
        async with w.operator():
            await w.until(lambda: is_told_orphaned(w))
        listed = await w.client.resource(EVENTS).list("default")
        texts = [each["message"] for each in listed if each["reason"] == "Orphaned"]
        assert all("if that was another server" in text for text in texts)
        assert other.names == ["p-one"]


async def test_a_set_keeps_its_source_when_its_connection_is_renamed(world: Any) -> None:
    async with world() as w, other_fleet(w) as other:
        async with w.operator():
            await put_set(w, "a", "other", paused=True)
            await w.advance(5)
            await put_set(w, "b", "other")
            await w.until(lambda: has_reason(w, PipelineSet, "b", "Synced"))
            patch = {"spec": {"paused": False}}
            gvr = PipelineSet.KIND.gvr
            await w.client.resource(gvr).patch("a", patch, namespace="default")
            await w.until(lambda: has_reason(w, PipelineSet, "a", "NameConflict"))
        await remove_connection(w)
        spec = {"url": f"http://{OTHER_HOST}", "secretRef": {"name": "other-credentials"}}
        await put(w, FleetConnection, "renamed", **spec)
        for name in "ab":
            await move_set(w, name, "renamed")
        async with w.operator():
            await w.until(lambda: is_told_orphaned(w))
            assert await has_reason(w, PipelineSet, "a", "NameConflict")
        assert other.names == ["p-b"]


async def test_a_set_gets_the_source_that_the_connection_of_another_leaves(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        await w.connect("alias", default=False)
        await put_set(w, "one", "alias")
        await w.until(lambda: has_reason(w, PipelineSet, "one", "Synced"))
        await put_set(w, "two", "main")
        await w.until(lambda: has_reason(w, PipelineSet, "two", "NameConflict"))
        patch = {"spec": {"url": f"http://{OTHER_HOST}"}}
        await w.client.resource(FleetConnection.KIND.gvr).patch("alias", patch, namespace="default")
        await w.until(lambda: other.names == ["p-one"])
        await w.advance(600)
        await w.until(lambda: has_reason(w, PipelineSet, "two", "Synced"))
        assert w.fleet.names == ["p-two"]


async def test_a_collector_that_moves_takes_its_attributes_along(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        for each in (w.fleet, other):
            await each.server.agents.register({"id": "edge-1"})
        spec = {"id": "edge-1", "remoteAttributes": {"env": "prod", "team": "a"}}
        await put(w, Collector, "edge", **spec, connectionRef={"name": "main"})
        await w.until(lambda: has_reason(w, Collector, "edge", "Synced"))
        rules = other.server.collectors
        foreign = msgspec.structs.replace(rules.get("edge-1"), remote_attributes={"env": "prod"})
        rules.put(foreign)
        patch = {
            "spec": {
                "connectionRef": {"name": "other"},
                "remoteAttributes": {"env": None, "x": "y"},
            }
        }
        await w.client.resource(Collector.KIND.gvr).patch("edge", patch, namespace="default")
        expected = {"env": "prod", "team": "a", "x": "y"}
        await w.until(lambda: rules.get("edge-1").remote_attributes == expected)
        assert w.fleet.server.collectors.get("edge-1").remote_attributes == {}


async def test_attributes_that_a_collector_leaves_behind_are_told(world: Any) -> None:
    async with world() as w, other_fleet(w) as other, w.operator():
        for each in (w.fleet, other):
            await each.server.agents.register({"id": "edge-1"})
        spec = {"id": "edge-1", "remoteAttributes": {"env": "prod"}}
        await put(w, Collector, "edge", **spec, connectionRef={"name": "main"})
        await w.until(lambda: has_reason(w, Collector, "edge", "Synced"))
        w.fleet.fail("BulkUpdateCollectors", answer(403, "permission_denied"))
        patch = {"spec": {"connectionRef": {"name": "other"}}}
        await w.client.resource(Collector.KIND.gvr).patch("edge", patch, namespace="default")
        await w.until(lambda: is_told_orphaned(w))
        assert other.server.collectors.get("edge-1").remote_attributes == {"env": "prod"}
