"""Answers of our writes in the cache: late, lost, parked and overtaken ones."""

from typing import Any

import msgspec

from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.delta import Progress, Remove, Replace, Upsert
from quarterdeck.runtime.cache.event import Author, Event
from quarterdeck.runtime.cache.snapshot import Metadata, Snapshot

KEY = Key("ns", "a")
AUTHOR = Author("test", KEY)


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")


def raw(version: int | str, uid: str = "u", **metadata: Any) -> bytes:
    fields = {"name": "a", "namespace": "ns", "uid": uid, "resourceVersion": str(version)}
    return msgspec.json.encode(
        {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {**fields, **metadata}}
    )


class Watched:
    """A cache that has received a list at version 10, and the events it sent to a handler."""

    def __init__(self, *states: bytes, **options: Any) -> None:
        self.cache = Cache(Thing, **options)
        self.seen: list[tuple[str, int]] = []
        self.cache.add_handler(self._record)
        snapshots = tuple(Snapshot.of(each) for each in states)
        self.cache.apply(Replace(snapshots, 10, is_reset=False))

    def _record(self, event: Event) -> None:
        self.seen.append((event.change.name, event.new.version))

    def changed(self, state: bytes) -> None:
        snapshot = Snapshot.of(state)
        self.cache.apply(Upsert(snapshot, snapshot.metadata))

    def deleted(self, state: bytes) -> None:
        snapshot = Snapshot.of(state)
        self.cache.apply(Remove(snapshot, snapshot.metadata))

    @property
    def version(self) -> int | None:
        found = self.cache.snapshot(KEY)
        return None if found is None else found.version


def test_a_write_that_the_server_lost_is_taken_back() -> None:
    watched = Watched(raw(5))
    watched.cache.record_write(raw(12), AUTHOR)
    assert watched.version == 12
    watched.cache.apply(Progress(20))  # past it, without its event
    assert watched.version == 5


def test_an_object_whose_creation_the_server_lost_disappears() -> None:
    watched = Watched()
    watched.cache.record_write(raw(12), AUTHOR)
    watched.cache.apply(Progress(20))
    assert watched.version is None
    assert watched.seen == [], "handlers were never told of it"


def test_an_answer_that_comes_after_the_deletion_does_not_bring_the_object_back() -> None:
    watched = Watched(raw(5))
    watched.cache.record_deletion(KEY, "u", AUTHOR)
    watched.cache.record_write(raw(12), AUTHOR)
    assert watched.version is None
    watched.deleted(raw(13))
    assert watched.seen == [("ADDED", 5), ("DELETED", 13)]


def test_a_repeated_older_state_is_ignored() -> None:
    watched = Watched(raw(9))
    watched.changed(raw(7))
    assert watched.version == 9
    assert watched.seen == [("ADDED", 9)]
    assert watched.cache.version("ns") == 10


def test_events_are_parked_while_a_write_is_under_way_but_not_without_limit() -> None:
    watched = Watched(raw(5))
    with watched.cache.hold_events(KEY):
        for version in range(11, 75):
            watched.changed(raw(version))
        assert watched.version == 5, "the answer of the write comes first"
        watched.changed(raw(75))
        assert watched.version == 75, "a write without an answer does not hold events back forever"
    assert [version for _, version in watched.seen] == [5, *range(11, 76)]


def test_writes_at_the_same_time_release_events_when_the_last_one_ends() -> None:
    watched = Watched(raw(5))
    watched.cache.begin_write(KEY)
    watched.cache.begin_write(KEY)
    watched.changed(raw(11))
    watched.cache.end_write(KEY)
    assert watched.version == 5
    watched.cache.end_write(KEY)
    assert watched.version == 11


def test_a_deletion_that_was_missed_is_reported_before_the_one_that_was_seen() -> None:
    watched = Watched(raw(5, "first"))
    watched.deleted(raw(14, "second"))  # created and deleted while nobody watched
    assert watched.version is None
    assert watched.seen == [("ADDED", 5), ("DELETED", 5)]


def test_the_deletion_of_an_unknown_object_is_no_event() -> None:
    watched = Watched()
    watched.deleted(raw(12))
    assert watched.seen == []


def test_an_object_written_out_of_the_scope_is_hidden_at_once() -> None:
    def in_scope(metadata: Metadata) -> bool:
        return (metadata.labels or {}).get("app") == "x"

    watched = Watched(raw(5, labels={"app": "x"}), in_scope=in_scope)
    watched.cache.record_write(raw(12, labels={"app": "y"}), AUTHOR)
    assert watched.version is None
    watched.deleted(raw(12, labels={"app": "y"}))
    assert watched.seen == [("ADDED", 5), ("DELETED", 12)]


def test_answers_without_a_comparable_version_wait_for_the_watch() -> None:
    watched = Watched(raw(5))
    watched.cache.record_write(raw("abc"), AUTHOR)
    assert watched.version == 5


def test_late_handlers_are_not_told_of_writes_that_the_watch_has_not_reported() -> None:
    watched = Watched()
    watched.cache.record_write(raw(12), AUTHOR)
    late: list[Event] = []
    watched.cache.add_handler(late.append)
    assert late == []
    watched.changed(raw(12))
    assert [event.change.name for event in late] == ["ADDED"]
