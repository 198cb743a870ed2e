"""Which changes reach a controller."""

from typing import Any

import msgspec
import pytest

from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.runtime.source import predicate


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")


def snapshot(version: int, **metadata: Any) -> Snapshot:
    fields = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": str(version)}
    return Snapshot.of(msgspec.json.encode({"metadata": {**fields, "generation": 1, **metadata}}))


def modified(old: Snapshot, new: Snapshot) -> Event:
    return Event(Change.MODIFIED, old, new, Thing)


@pytest.mark.parametrize(
    ("after", "matters"),
    [
        pytest.param({}, False, id="status only"),
        pytest.param({"generation": 2}, True, id="spec"),
        pytest.param({"labels": {"a": "b"}}, True, id="labels"),
        pytest.param({"annotations": {"a": "b"}}, True, id="annotations"),
        pytest.param({"finalizers": ["x"]}, True, id="finalizers"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True, id="deletion began"),
    ],
)
def test_the_default_predicate_sees_everything_but_status(
    after: dict[str, Any], *, matters: bool
) -> None:
    event = modified(snapshot(1), snapshot(2, **after))
    assert predicate.desired_state_changed(event) is matters
    assert predicate.resource_version_changed(event)


def test_predicates_combine() -> None:
    event = modified(snapshot(1, labels={"app": "x"}), snapshot(2))
    assert predicate.matches("app=x")(event)  # it did before
    assert not predicate.matches("app=y")(event)
    assert predicate.all_of(predicate.labels_changed, predicate.in_namespaces("ns"))(event)
    assert not predicate.none_of(predicate.labels_changed)(event)
    assert predicate.any_of(predicate.generation_changed, predicate.labels_changed)(event)
    assert not predicate.annotations_changed(event)
    assert not predicate.finalizers_changed(event)


@pytest.mark.parametrize(
    "check",
    [
        predicate.generation_changed,
        predicate.labels_changed,
        predicate.annotations_changed,
        predicate.finalizers_changed,
        predicate.resource_version_changed,
        predicate.desired_state_changed,
    ],
)
def test_additions_and_deletions_always_matter(check: predicate.Predicate) -> None:
    state = snapshot(2)
    assert check(Event(Change.ADDED, None, state, Thing))
    assert check(Event(Change.DELETED, state, state, Thing))


def test_the_generation_predicate_sees_deletion_and_kinds_without_a_generation() -> None:
    assert not predicate.generation_changed(modified(snapshot(1), snapshot(2)))
    assert predicate.generation_changed(modified(snapshot(1), snapshot(2, generation=2)))
    without = modified(snapshot(1, generation=0), snapshot(2, generation=0))
    assert predicate.generation_changed(without)
    deleting = snapshot(2, deletionTimestamp="2026-01-01T00:00:00Z")
    assert predicate.generation_changed(modified(snapshot(1), deleting))
    assert not predicate.generation_changed(modified(deleting, deleting))


def test_a_selector_matches_what_has_the_label_now() -> None:
    assert predicate.matches("app=x")(modified(snapshot(1), snapshot(2, labels={"app": "x"})))
    assert not predicate.matches("app=x")(Event(Change.ADDED, None, snapshot(1), Thing))
