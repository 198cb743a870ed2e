"""The same operator on Quarterdeck: one function that brings the world to the spec."""

import asyncio

from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import Context, Controller, Stalled, run_operator


class PageSpec(Struct, frozen=True, kw_only=True):
    title: str = ""


class PageStatus(Struct, frozen=True, kw_only=True):
    config_map: str = ""
    observed_generation: int = 0
    conditions: Conditions = ()


class Page(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Page", plural="pages")
    spec: PageSpec = PageSpec()
    status: PageStatus = PageStatus()


async def reconcile(page: Page, ctx: Context[Page]) -> None:
    if not page.spec.title:
        raise Stalled("NoTitle", "spec.title is empty")
    name = f"{page.metadata.name}-page"
    data = {"index.html": f"<h1>{page.spec.title}</h1>"}
    await ctx.apply(ConfigMap(metadata=ObjectMeta(name=name), data=data))
    ctx.status.set(config_map=name)


controller = Controller(reconcile=reconcile, for_=Page, owns=[ConfigMap])

if __name__ == "__main__":
    asyncio.run(run_operator("pages", controller))
