"""A whole operator: every Greeting gets a ConfigMap with its text, and says so in its status."""

import asyncio

from quarterdeck.apis.core import ConfigMap
from quarterdeck.meta.conditions import Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime import Context, Controller, run_operator


class GreetingSpec(Struct, frozen=True, kw_only=True):
    who: str = "world"


class GreetingStatus(Struct, frozen=True, kw_only=True):
    text: str = ""
    observed_generation: int = 0
    conditions: Conditions = ()


class Greeting(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Greeting", plural="greetings")
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus = GreetingStatus()


async def reconcile(greeting: Greeting, ctx: Context[Greeting]) -> None:
    text = f"Hello, {greeting.spec.who}!"
    await ctx.apply(ConfigMap(metadata=ObjectMeta(name=ctx.key.name), data={"text": text}))
    ctx.status.set(text=text)


controller = Controller(reconcile=reconcile, for_=Greeting, owns=[ConfigMap])


if __name__ == "__main__":
    asyncio.run(run_operator("hello", controller))
