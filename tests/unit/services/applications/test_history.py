"""The history behind /events and the ring behind /watch, without any network."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.applications.v1 import Application
from quarterdeck.kit import json
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.services.applications.history import History, Query
from quarterdeck.services.applications.ring import Ring
from quarterdeck.services.applications.stream import WatchOptions
from quarterdeck.wire.status import BadRequest

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def snapshot(
    name: str = "web", version: int = 1, *, namespace: str = "default", **more: Any
) -> Snapshot:
    document = {
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            "generation": more.pop("generation", 1),
            "labels": more.pop("labels", {}),
            "managedFields": [{"manager": "m"}],
        },
        "spec": {"replicas": 1, "image": "nginx"},
        "status": more,
    }
    return Snapshot.of(msgspec.json.encode(document))


def event(
    change: Change, new: Snapshot, old: Snapshot | None = None, *, is_initial: bool = False
) -> Event:
    return Event(change, old, new, Application, is_initial=is_initial)


def added(name: str = "web", version: int = 1, **more: Any) -> Event:
    return event(Change.ADDED, snapshot(name, version, **more))


# --- history


def test_changes_are_told_newest_first() -> None:
    history = History(10)
    history.record(added("a"), NOW)
    history.record(event(Change.DELETED, snapshot("b")), NOW + timedelta(seconds=1))
    reasons = [(r.reason, r.type, r.severity, r.watch_type) for r in history.find(Query())]
    assert reasons == [
        ("Deleted", "Warning", "Warning", "DELETED"),
        ("Created", "Normal", "Info", "ADDED"),
    ]


def test_what_repeats_within_a_minute_is_counted() -> None:
    history = History(10)
    old = snapshot(version=1)
    for second in (0, 30, 80):
        history.record(
            event(Change.MODIFIED, snapshot(version=2), old), NOW + timedelta(seconds=second)
        )
    (only,) = history.find(Query())
    assert only.count == 3
    assert (only.first_timestamp, only.last_timestamp) == (
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:01:20Z",
    )
    history.record(event(Change.MODIFIED, snapshot(version=3), old), NOW + timedelta(seconds=150))
    assert [record.count for record in history.find(Query())] == [1, 3]


def test_a_failed_application_is_an_error() -> None:
    history = History(10)
    failed = snapshot(version=2, phase="Failed")
    history.record(event(Change.MODIFIED, failed, snapshot()), NOW)
    assert history.find(Query())[0].severity == "Error"


def test_the_history_is_bounded() -> None:
    history = History(3)
    for number in range(10):
        history.record(added(f"a{number}"), NOW)
    assert len(history) == 3
    assert [r.involved_object["name"] for r in history.find(Query())] == ["a9", "a8", "a7"]


def test_the_first_state_of_the_cache_is_no_event() -> None:
    history = History(3)
    history.record(event(Change.ADDED, snapshot(), is_initial=True), NOW)
    assert len(history) == 0


def test_filters_narrow_the_answer() -> None:
    history = History(10)
    history.record(added("a", namespace="one"), NOW)
    history.record(added("b", namespace="two"), NOW + timedelta(minutes=5))
    history.record(event(Change.DELETED, snapshot("c")), NOW + timedelta(minutes=6))

    def names(query: str) -> list[str]:
        return [r.involved_object["name"] for r in history.find(Query.parse(query))]

    assert names("namespace=one") == ["a"]
    assert names("name=b&kind=Application") == ["b"]
    assert names("type=Warning") == ["c"]
    assert names("severity=Info") == ["b", "a"]
    assert names("since=2026-01-01T12:03:00Z") == ["c", "b"]
    assert names("limit=1") == ["c"]
    assert names("kind=Pod") == []


@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=1001", "limit=x", "limit=", "limit=-1", "type=Bad", "severity=Loud"),
        "limit=" + "9" * 5000,
        *("since=yesterday", "nonsense=1"),
    ],
)
def test_bad_query_parameters_are_refused_by_name(query: str) -> None:
    with pytest.raises(BadRequest) as refused:
        Query.parse(query)
    assert query.partition("=")[0] in str(refused.value)


# --- ring


def test_a_frame_has_an_id_and_no_bookkeeping() -> None:
    ring = Ring(5)
    ring.record(added(version=7))
    (entry,) = ring
    head, data, *_ = entry.frame.split(b"\n")
    assert head == b"id: 7"
    document = json.decode(data.removeprefix(b"data: "))
    assert document["type"] == "ADDED"
    assert "managedFields" not in document["object"]["metadata"]


def test_a_reader_gets_what_came_since_its_position() -> None:
    ring = Ring(3)
    for version in (1, 2):
        ring.record(added(version=version))
    assert [e.snapshot.version for e in ring.list_from(0) or ()] == [1, 2]
    assert ring.list_from(2) == []


def test_a_reader_that_is_too_slow_is_told_so() -> None:
    ring = Ring(3)
    for version in range(1, 6):
        ring.record(added(version=version))
    assert ring.list_from(1) is None
    assert [e.snapshot.version for e in ring.list_from(2) or ()] == [3, 4, 5]


def test_large_objects_leave_room_for_fewer() -> None:
    size = len(added(version=1).new.data)
    ring = Ring(100, max_bytes=3 * size)
    for version in range(1, 6):
        ring.record(added(version=version))
    assert [entry.snapshot.version for entry in ring] == [3, 4, 5]
    assert ring.list_from(1) is None
    assert ring.find_position(1, synced=5) is None
    assert ring.find_position(2, synced=5) == 2
    ring = Ring(100, max_bytes=1)
    ring.record(added(version=1))
    ring.record(added(version=2))
    assert [entry.snapshot.version for entry in ring] == [2]  # the newest is always there


def test_resuming_finds_the_next_change_or_says_it_is_gone() -> None:
    ring = Ring(3)
    assert ring.find_position(4, synced=5) is None
    assert ring.find_position(5, synced=5) == 0
    for version in (6, 8, 9):
        ring.record(added(version=version))
    assert ring.find_position(6, synced=9) == 1
    assert ring.find_position(7, synced=9) == 1
    assert ring.find_position(9, synced=9) == 3
    assert ring.find_position(4, synced=9) is None
    ring.record(added(version=12))
    assert ring.find_position(5, synced=12) is None
    assert ring.find_position(6, synced=12) == 1


def test_readers_start_over_after_changes_that_are_not_in_the_order_of_versions() -> None:
    ring = Ring(10)
    for name, version in (("a", 5), ("b", 9)):
        ring.record(event(Change.ADDED, snapshot(name, version), is_initial=True))
    # a list at version 30 lacks "a", and has newer states of others
    ring.record(event(Change.DELETED, snapshot("a", 5)), synced=30)
    assert ring.find_position(20, synced=30) is None  # it still has "a"
    assert ring.find_position(30, synced=30) == 1
    ring.record(added("c", 28), synced=30)
    ring.record(added("b", 26), synced=30)
    assert ring.find_position(28, synced=30) is None  # it may lack the change of "b"
    assert ring.find_position(30, synced=30) == 3
    ring.record(added("d", 31), synced=30)
    assert ring.find_position(30, synced=31) == 3
    assert ring.find_position(31, synced=31) == 4


async def test_readers_are_woken_and_forgotten() -> None:
    ring, wake = Ring(3), asyncio.Event()
    ring.subscribe(wake)
    ring.record(added())
    assert wake.is_set() and ring.subscribers == 1
    ring.unsubscribe(wake)
    assert ring.subscribers == 0


# --- wishes


def test_watches_select_by_namespace_name_and_labels() -> None:
    options = WatchOptions.parse("namespace=one&name=a&labelSelector=x%3Dy", None)
    assert options.matches(snapshot("a", namespace="one", labels={"x": "y"}))
    assert not options.matches(snapshot("a", namespace="one"))
    assert not options.matches(snapshot("b", namespace="one", labels={"x": "y"}))
    assert not options.matches(snapshot("a", labels={"x": "y"}))


def test_the_header_of_a_reconnecting_browser_wins() -> None:
    assert WatchOptions.parse("resourceVersion=3", "7").after == 7
    assert WatchOptions.parse("resourceVersion=3", None).after == 3


@pytest.mark.parametrize(
    "query",
    [
        "resourceVersion=new",
        "labelSelector=(((",
        "watch=1",
        "resourceVersion=-1",
        "sendInitialEvents=x",
    ],
)
def test_bad_watch_parameters_are_refused(query: str) -> None:
    with pytest.raises(BadRequest):
        WatchOptions.parse(query, None)
