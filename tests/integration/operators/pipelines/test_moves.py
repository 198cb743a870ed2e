"""Pipelines that move to another fleet server, and connections that are not there."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tests.integration.operators.pipelines.conftest import FaultyFleet, answer

from quarterdeck.apis.fleetmanagement.v1alpha1 import FleetConnection
from quarterdeck.kit import http

OTHER_HOST = "other.svc"


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
