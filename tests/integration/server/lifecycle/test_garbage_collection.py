"""Garbage collection, seen by clients."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from quarterdeck.server.registry.codec import build_encoder
from quarterdeck.storage import StoreEvent, StoreKey
from quarterdeck.storage.log import Done
from quarterdeck.storage.memory import MemoryLog

Object = dict[str, Any]


WIDGET = {"apiVersion": "stable.example.com/v1", "kind": "Widget"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.stable.example.com"},
    "spec": {
        "group": "stable.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


def config(name: str, *owners: Object, kind: str = "ConfigMap", **reference: Any) -> Object:
    references = [
        {
            "apiVersion": "v1",
            "kind": kind,
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            **reference,
        }
        for owner in owners
    ]
    return {"metadata": {"name": name, "ownerReferences": references}}


async def test_dependents_go_with_their_owner(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        child = await cluster.create("configmaps", config("child", owner))
        await cluster.create("configmaps", config("grandchild", child))
        await cluster.delete("configmaps", "owner")
        assert await cluster.names("configmaps") == ["kube-root-ca.crt"]


async def test_dependent_with_another_owner_stays_and_forgets_the_first(world: Any) -> None:
    async with world() as cluster:
        first = await cluster.create("configmaps", config("first"))
        second = await cluster.create("configmaps", config("second"))
        await cluster.create("configmaps", config("child", first, second))
        await cluster.delete("configmaps", "first")
        child = await cluster.the("configmaps", "child")
        assert [each["name"] for each in child["metadata"]["ownerReferences"]] == ["second"]


@pytest.mark.parametrize("keeper", [None, "other"], ids=["no owner", "another owner"])
async def test_dependent_that_is_being_given_another_owner_stays(
    world: Any, monkeypatch: pytest.MonkeyPatch, keeper: str | None
) -> None:
    """A client changes the owners, and the collector plans before that write is committed."""
    commit, held, is_held = MemoryLog.commit, [], asyncio.Event()

    def hold(log: MemoryLog, events: Sequence[StoreEvent], done: Done) -> None:
        held.append((log, events, done))
        is_held.set()

    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        other = await cluster.create("configmaps", config("other"))
        child = await cluster.create("configmaps", config("child", owner))
        store = cluster.cluster.api.core.store

        def give_away(events: Sequence[StoreEvent]) -> None:
            if any(event.key.name == "owner" and event.after is None for event in events):
                monkeypatch.setattr(MemoryLog, "commit", hold)
                owners = config("child", *([other] if keeper else []))["metadata"]
                value = {**child, "metadata": {**child["metadata"], **owners}}
                store.put(StoreKey("configmaps", "default", "child"), build_encoder(value))

        stop = store.subscribe(give_away)
        deletion = asyncio.create_task(cluster.delete("configmaps", "owner"))
        await is_held.wait()
        for _ in range(50):
            await asyncio.sleep(0)  # the plan is decided, the write is not committed yet
        stop()
        monkeypatch.setattr(MemoryLog, "commit", commit)
        for each in held:
            commit(*each)
        await deletion
        left = await cluster.the("configmaps", "child")
        owners = left["metadata"].get("ownerReferences") or []
        assert [each["name"] for each in owners] == ([keeper] if keeper else [])


async def test_orphaning_lets_dependents_go(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        await cluster.create("configmaps", config("child", owner))
        await cluster.delete("configmaps", "owner", propagationPolicy="Orphan")
        child = await cluster.the("configmaps", "child")
        assert "ownerReferences" not in child["metadata"]
        assert await cluster.get("configmaps", "owner") is None


async def test_foreground_deletion_waits_for_those_who_block(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        slow = config("slow", owner, blockOwnerDeletion=True)
        slow["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create("configmaps", slow)
        await cluster.create("configmaps", config("quick", owner, blockOwnerDeletion=True))
        await cluster.delete("configmaps", "owner", propagationPolicy="Foreground")
        assert await cluster.get("configmaps", "quick") is None
        held = await cluster.the("configmaps", "owner")
        assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
        await cluster.patch("configmaps", "slow", {"metadata": {"finalizers": None}})
        assert await cluster.get("configmaps", "slow") is None
        assert await cluster.get("configmaps", "owner") is None


async def test_foreground_deletion_does_not_wait_for_the_others(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        slow = config("slow", owner)
        slow["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create("configmaps", slow)
        await cluster.delete("configmaps", "owner", propagationPolicy="Foreground")
        assert await cluster.get("configmaps", "owner") is None
        held = await cluster.the("configmaps", "slow")
        assert held["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("policy", ["Foreground", "Background"])
async def test_cycle_goes_as_a_whole(world: Any, policy: str) -> None:
    async with world() as cluster:
        one = await cluster.create("configmaps", config("one"))
        two = await cluster.create("configmaps", config("two", one, blockOwnerDeletion=True))
        owners = config("one", two, blockOwnerDeletion=True)["metadata"]["ownerReferences"]
        await cluster.patch("configmaps", "one", {"metadata": {"ownerReferences": owners}})
        await cluster.delete("configmaps", "one", propagationPolicy=policy)
        assert await cluster.names("configmaps") == ["kube-root-ca.crt"]


async def test_owner_of_the_same_name_is_not_the_owner(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        stale = {**owner, "metadata": {**owner["metadata"], "uid": "of-another-life"}}
        await cluster.create("configmaps", config("child", stale))
        assert await cluster.get("configmaps", "child") is None
        assert await cluster.get("configmaps", "owner") is not None


async def test_owner_in_another_namespace_is_no_owner(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        await cluster.create("configmaps", config("child", owner), "kube-public")
        assert await cluster.get("configmaps", "child", "kube-public") is None
        events = await cluster.items("events", "kube-public")
        assert [each["reason"] for each in events] == ["OwnerRefInvalidNamespace"]


async def test_cluster_scoped_object_cannot_be_owned_from_a_namespace(world: Any) -> None:
    async with world() as cluster:
        owner = await cluster.create("configmaps", config("owner"))
        role = config("role", owner)
        await cluster.create("clusterroles", {**role, "rules": []})
        await cluster.delete("configmaps", "owner")
        assert await cluster.get("clusterroles", "role") is not None


async def test_owner_of_an_unknown_kind_keeps_its_dependents(world: Any) -> None:
    async with world() as cluster:
        owner = {"metadata": {"name": "somebody", "uid": "1"}}
        await cluster.create("configmaps", config("child", owner, kind="Mystery"))
        assert await cluster.get("configmaps", "child") is not None


async def test_dependents_of_custom_resources_go_with_their_definition(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("customresourcedefinitions", DEFINITION)
        widget = await cluster.create("widgets", {**WIDGET, "metadata": {"name": "w"}})
        child = config("child", widget, kind="Widget")
        child["metadata"]["ownerReferences"][0]["apiVersion"] = WIDGET["apiVersion"]
        await cluster.create("configmaps", child)
        assert await cluster.get("configmaps", "child") is not None
        await cluster.delete("customresourcedefinitions", "widgets.stable.example.com")
        assert await cluster.get("configmaps", "child") is None
        assert await cluster.names("customresourcedefinitions") == []


async def test_custom_resource_is_collected_with_its_owner(world: Any) -> None:
    async with world() as cluster:
        await cluster.create("customresourcedefinitions", DEFINITION)
        owner = await cluster.create("configmaps", config("owner"))
        widget = config("w", owner, blockOwnerDeletion=True)
        widget["metadata"]["finalizers"] = ["example.com/hold"]
        await cluster.create("widgets", {**WIDGET, **widget})
        await cluster.delete("configmaps", "owner", propagationPolicy="Foreground")
        assert (await cluster.the("widgets", "w"))["metadata"]["deletionTimestamp"]
        await cluster.patch("widgets", "w", {"metadata": {"finalizers": None}})
        assert await cluster.get("configmaps", "owner") is None


async def test_nothing_is_collected_without_life_cycle(world: Any) -> None:
    async with world() as cluster:
        assert cluster.lifecycle is not None
    from quarterdeck.app.cluster import Cluster
    from quarterdeck.server.options import ServerOptions

    async with Cluster(options=ServerOptions(lifecycle=False)) as bare:
        assert bare.api.lifecycle is None
