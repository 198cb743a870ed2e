"""A shared resource: every PortClaim gets a port of its own, however many are created at once."""

import asyncio

from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import Context, Controller, Finalizer, Stalled, run_operator
from quarterdeck.wire.status import AlreadyExists

PORTS = range(30000, 30100)
POOL = "ports"


class PortClaimStatus(Struct, frozen=True, kw_only=True):
    port: int = 0
    observed_generation: int = 0
    conditions: Conditions = ()


class PortClaim(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="PortClaim", plural="portclaims")
    status: PortClaimStatus = PortClaimStatus()


async def reconcile(claim: PortClaim, ctx: Context[PortClaim]) -> None:
    pool = await read_pool(ctx)
    taken = {owner: int(port) for port, owner in pool.data.items()}
    port = taken.get(claim.metadata.name)
    if port is None:
        port = next((each for each in PORTS if str(each) not in pool.data), None)
        if port is None:
            raise Stalled("Exhausted", f"all {len(PORTS)} ports are taken; delete a claim")
        # an update with the version that was read: whoever else took a port makes this a Conflict,
        # and the reconcile runs again
        await ctx.api.update(replace(pool, data={**pool.data, str(port): claim.metadata.name}))
    ctx.status.set(port=port)


async def release(claim: PortClaim, ctx: Context[PortClaim]) -> None:
    pool = await read_pool(ctx)
    left = {port: owner for port, owner in pool.data.items() if owner != claim.metadata.name}
    if left != pool.data:
        await ctx.api.update(replace(pool, data=left))


async def read_pool(ctx: Context[PortClaim]) -> ConfigMap:
    """The pool of the namespace, read live: a cached copy may be behind."""
    if (pool := await ctx.find(ConfigMap, POOL)) is None:
        try:
            pool = await ctx.create(ConfigMap(metadata=ObjectMeta(name=POOL)), owned=False)
        except AlreadyExists:
            pool = await ctx.get(ConfigMap, POOL)
    return pool


controller = Controller(
    reconcile=reconcile, for_=PortClaim, finalizers=[Finalizer("example.com/port", release)]
)

if __name__ == "__main__":
    asyncio.run(run_operator("ports", controller))
