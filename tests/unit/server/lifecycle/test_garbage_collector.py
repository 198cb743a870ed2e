"""Garbage collection as a whole: random graphs of owners, collected to the end."""

from collections.abc import Callable
from typing import Any

import msgspec
from example_counts import count_examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quarterdeck.kit import json as kit_json
from quarterdeck.server.lifecycle.controllers.garbage_collector import GarbageCollector
from quarterdeck.server.lifecycle.engine.actions import Action, Delete, Update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.deletion import FOREGROUND, ORPHAN
from quarterdeck.storage import StoreKey

Object = dict[str, Any]
NAMES = [f"o{number}" for number in range(6)]


def config(name: str, owners: list[tuple[str, str, bool]]) -> Object:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner,
            "uid": uid,
            "blockOwnerDeletion": blocks,
        }
        for owner, uid, blocks in owners
    ]
    metadata: Object = {"name": name, "namespace": "n", "uid": f"uid-{name}"}
    if references:
        metadata["ownerReferences"] = references
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


class Graph:
    """Objects that change as the plans say, without a server."""

    def __init__(self, objects: list[Object], look: Callable[..., View]) -> None:
        self.objects = {each["metadata"]["name"]: each for each in objects}
        self.look = look

    def delete(self, name: str, policy: str) -> None:
        metadata = self.objects[name]["metadata"]
        kept = [each for each in metadata.get("finalizers", ()) if each not in (FOREGROUND, ORPHAN)]
        if policy != "Background":
            kept.append(FOREGROUND if policy == "Foreground" else ORPHAN)
        if kept:
            changed = {**metadata, "finalizers": kept, "deletionTimestamp": "2026-01-01T00:00:00Z"}
            self.objects[name] = {**self.objects[name], "metadata": changed}
        else:
            del self.objects[name]

    def apply(self, action: Action) -> None:
        match action:
            case Delete():
                if action.key.name in self.objects:
                    self.delete(action.key.name, action.policy or "Background")
            case Update():
                value = kit_json.decode(kit_json.encode(action.value))
                metadata = value["metadata"]
                if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
                    del self.objects[action.key.name]
                else:
                    self.objects[action.key.name] = value

    def solid(self, name: str) -> list[str]:
        """The owners that are there and stay."""
        found = []
        for owner in self.objects[name]["metadata"].get("ownerReferences", ()):
            held = self.objects.get(owner["name"])
            if held is None or held["metadata"]["uid"] != owner["uid"]:
                continue
            if FOREGROUND not in held["metadata"].get("finalizers", ()):
                found.append(owner["name"])
        return found

    def collect(self) -> None:
        """Plan every object until nothing happens any more."""
        collector = GarbageCollector()
        for _ in range(100):
            quiet = True
            for name in list(self.objects):
                if name not in self.objects:
                    continue
                view = self.look(self.objects.values())
                for action in collector.plan(view, StoreKey("configmaps", "n", name)):
                    quiet = False
                    if isinstance(action, Delete):
                        assert not self.solid(action.key.name)
                    self.apply(action)
            if quiet:
                return
        raise AssertionError("never comes to rest")


def reference(names: list[str]) -> st.SearchStrategy[tuple[str, str, bool]]:
    """A reference to one of the objects, now and then of another life or to nobody."""
    uids = st.sampled_from(names).flatmap(
        lambda name: st.sampled_from([(name, f"uid-{name}"), (name, "uid-old"), ("no", "uid-no")])
    )
    return st.tuples(uids, st.booleans()).map(lambda each: (*each[0], each[1]))


GRAPHS = st.fixed_dictionaries(
    {name: st.lists(reference(NAMES), max_size=3, unique_by=lambda each: each[1]) for name in NAMES}
)


@given(
    graph=GRAPHS,
    victim=st.sampled_from(NAMES),
    policy=st.sampled_from(["Background", "Foreground", "Orphan"]),
)
@settings(
    max_examples=count_examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_collection_comes_to_rest_and_takes_nobody_with_a_solid_owner(
    look: Callable[..., View],
    graph: dict[str, list[tuple[str, str, bool]]],
    victim: str,
    policy: str,
) -> None:
    world = Graph([config(name, owners) for name, owners in graph.items()], look)
    world.collect()
    if victim in world.objects:
        world.delete(victim, policy)
        world.collect()
        assert victim not in world.objects
    for name, value in world.objects.items():
        assert not value["metadata"].get("ownerReferences") or world.solid(name)


def test_actions_are_plain_values() -> None:
    key = StoreKey("configmaps", "n", "a")
    assert Delete(key=key, uid="1") == Delete(key=key, uid="1")
    assert msgspec.to_builtins(Delete(key=key, uid="1"))["policy"] == "Background"
