"""Controllers that need no leader, and that reconcile only what this replica has."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from quarterdeck.apis.coordination import Lease, LeaseSpec
from quarterdeck.apis.core.config import ConfigMap
from quarterdeck.app.cluster import Cluster
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime import Context, Controller, LeaderElection, Manager
from quarterdeck.runtime.sharding.ownership import ShardLost


class Names:
    """Ownership of a few names, which can be taken away while one is worked on."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.working: dict[str, asyncio.Timeout] = {}

    def owns(self, name: str) -> bool:
        return name in self.names

    @contextlib.asynccontextmanager
    async def guard(self, name: str) -> AsyncIterator[None]:
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self.working[name] = scope
                yield
        except TimeoutError:
            raise ShardLost(name) from None

    def take(self, name: str) -> None:
        self.names.discard(name)
        self.working[name].reschedule(asyncio.get_running_loop().time())


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))


async def test_a_controller_that_needs_no_leader_works_while_another_replica_leads() -> None:
    done: dict[str, asyncio.Event] = {name: asyncio.Event() for name in ("free", "led")}

    def build(name: str, *, needs_leader_election: bool) -> Controller[ConfigMap]:
        async def reconcile(obj: ConfigMap, ctx: Context[ConfigMap]) -> None:
            done[name].set()

        return Controller(
            reconcile=reconcile,
            for_=ConfigMap,
            name=name,
            ready=None,
            needs_leader_election=needs_leader_election,
        )

    async with Cluster() as cluster:
        metadata = ObjectMeta(name="lock", namespace="default")
        held = LeaseSpec(holder_identity="other", lease_duration_seconds=3600)
        await cluster.client.create(Lease(metadata=metadata, spec=held))
        await cluster.client.create(config_map("a"))
        manager = Manager(cluster.client, election=LeaderElection("lock", "default"))
        manager.add(build("free", needs_leader_election=False))
        manager.add(build("led", needs_leader_election=True))
        async with manager.running():
            await done["free"].wait()
            assert not manager.is_leader
            assert not done["led"].is_set()


async def test_only_owned_objects_are_reconciled_and_gained_ones_when_enqueued() -> None:
    seen: list[str] = []
    news = asyncio.Event()

    async def reconcile(obj: ConfigMap, ctx: Context[ConfigMap]) -> None:
        seen.append(obj.metadata.name)
        news.set()

    names = Names("ours")
    async with Cluster() as cluster:
        for name in ("ours", "theirs"):
            await cluster.client.create(config_map(name))
        manager = Manager(cluster.client)
        manager.add(Controller(reconcile=reconcile, for_=ConfigMap, ready=None, ownership=names))
        async with manager.running():
            await news.wait()
            assert "theirs" not in seen
            news.clear()
            names.names.add("theirs")
            manager.enqueue("configmap", Key("default", "theirs"))
            await news.wait()
            assert "theirs" in seen


async def test_a_reconcile_ends_when_its_object_becomes_another_replicas() -> None:
    began, forgotten = asyncio.Event(), asyncio.Event()
    ended: list[str] = []
    failures = [OSError("the file is busy")]

    async def reconcile(obj: ConfigMap, ctx: Context[ConfigMap]) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(obj.metadata.name)

    async def forget(key: Key) -> None:
        assert key.name == "ours"
        if failures:
            raise failures.pop()
        forgotten.set()

    names = Names("ours")
    async with Cluster() as cluster:
        await cluster.client.create(config_map("ours"))
        manager = Manager(cluster.client)
        manager.add(
            Controller(
                reconcile=reconcile,
                for_=ConfigMap,
                ready=None,
                ownership=names,
                on_deleted=forget,
            )
        )
        async with manager.running():
            await began.wait()
            names.take("ours")
            await forgotten.wait()
            assert ended == ["ours"]
            assert manager.next_work_s() is None, "nothing is planned for what is not ours"
