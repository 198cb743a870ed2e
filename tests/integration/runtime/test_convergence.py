"""Finalizers, retries and waits of the runtime end in one state, wherever a process dies."""

import contextlib

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client import Client
from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import Context, Controller, Finalizer, Result, WaitFor
from quarterdeck.testing import assert_converges, eventually
from quarterdeck.wire.status import NotFound


class TenantSpec(Struct, frozen=True, kw_only=True):
    plan: str = ""


class TenantStatus(Struct, frozen=True, kw_only=True):
    price: str = ""


class Tenant(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Tenant", plural="tenants")
    spec: TenantSpec = TenantSpec()
    status: TenantStatus = TenantStatus()


def elsewhere(name: str) -> ConfigMap:
    """Something that no owner reference reaches."""
    return ConfigMap(metadata=ObjectMeta(name=f"tenant-{name}", namespace="kube-system"))


async def settle_in(tenant: Tenant, ctx: Context[Tenant]) -> Result | None:
    await ctx.apply(elsewhere(ctx.key.name), owned=False)
    plan = await ctx.find(ConfigMap, f"plan-{tenant.spec.plan}")
    if plan is None:
        key = Key(ctx.key.namespace, f"plan-{tenant.spec.plan}")
        return WaitFor(ConfigMap, key, until=lambda found: found is not None)
    ctx.status.set(price=plan.data["price"])
    return None


async def move_out(tenant: Tenant, ctx: Context[Tenant]) -> None:
    found = await ctx.find(ConfigMap, f"tenant-{ctx.key.name}", "kube-system")
    if found is not None:
        await ctx.delete(found)


def controllers() -> list[Controller[Tenant]]:
    finalizers = [Finalizer("example.com/moved-out", move_out)]
    return [Controller(reconcile=settle_in, for_=Tenant, reads=[ConfigMap], finalizers=finalizers)]


async def come_and_go(client: Client) -> None:
    """Two tenants come before their plan does; one of them leaves."""
    for name in ("ann", "bob"):
        metadata = ObjectMeta(name=name, namespace="default")
        await client.create(Tenant(metadata=metadata, spec=TenantSpec(plan="gold")))
    metadata = ObjectMeta(name="plan-gold", namespace="default")
    await client.create(ConfigMap(metadata=metadata, data={"price": "9"}))

    async def priced() -> bool:
        tenants = await client.list(Tenant, "default")
        return [tenant.status.price for tenant in tenants] == ["9", "9"]

    await eventually(priced)
    await client.delete(Tenant, "ann", "default")

    async def gone() -> bool:
        with contextlib.suppress(NotFound):
            await client.get(Tenant, "ann", "default")
            return False
        return True

    await eventually(gone)


async def test_a_run_that_crashed_is_finished_by_the_next_one() -> None:
    tried = await assert_converges(
        controllers, come_and_go, definitions=[Tenant], compare=[Tenant, ConfigMap]
    )
    assert tried.writes >= 8
    assert tried.crashes == tried.writes
