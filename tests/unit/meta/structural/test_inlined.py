"""Schemas as source decide what the closures decide, and say so only where they know it."""

import copy
import math
from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta.schema import Node, from_openapi
from quarterdeck.meta.structural import compile_schema, fast
from quarterdeck.meta.structural.admit import DefaultsTooLarge, DefaultWalk, Task
from quarterdeck.meta.structural.duplicates import compile_finder
from quarterdeck.meta.structural.inlined.acceptance import build_acceptance
from quarterdeck.meta.structural.inlined.defaulting import build_defaulting
from quarterdeck.meta.structural.inlined.distinctness import build_distinctness
from quarterdeck.meta.structural.inlined.pruning import build_pruning_check, has_large_integer
from quarterdeck.meta.structural.inlined.source import MAX_NODES, MAX_PROPERTIES
from quarterdeck.meta.structural.inlined.warming import CALLS_BEFORE_BUILD

STRINGS = ["", "a", "ab"]
INTEGERS = [-1, 0, 1, 3, 2**63 - 1, 2**63, -(2**63) - 1]
leaves = st.sampled_from(
    [
        {"type": "integer", "minimum": 0, "maximum": 2**63},
        {"type": "integer", "default": 3},
        {"type": "number", "maximum": 2},
        {"type": "string", "maxLength": 1},
        {"type": "string", "minLength": 1, "pattern": "^a"},
        {"type": "string", "enum": ["a", ""], "default": "a"},
        {"type": "string", "enum": ["a"], "nullable": True},
        {"type": "string", "format": "date-time"},
        {"type": "boolean", "nullable": True, "default": True},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "default": {"a": [1]}, "x-kubernetes-preserve-unknown-fields": True},
        {"type": "string", "anyOf": [{"minLength": 1}, {"maxLength": 0}]},
    ]
)
flags = st.sampled_from(
    [{}, {}, {"x-kubernetes-preserve-unknown-fields": True}, {"nullable": True}]
)


def extend(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    members = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    items = st.builds(
        lambda parts: {
            "type": "object",
            "properties": {**parts, "a": {"type": "string", "default": "a"}},
        },
        members,
    )
    return st.one_of(
        st.builds(
            lambda parts, names, more: {
                "type": "object",
                "properties": parts,
                "required": names,
                **more,
            },
            members,
            st.lists(st.sampled_from("abc"), max_size=1),
            flags,
        ),
        st.builds(lambda item: {"type": "array", "items": item, "maxItems": 2}, inner),
        st.builds(
            lambda item: {"type": "array", "items": item, "x-kubernetes-list-type": "set"}, leaves
        ),
        st.builds(
            lambda item: {
                "type": "array",
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
            },
            items,
        ),
        st.builds(
            lambda item: {"type": "object", "additionalProperties": item, "maxProperties": 2}, inner
        ),
    )


documents = st.recursive(leaves, extend, max_leaves=6)
anything = st.recursive(
    st.sampled_from([None, True, 1.5, *STRINGS, *INTEGERS]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def fitting(draw: st.DrawFn, document: dict[str, Any]) -> Any:
    """A value that mostly has the types of a schema."""
    if draw(st.integers(0, 11)) == 0:
        return draw(anything)
    match document.get("type"):
        case "object" if "additionalProperties" in document:
            each = fitting(document["additionalProperties"])
            return draw(st.dictionaries(st.sampled_from("abcd"), each, max_size=3))
        case "object":
            members = {name: fitting(each) for name, each in document.get("properties", {}).items()}
            return draw(st.fixed_dictionaries({}, optional=members))
        case "array":
            return draw(st.lists(fitting(document["items"]), max_size=3))
        case "integer":
            return draw(st.sampled_from(INTEGERS))
        case "boolean":
            return draw(st.booleans())
        case "number":
            return draw(st.sampled_from([1, 2.5, 2**64]))
        case _:
            return draw(st.sampled_from(STRINGS))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Node, Any]:
    parts = draw(st.dictionaries(st.sampled_from("abc"), documents, min_size=1, max_size=3))
    document = {"type": "object", "properties": parts}
    value = draw(fitting(document))
    if type(value) is dict and draw(st.booleans()):
        value |= {"apiVersion": "v1", "kind": "K", "metadata": draw(anything)}
    return from_openapi(document), value


@settings(max_examples=count_examples(150), deadline=None)
@given(cases())
def test_source_accepts_exactly_what_the_closures_accept(case: tuple[Node, Any]) -> None:
    node, value = case
    assert build_acceptance(node)(value) == fast.compile_predicate(node)(value)


@settings(max_examples=count_examples(150), deadline=None)
@given(cases())
def test_what_is_called_ordinary_is_left_alone_by_pruning(case: tuple[Node, Any]) -> None:
    node, value = case
    if build_pruning_check(node, is_root=True)(value):
        before = copy.deepcopy(value)
        assert compile_schema(node).prune(value).unknown == ()
        members = {name: each for name, each in value.items() if name != "metadata"}
        assert value == before and not has_large_integer(members)


@settings(max_examples=count_examples(150), deadline=None)
@given(cases())
def test_source_fills_in_what_the_walk_fills_in(case: tuple[Node, Any]) -> None:
    node, value = case
    walk = DefaultWalk(node, Task.DEFAULT, is_root=True)
    expected = copy.deepcopy(value)
    walk.run(expected)
    fill = build_defaulting(node, is_root=True, factory_of=walk.find_factory, is_idle=walk.is_idle)
    attempted = copy.deepcopy(value)
    if fill(attempted):
        assert repr(attempted) == repr(expected)
    walk.run_after(fill)(value)
    assert value == expected


@settings(max_examples=count_examples(150), deadline=None)
@given(cases())
def test_what_is_called_distinct_has_no_doubled_members(case: tuple[Node, Any]) -> None:
    node, value = case
    find = compile_finder(node)
    if find is not None and build_distinctness(node)(value):
        assert find(value, "") == []


def build_ports(count: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "spec": {"size": 1, "ports": [{"name": f"p{number}"} for number in range(count)]},
    }


SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0},
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
}


def test_an_ordinary_object_is_known_to_be_good_without_the_closures() -> None:
    node = from_openapi({"type": "object", "properties": {"spec": SPEC}})
    value = build_ports(2)
    assert build_pruning_check(node, is_root=True)(value)
    assert build_distinctness(node)(value)
    assert not build_distinctness(node)({"spec": {"ports": [{"name": "a"}, {"name": "a"}]}})
    assert not build_pruning_check(node, is_root=True)({**value, "other": 1})
    assert not build_pruning_check(node, is_root=True)({"spec": {"size": 2**64}})


def test_a_schema_is_compiled_to_source_after_some_calls_and_decides_the_same() -> None:
    schema = compile_schema(from_openapi({"type": "object", "properties": {"spec": SPEC}}))
    good, doubled = build_ports(2), {"spec": {"ports": [{"name": "a"}, {"name": "a"}]}}
    found = [
        (
            schema.is_unchanged_by_pruning(good),
            schema.validate(good),
            schema.find_duplicates(good),
            [error.field for error in schema.find_duplicates(doubled)],
            [error.field for error in schema.validate({"spec": {"size": -1}})],
        )
        for _ in range(CALLS_BEFORE_BUILD + 2)
    ]
    assert found[0] == (False, [], [], ["spec.ports[1]"], ["spec.size"])
    assert found[-1] == (True, [], [], ["spec.ports[1]"], ["spec.size"])
    assert schema.is_valid.__code__.co_filename == "<schema>"


@pytest.mark.parametrize("count", [MAX_PROPERTIES, MAX_PROPERTIES + 1, MAX_NODES * 2])
def test_wide_schemas_are_decided_by_the_closures(count: int) -> None:
    parts = {f"m{number}": {"type": "integer", "minimum": 0} for number in range(count)}
    node = from_openapi({"type": "object", "properties": {"spec": {**SPEC, "properties": parts}}})
    accepts = build_acceptance(node)
    assert accepts({"spec": {f"m{count - 1}": 1}})
    assert not accepts({"spec": {f"m{count - 1}": -1}})
    ordinary = build_pruning_check(node, is_root=True)({"spec": {"m0": 1}})
    assert ordinary == (count <= MAX_PROPERTIES)


def test_deep_schemas_are_compiled() -> None:
    document: dict[str, Any] = {"type": "integer", "minimum": 0}
    value: Any = 1
    wrong: Any = -1
    for _ in range(40):
        document = {"type": "array", "items": {"type": "object", "properties": {"a": document}}}
        value, wrong = [{"a": value}], [{"a": wrong}]
    node = from_openapi({"type": "object", "properties": {"spec": document}})
    accepts = build_acceptance(node)
    assert accepts({"spec": value}) and not accepts({"spec": wrong})
    assert not build_pruning_check(node, is_root=True)({"spec": value})


def test_defaults_are_bounded_though_a_part_was_filled_in_by_source() -> None:
    item = {"type": "object", "properties": {"text": {"type": "string", "default": "x" * 10_000}}}
    schema = compile_schema(
        from_openapi({"type": "object", "properties": {"items": {"type": "array", "items": item}}})
    )
    for _ in range(CALLS_BEFORE_BUILD):
        schema.default({"items": [{}]})
    for extra in ([], [{"text": None}]):
        with pytest.raises(DefaultsTooLarge):
            schema.default({"items": [*({} for _ in range(420)), *extra]})
    schema.default({"items": [{} for _ in range(400)]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**63 - 1, False),
        (2**63, True),
        ({"a": [{"b": -(2**63) - 1}]}, True),
        ({"a": ["x", {"b": -(2**63)}, math.inf, None, True]}, False),
    ],
)
def test_integers_beyond_64_bits_are_found(value: Any, *, expected: bool) -> None:
    assert has_large_integer(value) == expected


def test_names_and_limits_of_any_form_are_compiled() -> None:
    names = ["'", '"', "\\", "a\nb", "{x}", "", "def", "ä" * 50]
    parts = {name: {"type": "string", "maxLength": 2, "default": name[:2]} for name in names}
    node = from_openapi({"type": "object", "properties": parts, "required": names})
    walk = DefaultWalk(node, Task.DEFAULT, is_root=True)
    value: dict[str, Any] = {}
    fill = build_defaulting(node, is_root=True, factory_of=walk.find_factory, is_idle=walk.is_idle)
    assert fill(value) and value == {name: name[:2] for name in names}
    assert build_acceptance(node)(value) and build_pruning_check(node, is_root=True)(value)
    assert not build_acceptance(node)({**value, "def": "long"})
    node.properties["def"].max_length = math.inf  # type: ignore[assignment]
    assert build_acceptance(node)({**value, "def": "long"})
