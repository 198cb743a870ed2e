"""Reading a cache: by index, owner, label and namespace, and objects that do not fit their type."""

from typing import Any

import msgspec
import pytest

from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import DecodeError, Object
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.delta import Remove, Replace, Upsert
from quarterdeck.runtime.cache.labels import parse_selector
from quarterdeck.runtime.cache.snapshot import Snapshot


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")
    value: int = 0


def state(name: str, version: int, *, value: Any = 0, **metadata: Any) -> Snapshot:
    fields = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
    }
    document = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {**fields, **metadata},
        "value": value,
    }
    return Snapshot.of(msgspec.json.encode(document))


def filled(*states: Snapshot) -> Cache[Thing]:
    cache = Cache(Thing)
    cache.apply(Replace(states, 100, is_reset=False))
    return cache


def upsert(cache: Cache[Thing], snapshot: Snapshot) -> None:
    cache.apply(Upsert(snapshot, snapshot.metadata))


def names(cache: Cache[Thing], index: tuple[str, str]) -> list[str]:
    return [each.metadata.name for each in cache.list(index=index)]


def index_values(cache: Cache[Thing]) -> None:
    cache.add_index("value", lambda thing: [str(thing.value)] if thing.value else [])


def test_an_index_added_later_has_the_objects_that_are_there() -> None:
    cache = filled(state("a", 1, value=1), state("b", 2, value=2), state("c", 3))
    index_values(cache)
    assert names(cache, ("value", "2")) == ["b"]
    with pytest.raises(ValueError, match="Thing already has an index 'value'"):
        index_values(cache)


def test_an_object_leaves_an_index_with_its_value_and_when_it_is_deleted() -> None:
    cache = filled()
    index_values(cache)
    upsert(cache, state("a", 101, value=1))
    upsert(cache, state("b", 102, value=1))
    upsert(cache, state("a", 103))
    assert names(cache, ("value", "1")) == ["b"]
    gone = state("b", 104, value=1)
    cache.apply(Remove(gone, gone.metadata))
    assert names(cache, ("value", "1")) == []


def test_an_object_that_does_not_fit_its_type_is_left_out_until_it_does() -> None:
    cache = filled(state("a", 1, value="many"), state("b", 2, value=1))
    index_values(cache)
    assert [each.metadata.name for each in cache.list()] == ["b"]
    assert names(cache, ("value", "many")) == []
    with pytest.raises(DecodeError):
        cache.get(Key("ns", "a"))
    upsert(cache, state("b", 101, value="many"))
    assert names(cache, ("value", "1")) == [], "its old value is forgotten"
    upsert(cache, state("a", 102, value=1))
    assert names(cache, ("value", "1")) == ["a"]


def test_owners_are_indexed_from_the_first_question_on() -> None:
    def owned(by: str) -> dict[str, Any]:
        reference = {"apiVersion": "v1", "kind": "Owner", "name": by, "uid": by}
        return {"ownerReferences": [reference]}

    cache = filled(state("a", 1, **owned("one")), state("b", 2))
    assert [each.key.name for each in cache.list_owned_by("one")] == ["a"]
    upsert(cache, state("b", 101, **owned("one")))
    upsert(cache, state("a", 102, **owned("two")))
    assert [each.key.name for each in cache.list_owned_by("one")] == ["b"]
    gone = state("b", 103)
    cache.apply(Remove(gone, gone.metadata))
    assert list(cache.list_owned_by("one")) == []


def test_lists_are_limited_by_namespace_label_and_index_together() -> None:
    cache = filled(
        state("a", 1, value=1, labels={"app": "x"}),
        state("b", 2, value=1, labels={"app": "y"}),
        state("c", 3, value=1, namespace="other", labels={"app": "x"}),
        state("d", 4, value=2, labels={"app": "x"}),
    )
    index_values(cache)
    selector = parse_selector("app=x")
    assert [each.metadata.name for each in cache.list(selector=selector)] == ["a", "c", "d"]
    found = cache.list(namespace="ns", selector=selector, index=("value", "1"))
    assert [each.metadata.name for each in found] == ["a"]


def test_objects_are_decoded_once_as_long_as_they_are_used_often() -> None:
    cache = filled(*(state(f"t{number}", number + 1) for number in range(80)))
    first = cache.get(Key("ns", "t0"))
    assert cache.get(Key("ns", "t0")) is first
    assert len(cache.list()) == 80, "more than are kept decoded"
    assert cache.get(Key("ns", "t0")) == first
