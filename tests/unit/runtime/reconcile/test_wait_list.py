"""Waiting for other objects: the event that ends a wait, and conditions that fail."""

import random
from typing import Any

import msgspec
import pytest

from quarterdeck.kit.clock import VirtualClock
from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime import WaitFor, WatchSettings
from quarterdeck.runtime.cache.delta import Remove, Replace, Upsert
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.runtime.reconcile.wait_list import WaitList

TARGET, OURS, OTHER = Key("ns", "target"), Key("ns", "ours"), Key("ns", "other")


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")
    value: int = 0


class World:
    """A wait list over a cache of Things, and what it enqueued."""

    def __init__(self, *, is_watched: bool = True) -> None:
        nowhere: Any = None
        informers = InformerFactory(
            nowhere, clock=VirtualClock(), rng=random.Random(1), settings=WatchSettings()
        )
        self.enqueued: list[Key] = []
        self.subject = WaitList(
            informers, lambda key, cause: self.enqueued.append(key), get_logger("test")
        )
        self.version = 10
        if is_watched:
            self.cache = informers.ensure(Thing).cache
            self.cache.apply(Replace((), 10, is_reset=False))

    def _next_state(self, value: Any) -> Snapshot:
        self.version += 1
        metadata = {"name": "target", "namespace": "ns", "uid": "u"}
        metadata["resourceVersion"] = str(self.version)
        document = {"metadata": metadata, "value": value}
        return Snapshot.of(msgspec.json.encode(document))

    def write(self, value: Any) -> None:
        state = self._next_state(value)
        self.cache.apply(Upsert(state, state.metadata))

    def delete(self) -> None:
        state = self._next_state(0)
        self.cache.apply(Remove(state, state.metadata))


def is_large(thing: Thing | None) -> bool:
    return thing is not None and thing.value > 5


def test_a_wait_ends_when_its_condition_holds_and_not_before() -> None:
    world = World()
    world.subject.add(OURS, WaitFor(Thing, TARGET, until=is_large))
    world.write(1)
    assert world.enqueued == []
    world.write(9)
    world.write(10)
    assert world.enqueued == [OURS], "a wait ends once"


def test_without_a_condition_any_change_ends_the_wait_of_everybody() -> None:
    world = World()
    world.write(1)
    for key in (OURS, OTHER):
        world.subject.add(key, WaitFor(Thing, TARGET))
    assert world.enqueued == [], "the present state is no change"
    world.delete()
    assert world.enqueued == [OURS, OTHER]


def test_a_condition_that_holds_already_is_not_waited_for() -> None:
    world = World()
    world.write(9)
    world.subject.add(OURS, WaitFor(Thing, TARGET, until=is_large))
    assert world.enqueued == [OURS]
    world.write(10)
    assert world.enqueued == [OURS]


def test_absence_can_be_waited_for() -> None:
    world = World()
    world.write(1)
    world.subject.add(OURS, WaitFor(Thing, TARGET, until=lambda thing: thing is None))
    world.write(2)
    assert world.enqueued == []
    world.delete()
    assert world.enqueued == [OURS]


def test_a_wait_that_was_removed_ends_by_nothing() -> None:
    world = World()
    world.subject.remove(OURS)
    for key in (OURS, OTHER):
        world.subject.add(key, WaitFor(Thing, TARGET, until=is_large))
    world.subject.remove(OURS)
    world.write(9)
    assert world.enqueued == [OTHER]
    world.subject.add(OURS, WaitFor(Thing, Key("ns", "elsewhere")))
    world.subject.remove(OURS)
    world.write(10)
    assert world.enqueued == [OTHER]


def test_nothing_is_kept_of_a_wait_that_has_ended() -> None:
    world = World()
    for key in (OURS, OTHER):
        world.subject.add(key, WaitFor(Thing, TARGET, until=is_large))
    assert len(world.subject) == 1
    world.subject.remove(OTHER)
    world.write(9)
    assert world.enqueued == [OURS]
    assert len(world.subject) == 0


def test_a_key_waits_for_one_object_only() -> None:
    world = World()
    world.subject.add(OURS, WaitFor(Thing, TARGET))
    world.subject.add(OURS, WaitFor(Thing, Key("ns", "elsewhere")))
    world.write(9)
    assert world.enqueued == []
    world.subject.remove(OURS)
    assert len(world.subject) == 0


def test_a_condition_that_raises_is_logged_and_does_not_end_the_watch(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    # a mistake that is easy to make: the object is None while it is absent
    world.subject.add(OURS, WaitFor(Thing, TARGET, until=lambda thing: thing.value > 5))
    assert [record.getMessage() for record in caplog.records] == [
        "condition of WaitFor failed; waiting for the next change or its timeout"
    ]
    assert caplog.records[0].__dict__["fields"]["awaited"] == "Thing ns/target"
    world.write(9)
    assert world.enqueued == [OURS]


def test_an_object_that_does_not_fit_its_type_does_not_end_the_watch() -> None:
    world = World()
    world.write("many")
    world.subject.add(OURS, WaitFor(Thing, TARGET, until=is_large))
    world.subject.add(OTHER, WaitFor(Thing, TARGET))
    world.write("more")
    assert world.enqueued == [OTHER], "any change is enough for the other"
    world.write(9)
    assert world.enqueued == [OTHER, OURS]


def test_a_kind_that_nobody_watches_is_named(caplog: pytest.LogCaptureFixture) -> None:
    world = World(is_watched=False)
    world.subject.add(OURS, WaitFor(Thing, TARGET))
    (record,) = caplog.records
    assert "WaitFor names a kind that no controller watches" in record.getMessage()
    assert record.__dict__["fields"] == {"kind": "Thing", "object": "ns/ours"}
