"""Which objects a change wakes."""

from typing import Any

import msgspec

from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.runtime.source.handler import Lister, enqueue_mapped, enqueue_owner


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")
    value: int = 0


def snapshot(version: int, **metadata: Any) -> Snapshot:
    fields = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": str(version)}
    return Snapshot.of(msgspec.json.encode({"metadata": {**fields, "generation": 1, **metadata}}))


def modified(old: Snapshot, new: Snapshot) -> Event:
    return Event(Change.MODIFIED, old, new, Thing)


def test_owners_are_found_in_the_old_and_the_new_state_whatever_their_version() -> None:
    def owned(name: str, *, controller: bool = True) -> dict[str, Any]:
        return {
            "apiVersion": "example.com/v9",
            "kind": "Thing",
            "name": name,
            "uid": name,
            "controller": controller,
        }

    old = snapshot(1, ownerReferences=[owned("before")])
    new = snapshot(2, ownerReferences=[owned("after"), owned("friend", controller=False)])
    group_kind = Thing.KIND.gvk.group_kind
    mapping = enqueue_owner(group_kind, is_namespaced=True, only_controller=True)
    assert set(mapping(modified(old, new))) == {Key("ns", "before"), Key("ns", "after")}
    everybody = enqueue_owner(group_kind, is_namespaced=False, only_controller=False)
    assert Key("", "friend") in set(everybody(modified(old, new)))


def test_owners_of_another_kind_are_not_enqueued() -> None:
    other = {"apiVersion": "other.com/v1", "kind": "Thing", "name": "x", "uid": "x"}
    mapping = enqueue_owner(Thing.KIND.gvk.group_kind, is_namespaced=True, only_controller=False)
    added = Event(Change.ADDED, None, snapshot(1, ownerReferences=[other]), Thing)
    assert set(mapping(added)) == set()


def test_a_mapping_sees_the_old_and_the_new_state() -> None:
    def to_target(thing: Thing, lister: Lister) -> list[Key]:
        return [Key("ns", thing.metadata.labels["target"])]

    nothing: Any = None
    mapping = enqueue_mapped(to_target, Thing, nothing)
    old, new = (snapshot(n, labels={"target": name}) for n, name in ((1, "was"), (2, "is")))
    assert set(mapping(modified(old, new))) == {Key("ns", "was"), Key("ns", "is")}
    assert set(mapping(Event(Change.DELETED, old, new, Thing))) == {Key("ns", "is")}


def test_a_state_that_does_not_fit_its_type_is_mapped_to_nothing() -> None:
    def everything(thing: Thing, lister: Lister) -> list[Key]:
        return [Key("ns", "x")]

    nothing: Any = None
    broken = Snapshot.of(b'{"metadata":{"name":"a","namespace":"ns"},"value":"x"}')
    mapping = enqueue_mapped(everything, Thing, nothing)
    assert set(mapping(Event(Change.ADDED, None, broken, Thing))) == set()
