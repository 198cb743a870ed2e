"""Reads and writes of a reconcile for kinds that are not watched, and what they refuse."""

import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.core import ConfigMap, Namespace, Pod
from quarterdeck.apis.core.containers import Container
from quarterdeck.apis.core.pods import PodSpec
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, InterceptingApi
from quarterdeck.client.intercept import Call, Intercept
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import (
    Object,
    ObjectMeta,
    build_owner_reference,
    replace,
    with_metadata,
)
from quarterdeck.runtime import WatchSettings
from quarterdeck.runtime.cache.event import Author
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.controller_metrics import ControllerMetrics
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.runtime.observability.metrics import Metrics
from quarterdeck.runtime.reconcile import client as reconcile_client
from quarterdeck.runtime.reconcile.client import ReconcileClient, Shared
from quarterdeck.runtime.reconcile.context import Context
from quarterdeck.runtime.recorder.recorder import DiscardingRecorder
from quarterdeck.wire.status import Conflict, NotFound


class World:
    """A server, and the client of one reconcile; nothing is watched unless a test asks for it."""

    def __init__(self, client: Client, intercepts: Sequence[Intercept], tasks: Supervisor) -> None:
        api = InterceptingApi(client.raw, intercepts)
        self.server = client
        self.clock = SystemClock()
        self.tasks = tasks
        self.informers = InformerFactory(
            api, clock=self.clock, rng=random.Random(1), settings=WatchSettings()
        )
        self.metrics = ControllerMetrics(Metrics(), "test", workers=1)
        shared = Shared(api, self.informers, "test", self.metrics)
        self.subject = ReconcileClient(shared, Author("test", Key("default", "a")))

    async def create(self, name: str, **metadata: Any) -> ConfigMap:
        meta = ObjectMeta(name=name, namespace="default", **metadata)
        return await self.server.create(ConfigMap(metadata=meta))

    async def watch(self, kind: type[Object] = ConfigMap) -> None:
        self.informers.ensure(kind)
        self.informers.start(self.tasks)
        await self.informers.wait_for_cache_sync()

    def context(self, obj: ConfigMap) -> Context[ConfigMap]:
        return Context(
            obj,
            client=self.subject,
            clock=self.clock,
            events=DiscardingRecorder(),
            log=get_logger("test"),
            reconcile_id="1",
            attempt=0,
            owned_conditions=(),
        )


@contextlib.asynccontextmanager
async def world(*intercepts: Intercept) -> AsyncIterator[World]:
    async with Cluster() as cluster, Supervisor("informers") as tasks:
        yield World(cluster.client, intercepts, tasks)
        await tasks.cancel_all()


async def test_a_list_of_an_unwatched_kind_reads_every_page_and_selects_by_label(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reconcile_client, "_PAGE", 2)
    async with world() as w:
        for number in range(5):
            await w.create(f"c{number}", labels={"parity": str(number % 2)})
        found = await w.subject.list(ConfigMap, namespace="default")
        assert {f"c{number}" for number in range(5)} <= {each.metadata.name for each in found}
        even = await w.subject.list(ConfigMap, labels="parity=0")
        assert [each.metadata.name for each in even] == ["c0", "c2", "c4"]
        assert [read.source for read in w.subject.reads] == ["live", "live"]


async def test_an_index_of_an_unwatched_kind_is_refused() -> None:
    async with world() as w:
        with pytest.raises(LookupError, match=r"ConfigMap has no index 'size': no controller"):
            await w.subject.list(ConfigMap, index=("size", "1"))


async def test_owned_objects_of_an_unwatched_kind_are_found_by_the_uid_of_the_owner() -> None:
    async with world() as w:
        owner = await w.create("owner")
        reference = build_owner_reference(owner)
        await w.create("ours", owner_references=(reference,))
        earlier = msgspec.structs.replace(reference, uid="another")
        await w.create("foreign", owner_references=(earlier,))
        found = await w.subject.list_owned(ConfigMap, owner)
        assert [each.metadata.name for each in found] == ["ours"]


async def test_an_absent_object_is_none_and_get_names_it() -> None:
    async with world() as w:
        ctx = w.context(await w.create("a"))
        assert await ctx.find(ConfigMap, "missing") is None
        with pytest.raises(NotFound, match='configmaps "missing" not found'):
            await ctx.get(ConfigMap, "missing")


async def test_only_what_was_read_can_be_updated() -> None:
    async with world() as w:
        made = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
        with pytest.raises(ValueError, match=r"default/a was not read from the server: use create"):
            await w.subject.update(made)


@pytest.mark.parametrize("is_watched", [False, True])
async def test_an_update_without_a_change_sends_nothing(*, is_watched: bool) -> None:
    async with world() as w:
        stored = await w.create("a")
        if is_watched:
            await w.watch()
        found = await w.subject.update(stored)
        assert found.resource_version == stored.resource_version
        assert w.metrics.skipped_writes.value == 1
        assert w.metrics.writes.value == 0


async def test_a_merge_without_a_version_has_no_precondition() -> None:
    async with world() as w:
        stored = await w.create("a")
        await w.server.update(replace(stored, data={"theirs": "1"}))
        merged = await w.subject.merge(ConfigMap, stored.key, {"data": {"ours": "2"}})
        assert merged.data == {"theirs": "1", "ours": "2"}
        with pytest.raises(Conflict):
            await w.subject.merge(
                ConfigMap, stored.key, {"data": {"ours": "3"}}, stored.resource_version
            )


@pytest.mark.parametrize("is_watched", [False, True])
async def test_a_deletion_spares_a_later_object_of_the_same_name(*, is_watched: bool) -> None:
    async with world() as w:
        first = await w.create("a")
        if is_watched:
            await w.watch()
        await w.server.delete(ConfigMap, "a", "default")
        second = await w.create("a")
        await w.subject.delete(first)
        assert (await w.server.get(ConfigMap, "a", "default")).metadata.uid == second.metadata.uid
        await w.subject.delete(second)
        await w.subject.delete(second)  # absent by now
        with pytest.raises(NotFound):
            await w.server.get(ConfigMap, "a", "default")


async def test_a_deletion_that_finalizers_hold_back_is_seen_at_once() -> None:
    async with world() as w:
        stored = await w.create("a", finalizers=("example.com/hold",))
        await w.watch()
        await w.subject.delete(stored)
        found = await w.subject.find(ConfigMap, "a", "default")
        assert found is not None and found.is_deleting
        await w.server.update(with_metadata(found, finalizers=()))


@pytest.mark.parametrize(
    ("grace_s", "is_left"),
    [pytest.param(None, True, id="with a grace period"), pytest.param(0, False, id="at once")],
)
async def test_a_deleted_pod_is_seen_as_terminating_until_its_grace_period_ends(
    grace_s: int | None, *, is_left: bool
) -> None:
    spec = PodSpec(node_name="n", containers=(Container(name="c", image="i"),))
    async with world() as w:
        pod = Pod(metadata=ObjectMeta(name="a", namespace="default"), spec=spec)
        stored = await w.server.create(pod)
        await w.watch(Pod)
        await w.subject.delete(stored, grace_s=grace_s)
        found = await w.subject.find(Pod, "a", "default")
        assert (found is not None and found.is_deleting) == is_left


async def test_a_deleted_namespace_is_seen_as_terminating() -> None:
    async with world() as w:
        stored = await w.server.create(Namespace(metadata=ObjectMeta(name="a")))
        await w.watch(Namespace)
        await w.subject.delete(stored)
        found = await w.subject.find(Namespace, "a")
        assert found is not None and found.is_deleting


async def test_a_refused_deletion_is_raised() -> None:
    async def refuse(call: Call) -> bytes:
        raise Conflict("the object has been modified")

    async with world(Intercept("delete", refuse, resource="configmaps", times=1)) as w:
        stored = await w.create("a")
        with pytest.raises(Conflict, match="has been modified"):
            await w.subject.delete(stored)
        assert w.subject.writes == []


async def test_children_given_as_dictionaries_survive_the_pruning_of_their_kind() -> None:
    async with world() as w:
        ctx = w.context(await w.create("owner"))
        manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name="dropped")))
        await ctx.apply_all([manifest], prune=[ConfigMap])
        names = {each.metadata.name for each in await w.server.list(ConfigMap, "default")}
        assert {"owner", "kept"} <= names
        assert "dropped" not in names


@pytest.mark.parametrize(
    ("manifest", "place"),
    [
        pytest.param(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
            "Namespace x in no namespace",
            id="cluster-scoped",
        ),
        pytest.param(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "x", "namespace": "kube-system"},
            },
            "ConfigMap x in kube-system",
            id="another namespace",
        ),
    ],
)
async def test_a_dictionary_that_cannot_be_owned_is_refused(
    manifest: dict[str, Any], place: str
) -> None:
    async with world() as w:
        ctx = w.context(await w.create("owner"))
        with pytest.raises(ValueError, match=f"cannot own {place}: .* pass owned=False"):
            await ctx.apply(manifest)
        applied = await ctx.apply(manifest, owned=False)
        assert "ownerReferences" not in applied["metadata"]


async def test_a_cluster_scoped_owner_owns_objects_of_any_namespace() -> None:
    async with world() as w:
        owner = await w.server.create(Namespace(metadata=ObjectMeta(name="owner")))
        ctx: Any = w.context(await w.create("a"))
        ctx.obj = owner
        metadata = {"name": "x", "namespace": "default"}
        applied = await ctx.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        assert applied["metadata"]["ownerReferences"][0]["uid"] == owner.metadata.uid


async def test_the_error_for_an_incomplete_manifest_shows_none_of_its_data() -> None:
    async with world() as w:
        ctx = w.context(await w.create("owner"))
        secret = {"apiVersion": "v1", "metadata": {"name": "s"}, "stringData": {"key": "hunter2"}}
        with pytest.raises(ValueError, match=r"without kind; its metadata.name is 's'") as caught:
            await ctx.apply(secret)
        assert "hunter2" not in str(caught.value)
