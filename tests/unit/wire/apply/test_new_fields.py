"""Fields of new objects: the short way must say what comparing with nothing says."""

import json
from collections.abc import Hashable, Mapping
from typing import Any

from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta.schema import from_openapi
from quarterdeck.meta.structural.inlined.warming import CALLS_BEFORE_BUILD
from quarterdeck.wire.apply import FieldManager
from quarterdeck.wire.apply.fieldset import Trie
from quarterdeck.wire.apply.known_shapes import MOST_SHAPES, KnownShapes, build_key_function
from quarterdeck.wire.apply.new_fields import list_new_fields
from quarterdeck.wire.apply.schema_type import build_root_type

KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "port": {"type": "integer", "default": 80},
            "more": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}
NODE = from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "nullable": True},
                    "either": {"x-kubernetes-int-or-string": True},
                    "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
                    "map": {"type": "object", "additionalProperties": KEYED},
                    "items": KEYED,
                    "set": {
                        "type": "array",
                        "x-kubernetes-list-type": "set",
                        "items": {"x-kubernetes-int-or-string": True},
                    },
                    "list": {"type": "array", "items": {"type": "object"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
)
FIELDS = FieldManager(NODE, "g/v1", reset=["status"])

texts = st.sampled_from(["a", "b", "B", "0", "a.b/c", "ä", '"'])
anything = st.recursive(
    st.one_of(texts, st.none(), st.booleans(), st.integers(0, 3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
keyed = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": texts,
            "port": st.integers(1, 3),
            "more": st.dictionaries(texts, anything, max_size=2),
            "unknown": anything,
        },
    ),
    max_size=3,
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "text": st.one_of(texts, st.none()),
        "either": st.one_of(texts, st.integers(0, 3)),
        "whole": st.dictionaries(texts, anything, max_size=2),
        "map": st.dictionaries(texts, keyed, max_size=2),
        "items": keyed,
        "set": st.lists(st.one_of(texts, st.integers(-2, 12)), max_size=4),
        "list": st.lists(st.dictionaries(texts, anything, max_size=2), max_size=2),
        "free": st.dictionaries(texts, anything, max_size=3),
    },
)
metadata = st.fixed_dictionaries(
    {"name": texts},
    optional={
        "namespace": texts,
        "creationTimestamp": st.none(),
        "labels": st.dictionaries(texts, texts, max_size=3),
        "annotations": st.dictionaries(texts, texts, max_size=3),
        "finalizers": st.lists(texts, max_size=2),
        "ownerReferences": st.lists(
            st.fixed_dictionaries({"uid": texts}, optional={"name": texts}), max_size=2
        ),
    },
)
objects = st.fixed_dictionaries(
    {"apiVersion": st.just("g/v1"), "kind": st.just("W"), "metadata": metadata},
    optional={"spec": specs, "status": anything, "unknown": anything},
)


def track(live: dict[str, Any] | None, new: dict[str, Any]) -> str:
    return json.dumps(FIELDS.update(live, new, manager="m", now="2026-01-01T00:00:00Z"))


@settings(max_examples=count_examples(150))
@given(objects)
def test_a_new_object_is_owned_as_if_it_were_compared_with_nothing(new: dict[str, Any]) -> None:
    assert track(None, new) == track({}, new)


GET_KEY = build_key_function(build_root_type(NODE))
KNOWN: dict[Hashable, str] = {}


@settings(max_examples=count_examples(150))
@given(objects)
def test_objects_of_the_same_shape_own_the_same_fields(new: dict[str, Any]) -> None:
    key = GET_KEY(new)
    fields = json.dumps(list_new_fields(new, build_root_type(NODE))) if key is not None else ""
    assert KNOWN.setdefault(key, fields) == fields


def build_object(number: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "g/v1",
        "kind": "W",
        "metadata": {"name": f"n{number}", "labels": {"a": str(number)}},
        "spec": {"text": str(number), "items": [{"name": "x", "port": 1}], **spec},
    }


def test_a_shape_is_listed_once() -> None:
    listed: list[Mapping[str, Any]] = []
    kind = build_root_type(NODE)

    def list_fields(value: Mapping[str, Any]) -> Trie:
        listed.append(value)
        return list_new_fields(value, kind)

    shapes = KnownShapes(kind, list_fields)
    objects = [build_object(number) for number in range(CALLS_BEFORE_BUILD + 20)]
    found = [shapes.list_fields(each) for each in objects]
    assert all(fields == found[0] for fields in found)
    assert len(listed) == CALLS_BEFORE_BUILD + 1
    other = build_object(1, items=[{"name": "y", "port": 1}])
    assert shapes.list_fields(other) != found[0]
    free = build_object(1, free={"a": {"b": 1}})
    assert shapes.list_fields(free) == shapes.list_fields(free) == list_new_fields(free, kind)
    assert len(listed) == CALLS_BEFORE_BUILD + 4


def test_objects_that_are_all_different_are_not_kept() -> None:
    kind = build_root_type(NODE)
    shapes = KnownShapes(kind, lambda value: list_new_fields(value, kind))
    for number in range(CALLS_BEFORE_BUILD + 2 * MOST_SHAPES):
        value = build_object(1, items=[{"name": f"item{number}", "port": 1}])
        assert shapes.list_fields(value) == list_new_fields(value, kind)
    assert len(shapes) <= 1


def test_tracking_a_new_object_twice_gives_the_same_and_leaves_it_alone() -> None:
    new = {
        "apiVersion": "g/v1",
        "kind": "W",
        "metadata": {"name": "n", "labels": {"b": "1", "a": "2"}},
        "spec": {"items": [{"name": "x", "more": {"y": {"z": 1}}}], "text": "t"},
    }
    before = json.dumps(new)
    first = FIELDS.update(None, new, manager="m", now="")
    assert first == FIELDS.update(None, new, manager="m", now="")
    assert json.dumps(new) == before
    [entry] = first["metadata"]["managedFields"]
    assert entry["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}},
        "f:spec": {
            ".": {},
            "f:items": {
                ".": {},
                'k:{"name":"x","port":80}': {
                    ".": {},
                    "f:more": {".": {}, "f:y": {".": {}, "f:z": {}}},
                    "f:name": {},
                },
            },
            "f:text": {},
        },
    }


def test_maps_with_members_of_any_name_do_not_fill_the_memory() -> None:
    kind = build_root_type(NODE)
    spec = kind.find_member_type("spec")
    free = spec.find_member_type("free") if spec is not None else None
    assert free is not None
    for number in range(300):
        list_new_fields({"spec": {"free": {f"name{number}": 1}}}, kind)
    list_new_fields({"spec": {"free": {"x" * 10_000: 1}}}, kind)
    assert 0 < len(free.shapes) <= 64
    assert all(len(name) < 100 for names in free.shapes for name in names)
