"""What a client may rely on for lists, watches and discovery, on every server."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client.config.cluster import Impersonation
from quarterdeck.client.interfaces import Form
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.meta.objects import ObjectMeta, replace
from quarterdeck.wire.frame import INITIAL_EVENTS_END, decode_event
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import BadRequest, Forbidden, NotFound

Places = Callable[[], AbstractAsyncContextManager[Any]]


async def fill(at: Any, count: int) -> None:
    for number in range(count):
        labels = {"parity": "odd" if number % 2 else "even"}
        metadata = ObjectMeta(name=f"c{number}", namespace=at.namespace, labels=labels)
        await at.client.create(ConfigMap(metadata=metadata))


def path(at: Any) -> ResourcePath:
    return ResourcePath("", "v1", "configmaps", at.namespace)


ODD = "parity=odd"


async def test_pages_come_from_one_moment(place: Places) -> None:
    async with place() as at:
        await fill(at, 5)
        options = ListOptions(limit=2, label_selector="parity")
        seen: list[str] = []
        first = True
        async for page in at.client.iterate_pages(ConfigMap, at.namespace, options):
            seen += [config.metadata.name for config in page]
            if first:
                first = False
                await at.client.delete(ConfigMap, "c4", at.namespace)
                metadata = ObjectMeta(name="c9", namespace=at.namespace, labels={"parity": "new"})
                await at.client.create(ConfigMap(metadata=metadata))
        assert seen == ["c0", "c1", "c2", "c3", "c4"]


async def test_a_list_returns_the_objects_its_selectors_match(place: Places) -> None:
    async with place() as at:
        await fill(at, 4)

        async def names(label_selector: str = "", field_selector: str = "") -> list[str]:
            options = ListOptions(label_selector=label_selector, field_selector=field_selector)
            found = await at.client.list(ConfigMap, at.namespace, options)
            return [config.metadata.name for config in found]

        assert await names(label_selector=ODD) == ["c1", "c3"]
        assert await names(label_selector="parity notin (odd),parity") == ["c0", "c2"]
        assert await names(field_selector="metadata.name=c2") == ["c2"]
        with pytest.raises(BadRequest, match="not a known field selector"):
            await names(field_selector="data.x=1")


async def test_a_list_can_return_metadata_alone(place: Places) -> None:
    async with place() as at:
        await fill(at, 1)
        options = ListOptions(label_selector="parity")
        page = await at.client.raw.list(path(at), options, form=Form.METADATA)
        document = json.decode(page.items[0])
        assert document["metadata"]["name"] == "c0"
        assert "data" not in document


async def test_a_watch_delivers_events_after_its_version(place: Places) -> None:
    async with place() as at:
        await fill(at, 2)
        page = await at.client.raw.list(path(at), ListOptions(label_selector="parity"))
        options = ListOptions(label_selector=ODD, resource_version=page.resource_version)
        told: list[tuple[str, str]] = []
        async with (
            asyncio.timeout(240),
            at.client.watch(ConfigMap, at.namespace, options) as events,
        ):
            odd = await at.client.get(ConfigMap, "c1", at.namespace)
            await at.client.update(replace(odd, data={"x": "1"}))
            even = await at.client.get(ConfigMap, "c0", at.namespace)
            await at.client.patch(even, {"metadata": {"labels": {"parity": "odd"}}})
            await at.client.patch(even, {"metadata": {"labels": {"parity": "even"}}})
            await at.client.delete(ConfigMap, "c1", at.namespace)
            async for event in events:
                told.append((event.type.value, event.object.metadata.name))
                if len(told) == 4:
                    break
        assert told == [("MODIFIED", "c1"), ("ADDED", "c0"), ("DELETED", "c0"), ("DELETED", "c1")]


async def test_a_watch_can_begin_with_the_state(place: Places) -> None:
    async with place() as at:
        await fill(at, 2)
        options = ListOptions(
            watch=True,
            label_selector="parity",
            send_initial_events=True,
            resource_version_match="NotOlderThan",
            allow_watch_bookmarks=True,
        )
        names: list[str] = []
        async with asyncio.timeout(240), at.client.raw.watch(path(at), options) as lines:
            async for line in lines:
                event = decode_event(line)
                if event.type == "ERROR":
                    pytest.skip(f"no streaming lists here: {json.decode(event.body)['message']}")
                metadata = json.decode(event.body)["metadata"]
                if event.type == "BOOKMARK":
                    assert metadata["annotations"][INITIAL_EVENTS_END] == "true"
                    break
                names.append(metadata["name"])
        assert sorted(names) == ["c0", "c1"]


async def test_a_collection_is_deleted_by_a_selection(place: Places) -> None:
    async with place() as at:
        await fill(at, 4)
        await at.client.delete_collection(ConfigMap, at.namespace, ListOptions(label_selector=ODD))
        options = ListOptions(label_selector="parity")
        left = await at.client.list(ConfigMap, at.namespace, options)
        assert [config.metadata.name for config in left] == ["c0", "c2"]


async def test_discovery_lists_the_served_kinds(place: Places) -> None:
    async with place() as at:
        found = await at.client.raw.discover_resource(GVK("apps", "v1", "Deployment"))
        assert found.gvr == GVR("apps", "v1", "deployments")
        assert found.namespaced
        assert {"status", "scale"} <= found.subresources
        _, short = await at.client.discover_resource_by_name("deploy")
        assert short.gvk.kind == "Deployment"
        with pytest.raises(NotFound):
            await at.client.raw.discover_resource(GVK("nowhere.example", "v1", "Nothing"))


async def test_an_impersonated_user_has_only_their_own_permissions(place: Places) -> None:
    async with place() as at:
        jane = Impersonation(user="jane", extra={"example.com/team": ("red",)})
        async with at.client.impersonate(jane) as acting:
            with pytest.raises(Forbidden, match='User "jane" cannot list resource "configmaps"'):
                await acting.list(ConfigMap, at.namespace)
