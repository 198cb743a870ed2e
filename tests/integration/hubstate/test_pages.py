"""Lists of objects are read by pages, up to a limit, and counted where a server does not count."""

from typing import Any

import msgspec

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client
from quarterdeck.client.interfaces import ListPage, Reader
from quarterdeck.hubstate.collect import pages
from quarterdeck.meta.objects import ObjectMeta

MAPS = ConfigMap.KIND.gvr


class Uncounted:
    """An API whose lists do not say how many objects are left, as some extension servers."""

    def __init__(self, api: Reader) -> None:
        self._api = api

    async def list(self, *arguments: Any, **options: Any) -> ListPage:
        """A page without the number of the rest."""
        page = await self._api.list(*arguments, **options)
        return msgspec.structs.replace(page, remaining=None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)


async def create_maps(client: Client, count: int) -> None:
    for number in range(count):
        metadata = ObjectMeta(name=f"m-{number}", namespace="default")
        await client.create(ConfigMap(metadata=metadata))


async def test_objects_are_read_up_to_a_limit() -> None:
    async with Cluster() as cluster:
        await create_maps(cluster.client, 3)
        total = len(await cluster.client.list(ConfigMap))
        found, has_more = await pages.read_all(cluster.client.raw, MAPS, dict, limit=2)
        assert (len(found), has_more) == (2, True)
        found, has_more = await pages.read_all(cluster.client.raw, MAPS, dict, limit=total)
        assert (len(found), has_more) == (total, False)


async def test_objects_are_counted_also_where_the_server_does_not() -> None:
    async with Cluster() as cluster:
        await create_maps(cluster.client, 3)
        total = len(await cluster.client.list(ConfigMap))
        assert await pages.count_all(cluster.client.raw, MAPS) == total
        uncounted: Any = Uncounted(cluster.client.raw)
        assert await pages.count_all(uncounted, MAPS) == total
