"""Laws of server-side apply, on random objects."""

from typing import Any

from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta.schema import from_openapi
from quarterdeck.wire.apply import FieldManager, FieldSet
from quarterdeck.wire.apply.managed_fields import decode
from quarterdeck.wire.apply.walk import is_equal
from quarterdeck.wire.status import Conflict

NODE = from_openapi(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "number": {"type": "integer"},
                    "struct": {
                        "type": "object",
                        "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
                    },
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "whole": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "additionalProperties": {"type": "string"},
                    },
                    "items": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
                        },
                    },
                    "set": {
                        "type": "array",
                        "x-kubernetes-list-type": "set",
                        "items": {"type": "string"},
                    },
                    "list": {"type": "array", "items": {"type": "string"}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
    }
)
FIELDS = FieldManager(NODE, "g/v1")

texts = st.sampled_from(["a", "b", "c"])
numbers = st.integers(0, 2)
SPEC: dict[str, st.SearchStrategy[Any]] = {
    "text": texts,
    "number": numbers,
    "struct": st.fixed_dictionaries({}, optional={"x": texts, "y": texts}),
    "map": st.dictionaries(texts, texts, min_size=1, max_size=3),
    "whole": st.dictionaries(texts, texts, max_size=2),
    "items": st.lists(
        st.fixed_dictionaries({"name": texts}, optional={"v": numbers}),
        unique_by=lambda item: item["name"],
        min_size=1,
        max_size=3,
    ),
    "set": st.lists(texts, unique=True, min_size=1, max_size=3),
    "list": st.lists(texts, max_size=3),
    "free": st.dictionaries(texts, st.one_of(texts, numbers, st.booleans()), min_size=1),
}


def objects(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    chosen = {name: SPEC[name] for name in names or SPEC}
    spec = st.fixed_dictionaries({}, optional=chosen)
    return spec.map(
        lambda found: {"apiVersion": "g/v1", "kind": "W", "metadata": {"name": "n"}, "spec": found}
    )


def apply(
    live: dict[str, Any] | None, config: dict[str, Any], manager: str, *, force: bool = True
) -> dict[str, Any]:
    return FIELDS.apply(live, config, manager=manager, force=force, now="T")


def owned(value: dict[str, Any], manager: str) -> FieldSet:
    for key, found in decode(value["metadata"].get("managedFields", [])).owners.items():
        if f'"{manager}"' in key:
            return FieldSet(found.fields)
    return FieldSet()


@settings(max_examples=count_examples(150), deadline=None)
@given(objects(), objects())
def test_apply_is_idempotent(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = apply(apply(None, first, "one"), second, "two")
    again = FIELDS.apply(live, second, manager="two", force=True, now="later")
    assert again == live


@settings(max_examples=count_examples(150), deadline=None)
@given(objects("text", "struct", "items"), objects("number", "map", "set"))
def test_appliers_with_disjoint_fields_commute(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    one_two = apply(apply(None, first, "one", force=False), second, "two", force=False)
    two_one = apply(apply(None, second, "two", force=False), first, "one", force=False)
    assert one_two["spec"] == two_one["spec"]
    for manager in ("one", "two"):
        assert owned(one_two, manager) == owned(two_one, manager)


@settings(max_examples=count_examples(150), deadline=None)
@given(objects(), objects())
def test_after_force_every_applied_field_is_owned_and_set(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    live = apply(apply(None, first, "one"), second, "two")
    alone = apply(None, second, "two")
    assert owned(live, "two") == owned(alone, "two")
    for name in ("text", "number", "list", "whole"):
        if name in second["spec"]:
            assert live["spec"][name] == second["spec"][name]


@settings(max_examples=count_examples(150), deadline=None)
@given(objects())
def test_removal_by_the_only_owner_deletes(config: dict[str, Any]) -> None:
    live = apply(None, config, "one")
    empty = {**config, "spec": {}}
    assert apply(live, empty, "one").get("spec", {}) in ({}, None)


@settings(max_examples=count_examples(150), deadline=None)
@given(objects())
def test_removal_by_one_of_two_owners_keeps(config: dict[str, Any]) -> None:
    live = apply(apply(None, config, "one"), config, "two", force=False)
    left = apply(live, {**config, "spec": {}}, "one")
    assert left.get("spec") == live.get("spec")
    assert owned(left, "two") == owned(live, "two")


@settings(max_examples=count_examples(150), deadline=None)
@given(objects(), objects())
def test_without_force_nothing_others_own_changes(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    live = apply(None, first, "one")
    try:
        after = apply(live, second, "two", force=False)
    except Conflict as error:
        assert error.details is not None and error.details.causes
        return
    assert owned(after, "one") == owned(live, "one")


@settings(max_examples=count_examples(150), deadline=None)
@given(objects(), objects())
def test_updates_own_what_they_change_and_nothing_else(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    live = FIELDS.update(None, before, manager="one", now="T")
    updated = FIELDS.update(live, after, manager="two", now="T")
    assert not owned(updated, "one").intersection(owned(updated, "two"))
    if is_equal(before, after):  # where true is not 1
        assert updated == live


@settings(max_examples=count_examples(100), deadline=None)
@given(objects(), objects())
def test_no_argument_is_changed(first: dict[str, Any], second: dict[str, Any]) -> None:
    live = apply(None, first, "one")
    before = repr((live, second))
    apply(live, second, "two")
    FIELDS.update(live, second, manager="two", now="T")
    assert repr((live, second)) == before
