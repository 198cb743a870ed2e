"""A cluster with a kind of its own, Widget, for tests of controllers."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, InterceptingApi, load_config
from quarterdeck.client.intercept import Intercept
from quarterdeck.meta import crd
from quarterdeck.meta.conditions import Conditions, find
from quarterdeck.meta.identity import GVR
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object, ObjectMeta, Struct, replace
from quarterdeck.runtime import Controller, Manager
from quarterdeck.testing.poll import eventually

CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


class WidgetSpec(Struct, frozen=True, kw_only=True):
    size: int = 1
    parts: tuple[str, ...] = ()


class WidgetStatus(Struct, frozen=True, kw_only=True):
    seen: int = 0
    observed_generation: int = 0
    conditions: Conditions = ()


class Widget(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Widget", plural="widgets")
    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


class World:
    """A cluster with the Widget kind, a client and a namespace."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def manager(
        self,
        controller: Controller[Any] | None = None,
        intercepts: Sequence[Intercept] = (),
        **options: Any,
    ) -> Manager:
        """A manager whose requests pass through `intercepts`."""
        api = InterceptingApi(self.client.raw, intercepts)
        client = Client.from_api(api, self.client.config) if intercepts else self.client
        manager = Manager(client, name="test", **options)
        if controller is not None:
            manager.add(controller)
        return manager

    async def create(self, name: str = "a", **spec: Any) -> Widget:
        metadata = ObjectMeta(name=name, namespace="default")
        return await self.client.create(Widget(metadata=metadata, spec=WidgetSpec(**spec)))

    async def get(self, name: str = "a") -> Widget:
        return await self.client.get(Widget, name, "default")

    async def resize(self, size: int, name: str = "a") -> Widget:
        widget = await self.get(name)
        return await self.client.update(replace(widget, spec=WidgetSpec(size=size)))

    async def becomes(self, test: Callable[[Widget], bool], name: str = "a") -> Widget:
        found: list[Widget] = []

        async def holds() -> bool:
            found[:] = [await self.get(name)]
            return test(found[0])

        await eventually(holds)
        return found[0]


@contextlib.asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with Cluster() as cluster, Client(load_config(cluster.kubeconfig)) as client:
        await client.resource(CRDS).create(crd.build_manifest([Widget]))
        await eventually(lambda: is_served(client))
        yield World(client)


async def is_served(client: Client) -> bool:
    """Whether the server knows the kind."""
    await client.list(Widget, "default")
    return True


def reason(widget: Widget, type_: str = "Ready") -> str:
    found = find(widget.status.conditions, type_)
    return found.reason if found is not None else ""
