"""Comparing, merging and reading objects by type."""

from typing import Any

import pytest

from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.wire.apply.fieldset import FieldSet
from quarterdeck.wire.apply.merger import merge, remove, with_named_fields
from quarterdeck.wire.apply.schema_type import DEDUCED, ItemError, Type, build_type
from quarterdeck.wire.apply.walk import compare, find_problems, is_equal, list_fields

ITEMS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "v": {"type": "integer"}},
    },
}
TYPE = build_type(
    from_openapi(
        {
            "type": "object",
            "properties": {
                "items": ITEMS,
                "set": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "list": {"type": "array", "items": {"type": "string"}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "closed": {"type": "object", "properties": {"a": {"type": "string"}}},
                "anything": {"x-kubernetes-preserve-unknown-fields": True},
                "any-map": {"type": "object", "additionalProperties": True},
                "merged": {
                    "type": "array",
                    "x-kubernetes-patch-strategy": "merge",
                    "x-kubernetes-patch-merge-key": "name",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                },
            },
        }
    )
)


def differences(left: dict[str, Any], right: dict[str, Any]) -> tuple[set[str], set[str], set[str]]:
    removed, modified, added = (set(FieldSet(trie).paths()) for trie in compare(left, right, TYPE))
    return removed, modified, added


NONE: set[str] = set()


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        pytest.param({"list": ["a"]}, {"list": ["a"]}, (NONE, NONE, NONE), id="equal"),
        pytest.param({}, {"list": ["a"]}, (NONE, NONE, {".list"}), id="added leaf"),
        pytest.param(
            {}, {"map": {"a": "1"}}, (NONE, NONE, {".map", ".map.a"}), id="added with its parent"
        ),
        pytest.param(
            {"map": {"a": "1"}}, {}, ({".map", ".map.a"}, NONE, NONE), id="removed with its parent"
        ),
        pytest.param({"map": {"a": "1"}}, {"map": {"a": "2"}}, (NONE, {".map.a"}, NONE), id="map"),
        pytest.param({"map": None}, {"map": {"a": "1"}}, (NONE, NONE, {".map.a"}), id="from null"),
        pytest.param({"map": {"a": "1"}}, {"map": None}, ({".map.a"}, NONE, NONE), id="to null"),
        pytest.param({"map": None}, {"map": {}}, (NONE, {".map"}, NONE), id="null and empty"),
        pytest.param({"set": None}, {"set": []}, (NONE, {".set"}, NONE), id="null and no items"),
        pytest.param(
            {"set": ["a", "a"]}, {"set": ["a"]}, ({'.set[="a"]'}, NONE, {'.set[="a"]'}), id="fewer"
        ),
        pytest.param(
            {"set": ["a"]}, {"set": ["a", "a"]}, ({'.set[="a"]'}, NONE, {'.set[="a"]'}), id="more"
        ),
        pytest.param(
            {"set": ["a", "a"]}, {"set": []}, ({'.set[="a"]'}, NONE, NONE), id="none left"
        ),
        pytest.param({"set": []}, {"set": ["a", "a"]}, (NONE, NONE, {'.set[="a"]'}), id="two new"),
        pytest.param(
            {"items": [{"name": "x", "v": 1}, {"name": "x", "v": 2}]},
            {"items": [{"name": "x", "v": 2}, {"name": "x", "v": 1}]},
            (NONE, {'.items[name="x"]'}, NONE),
            id="duplicates changed",
        ),
        pytest.param(
            {"items": [{"name": "x", "v": 1}, {"name": "x", "v": 2}]},
            {"items": [{"name": "x", "v": 1}, {"name": "x", "v": 2}], "list": ["a"]},
            (NONE, NONE, {".list"}),
            id="duplicates the same",
        ),
        pytest.param(
            {"anything": {"a": {"b": 1}}},
            {"anything": {"a": 1}},
            ({".anything.a.b"}, {".anything.a"}, NONE),
            id="object became a scalar",
        ),
        pytest.param(
            {"anything": {"a": 1}},
            {"anything": {"a": {"b": 1}}},
            (NONE, {".anything.a"}, {".anything.a.b"}),
            id="scalar became an object",
        ),
    ],
)
def test_differences_are_named_by_kind(
    left: dict[str, Any],
    right: dict[str, Any],
    expected: tuple[set[str], set[str], set[str]],
) -> None:
    assert differences(left, right) == expected


def test_equality_looks_into_containers() -> None:
    assert is_equal({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2}]})
    assert is_equal({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not is_equal({"a": [True]}, {"a": [1]})
    assert not is_equal([0], [False])


def test_null_in_a_configuration_keeps_what_merges_by_key() -> None:
    live = {"map": {"a": "1"}, "set": ["a"], "list": ["a"]}
    config = {"map": None, "set": None, "list": None}
    assert merge(live, config, TYPE) == {**live, "list": None}


def test_merging_drops_undeclared_fields() -> None:
    assert merge({}, {"closed": {"a": "1"}}, TYPE) == {"closed": {"a": "1"}}
    assert merge({}, {"nope": 1}, TYPE) == {}


def test_an_item_that_stands_twice_is_replaced() -> None:
    live = {"items": [{"name": "x", "v": 1}, {"name": "x", "v": 2}, {"name": "y"}]}
    merged = merge(live, {"items": [{"name": "x"}]}, TYPE)
    assert merged == {"items": [{"name": "x"}, {"name": "y"}]}


def test_a_configuration_with_an_item_twice_is_refused() -> None:
    with pytest.raises(ItemError, match="duplicate entries"):
        merge({"set": ["a"]}, {"set": ["b", "b"]}, TYPE)


def test_removal_leaves_null_where_all_went() -> None:
    live = {"map": {"a": "1"}, "items": [{"name": "x", "v": 1}], "list": ["a"], "set": ["a"]}
    gone = FieldSet.from_fields_v1(
        {
            "f:map": {"f:a": {}},
            "f:items": {'k:{"name":"x"}': {"f:v": {}}},
            "f:list": {"f:nothing": {}},
            "f:set": {'v:"a"': {}},
        }
    )
    assert remove(live, gone.trie, TYPE) == {
        "map": None,
        "items": [{"name": "x"}],
        "list": None,
        "set": None,
    }


def test_removing_no_fields_gives_an_equal_object() -> None:
    live = {"map": {"a": "1"}}
    assert remove(live, {}, TYPE) == live


def test_removal_below_scalars_keeps_them() -> None:
    trie = FieldSet.from_fields_v1({"f:closed": {"f:a": {"f:b": {}}}}).trie
    assert remove({"closed": {"a": "1"}}, trie, TYPE) == {"closed": {"a": "1"}}


def test_named_fields_become_members_and_map_entries_do_not() -> None:
    trie = FieldSet.from_fields_v1(
        {"f:closed": {"f:a": {}}, "f:any-map": {"f:k": {"f:x": {}}}, "f:what": {"f:x": {}}}
    ).trie
    assert set(FieldSet(with_named_fields(trie, TYPE)).paths()) == {
        ".closed", ".closed.a", ".any-map", ".any-map.k.x", ".what.x"
    }  # fmt: skip


def test_merge_keys_of_patches_stand_in_for_list_keys() -> None:
    fields = list_fields({"merged": [{"name": "x"}]}, TYPE)
    assert list(FieldSet(fields).paths()) == ['.merged[name="x"]', '.merged[name="x"].name']


def test_undeclared_members_are_not_listed_as_fields() -> None:
    assert list_fields({"closed": {"zzz": 1}}, TYPE) == {}


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([None], "may not have a null element"),
        (["x"], "may not have non-map elements"),
    ],
)
def test_items_need_an_identity(items: list[Any], problem: str) -> None:
    assert problem in find_problems({"items": items}, TYPE, unique=True)[0]


@pytest.mark.parametrize(
    ("value", "problem"),
    [([{}], "has an element that's a map type"), ([[]], "lists as elements")],
)
def test_sets_hold_scalars(value: list[Any], problem: str) -> None:
    assert problem in find_problems({"set": value}, TYPE, unique=True)[0]


@pytest.mark.parametrize("value", [True, "x", 1.5, 1, [], {}])
def test_values_that_are_not_numbers_are_named_by_go_type(value: object) -> None:
    node = from_openapi({"type": "object", "properties": {"n": {"type": "integer"}}})
    names = {bool: "bool", str: "string", list: "[]interface {}", dict: "map[string]interface {}"}
    found = find_problems({"n": value}, build_type(node), unique=True)
    if type(value) in names:
        assert found == [f".n: expected numeric (int or float), got {names[type(value)]}"]
    else:
        assert found == []


def test_strings_of_a_format_are_any_scalar() -> None:
    node = from_openapi(
        {"type": "object", "properties": {"t": {"type": "string", "format": "date-time"}}}
    )
    assert find_problems({"t": 1}, build_type(node), unique=True) == []
    assert find_problems({"t": {}}, build_type(node), unique=True) == [
        ".t: expected any scalar, got &{map[]}"
    ]


def test_an_array_without_items_is_taken_whole() -> None:
    kind = Type(Node(type="array"))
    assert kind.item.map_atomic and DEDUCED.item.map_atomic
