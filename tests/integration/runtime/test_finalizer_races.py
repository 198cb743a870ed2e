"""Finalizers of an object that others change at the same moment."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from quarterdeck.apis.core import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, InterceptingApi
from quarterdeck.client.intercept import Call, Intercept
from quarterdeck.meta.objects import ObjectMeta, with_metadata
from quarterdeck.runtime import Context, Controller, Finalizer, Manager
from quarterdeck.testing.poll import eventually
from quarterdeck.wire.status import NotFound

OURS, THEIRS = "example.com/ours", "example.com/theirs"
Race = Callable[[Client], Awaitable[None]]


class World:
    """A controller with one finalizer, and what it did."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.log: list[str] = []
        self.uids: list[str] = []

    async def reconcile(self, config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        self.log.append("reconciled")
        self.uids.append(config.metadata.uid)

    async def clean_up(self, config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        self.log.append("cleaned up")

    async def get(self) -> ConfigMap:
        return await self.client.get(ConfigMap, "a", "default")


async def change_finalizers(client: Client, *names: str) -> None:
    found = await client.get(ConfigMap, "a", "default")
    await client.update(with_metadata(found, finalizers=names))


@contextlib.asynccontextmanager
async def racing(race: Race, *finalizers: str) -> AsyncIterator[World]:
    """`race` runs between the reconcile of object a and its first patch."""
    async with Cluster() as cluster:
        client = cluster.client

        async def interfere(call: Call) -> bytes:
            await race(client)
            answer: bytes = await call.proceed()
            return answer

        api = InterceptingApi(
            client.raw, [Intercept("patch", interfere, resource="configmaps", times=1)]
        )
        manager = Manager(
            Client.from_api(api, client.config), events="off", graceful_shutdown_timeout_s=2
        )
        world = World(client)
        only_a = Controller(
            reconcile=world.reconcile,
            for_=ConfigMap,
            ready=None,
            finalizers=[Finalizer(OURS, world.clean_up)],
            needs_finalizers=lambda config: config.metadata.name == "a",
            predicates=[lambda event: event.key.name == "a"],
        )
        manager.add(only_a)
        metadata = ObjectMeta(name="a", namespace="default", finalizers=finalizers)
        await client.create(ConfigMap(metadata=metadata))
        async with manager.running():
            yield world
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_errors_total", "configmap") == 0


async def test_a_finalizer_that_another_replica_added_is_not_added_twice() -> None:
    async with racing(lambda client: change_finalizers(client, OURS)) as world:
        await eventually(lambda: "reconciled" in world.log)
        assert (await world.get()).metadata.finalizers == (OURS,)


async def test_finalizers_that_others_add_meanwhile_are_kept() -> None:
    async with racing(lambda client: change_finalizers(client, THEIRS)) as world:
        await eventually(lambda: "reconciled" in world.log)
        assert (await world.get()).metadata.finalizers == (THEIRS, OURS)


async def test_an_object_whose_deletion_begins_meanwhile_is_not_reconciled() -> None:
    deleted: list[bool] = []

    async def delete(client: Client) -> None:
        await client.delete(ConfigMap, "a", "default")
        deleted.append(True)

    async with racing(delete, THEIRS) as world:
        await eventually(lambda: bool(deleted))
        await change_finalizers(world.client)
        await eventually(lambda: _is_gone(world.client))
        assert world.log == [], "it never had our finalizer: there is nothing to clean up"


async def test_an_object_replaced_by_another_of_its_name_is_reconciled_anew() -> None:
    async def replace(client: Client) -> None:
        await client.delete(ConfigMap, "a", "default")
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))

    async with racing(replace) as world:
        await eventually(lambda: "reconciled" in world.log)
        found = await world.get()
        assert found.metadata.finalizers == (OURS,)
        assert set(world.uids) == {found.metadata.uid}


async def test_a_finalizer_that_somebody_removed_is_not_missed() -> None:
    """People remove finalizers by hand: the clean-up under way must end without an error."""

    async def force(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        await change_finalizers(client)
        log.append("forced")

    async def reconcile(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        log.append("reconciled")

    async def never(config: ConfigMap, ctx: Context[ConfigMap]) -> None:
        log.append("never")

    log: list[str] = []
    async with Cluster() as cluster:
        client = cluster.client
        manager = Manager(client, events="off", graceful_shutdown_timeout_s=2)
        manager.add(
            Controller(
                reconcile=reconcile,
                for_=ConfigMap,
                ready=None,
                finalizers=[Finalizer(OURS, force), Finalizer("example.com/second", never)],
                predicates=[lambda event: event.key.name == "a"],
            )
        )
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        async with manager.running():
            await eventually(lambda: log == ["reconciled"])
            await client.delete(ConfigMap, "a", "default")
            await eventually(lambda: "forced" in log)
            await eventually(lambda: _is_gone(client))
            await eventually(lambda: manager.next_work_s() is None)
            value = manager.metrics.registry.get_value
            assert value("controller_runtime_reconcile_errors_total", "configmap") == 0
        assert log == ["reconciled", "forced"]


async def _is_gone(client: Client) -> bool:
    with contextlib.suppress(NotFound):
        await client.get(ConfigMap, "a", "default")
        return False
    return True
