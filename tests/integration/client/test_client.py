import asyncio
from collections.abc import Sequence

import pytest

from quarterdeck.apis.core import ConfigMap, Namespace
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client, ClusterConfig, ConnectionFailed, Intercept, InterceptingApi
from quarterdeck.client.intercept import Call
from quarterdeck.client.interfaces import Exchange, PatchType
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.objects import ObjectMeta, replace, with_metadata
from quarterdeck.wire.frame import EventType
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import AlreadyExists, Conflict, Invalid, NotFound

CONFIG_MAPS = GVR("", "v1", "configmaps")


def client_of(cluster: Cluster) -> Client:
    return Client(ClusterConfig(server=cluster.url))


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


async def test_an_object_goes_through_all_typed_verbs() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        made = await client.create(config_map("a", x="1"))
        assert made.metadata.uid
        read = await client.get(ConfigMap, "a", "default")
        assert read.data == {"x": "1"}
        changed = await client.update(replace(read, data={"x": "2"}), manager="test")
        assert changed.data == {"x": "2"}
        assert await client.update(changed) is changed
        listed = await client.list(ConfigMap, "default")
        assert "a" in {each.metadata.name for each in listed}
        await client.delete(changed)
        with pytest.raises(NotFound, match='configmaps "a" not found'):
            await client.get(ConfigMap, "a", "default")


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_a_delete_without_a_name_deletes_nothing(name: str) -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        await client.create(config_map("a"))
        with pytest.raises(ValueError, match=f"cannot delete an object of configmaps .* '{name}'"):
            await client.delete(ConfigMap, name, "default")
        with pytest.raises(ValueError, match="cannot delete"):
            await client.resource(CONFIG_MAPS).delete(name, "default")
        await client.get(ConfigMap, "a", "default")


async def test_an_update_never_loses_what_others_wrote_and_refuses_stale_reads() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        first = await client.create(config_map("a", x="1"))
        await client.patch(first, {"metadata": {"labels": {"by": "other"}}})
        with pytest.raises(Conflict):
            await client.update(replace(first, data={"x": "2"}))
        fresh = await client.get(ConfigMap, "a", "default")
        done = await client.update(with_metadata(fresh, annotations={"n": "1"}))
        assert dict(done.metadata.labels) == {"by": "other"}
        with pytest.raises(ValueError, match="was not read from a server"):
            await client.update(config_map("a"))


async def test_apply_owns_fields_and_names_conflicts() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        await client.apply(config_map("a", x="1"), manager="one")
        with pytest.raises(Conflict) as caught:
            await client.apply(config_map("a", x="2"), manager="two")
        assert caught.value.details is not None
        assert caught.value.details.causes[0].field == ".data.x"
        forced = await client.apply(config_map("a", x="2"), manager="two", force=True)
        assert forced.data == {"x": "2"}
        dry = await client.apply(config_map("a", x="3"), manager="two", dry_run=True)
        assert dry.data == {"x": "3"}
        assert (await client.get(ConfigMap, "a", "default")).data == {"x": "2"}


async def test_the_server_says_what_is_wrong_by_class() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        await client.create(config_map("a"))
        with pytest.raises(AlreadyExists):
            await client.create(config_map("a"))
        with pytest.raises(Invalid, match=r"metadata\.name"):
            await client.create(Namespace(metadata=ObjectMeta(name="Bad_Name")))


async def test_lists_follow_pages_from_one_moment() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        for number in range(7):
            await client.create(config_map(f"p{number}"))
        options = ListOptions(limit=2, field_selector="metadata.name!=kube-root-ca.crt")
        pages = [page async for page in client.iterate_pages(ConfigMap, "default", options)]
        assert [len(page) for page in pages] == [2, 2, 2, 1]


async def test_a_watch_delivers_typed_events() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        options = ListOptions(field_selector="metadata.name=w")
        async with client.watch(ConfigMap, "default", options) as events, asyncio.timeout(240):
            made = await client.create(config_map("w", x="1"))
            event = await anext(events)
            assert (event.type, event.object.data) == (EventType.ADDED, {"x": "1"})
            await client.delete(made)
            assert (await anext(events)).type is EventType.DELETED


async def test_untyped_objects_have_the_same_verbs() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        maps = client.resource(CONFIG_MAPS)
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "u"}, "data": {}}
        await maps.create(body, "default")
        patch = [{"op": "add", "path": "/data", "value": {"k": "v"}}]
        patched = await maps.patch("u", patch, namespace="default", kind=PatchType.JSON)
        assert patched["data"] == {"k": "v"}
        listed = await maps.list("default", ListOptions(limit=1))
        assert {each["kind"] for each in listed} == {"ConfigMap"}
        found, what = await client.discover_resource_by_name("cm")
        assert what.gvk == GVK("", "v1", "ConfigMap")
        await found.delete("u", "default")
        with pytest.raises(NotFound, match="doesn't have a resource type"):
            await client.discover_resource_by_name("zzzzzz")
        with pytest.raises(NotFound, match=r'"deploymnts"; did you mean "deployments"\?'):
            await client.discover_resource_by_name("deploymnts")
        with pytest.raises(NotFound, match="doesn't have a resource type"):
            await client.discover_resource_by_name("nonsense")


async def test_discovery_finds_kinds_and_says_what_is_missing() -> None:
    async with Cluster() as cluster, client_of(cluster) as client:
        deployment = await client.raw.discover_resource(GVK("apps", "v1", "Deployment"))
        assert deployment.gvr.resource == "deployments"
        assert "scale" in deployment.subresources
        with pytest.raises(NotFound):
            await client.raw.discover_resource(GVK("example.com", "v1", "Widget"))
        assert (await client.get_server_version())["gitVersion"].startswith("v1.")


async def test_a_name_is_found_by_two_requests() -> None:
    seen: list[str] = []

    class Counter:
        def before(self, verb: str, path: ResourcePath, /) -> Sequence[tuple[str, str]]:
            return ()

        def after(self, exchange: Exchange, /) -> None:
            seen.append(exchange.verb)

    async with Cluster() as cluster, client_of(cluster) as client:
        client.raw.observe(Counter())
        _, scaled = await client.discover_resource_by_name("deploy")
        assert (scaled.gvr, scaled.namespaced) == (GVR("apps", "v1", "deployments"), True)
        assert {"scale", "status"} <= scaled.subresources
        _, node = await client.discover_resource_by_name("node")
        assert not node.namespaced
        assert seen == ["get", "get"]
        assert "pods" in {
            each.gvr.resource for each in await client.list_resources_in_category("all")
        }


async def test_a_lost_reply_is_not_repeated_for_a_write() -> None:
    async def lose(call: Call) -> bytes:
        await call.proceed()
        raise ConnectionFailed("the reply was lost")

    async with Cluster() as cluster, client_of(cluster) as client:
        rule = Intercept("create", lose, times=1)
        cut = Client.from_api(InterceptingApi(client.raw, [rule]), client.config)
        with pytest.raises(ConnectionFailed):
            await cut.create(config_map("a"))
        with pytest.raises(AlreadyExists):
            await cut.create(config_map("a"))
        assert rule.seen == 1


async def test_a_server_that_is_not_there_costs_a_bounded_time() -> None:
    async with Client(ClusterConfig(server="http://127.0.0.1:9", timeout_s=2)) as client:
        with pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1:9"):
            await client.get(ConfigMap, "a", "default")
