"""Hundreds of orders of events in seconds; a failing one is replayed by its seed."""

import asyncio

import pytest
from ports import PortClaim, PortClaimStatus, controller

from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Context, Controller
from quarterdeck.testing import SimulationFailed, World, simulate


async def claim_ports(world: World, tested: Controller[PortClaim]) -> None:
    async with world.start(tested), asyncio.TaskGroup() as group:
        for number in range(5):
            metadata = ObjectMeta(name=f"c{number}", namespace="default")
            group.create_task(world.client.create(PortClaim(metadata=metadata)))
    async with world.start(tested):  # and once more, as after a crash
        await world.settle()
    claims = await world.client.list(PortClaim)
    ports = [claim.status.port for claim in claims]
    assert len(set(ports) - {0}) == 5, f"ports are shared: {ports}"


def test_no_two_claims_ever_get_one_port() -> None:
    async def scenario(world: World) -> None:
        await claim_ports(world, controller)

    simulate(scenario, seeds=range(50), definitions=[PortClaim])


def test_ports_come_back() -> None:
    async def scenario(world: World) -> None:
        async with world.start(controller):
            metadata = ObjectMeta(name="c", namespace="default")
            await world.client.create(PortClaim(metadata=metadata))
            await world.settle()
            await world.client.delete(PortClaim, "c", "default")
            await world.settle()
        assert (await world.client.get(ConfigMap, "ports", "default")).data == {}

    simulate(scenario, seeds=range(20), definitions=[PortClaim])


def test_the_simulation_finds_what_a_careless_operator_does() -> None:
    async def careless(claim: PortClaim, ctx: Context[PortClaim]) -> None:
        """Looks at what others have, and trusts that nobody else is looking."""
        taken = {each.status.port for each in await ctx.list(PortClaim)}
        await ctx.clock.sleep(0)
        if claim.status == PortClaimStatus():
            ctx.status.set(port=next(port for port in range(30000, 30100) if port not in taken))

    async def scenario(world: World) -> None:
        await claim_ports(world, Controller(reconcile=careless, for_=PortClaim))

    with pytest.raises(SimulationFailed, match="ports are shared"):
        simulate(scenario, seeds=range(50), definitions=[PortClaim])
