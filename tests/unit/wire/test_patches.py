import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire import json_patch, merge_patch
from quarterdeck.wire.json_patch import JsonPatchError, MalformedPatch

keys = st.sampled_from(["a", "b", "c/d", "e~f", ""])
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3)
documents: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, documents, max_size=4)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value


@given(objects, objects)
def test_a_created_merge_patch_leads_from_before_to_after(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    after = without_nulls(after)
    untouched = copy.deepcopy(before)
    result = merge_patch.apply(before, merge_patch.create(before, after))
    assert merge_patch.is_equal(result, after)
    assert before == untouched


@given(objects)
def test_a_merge_patch_between_equals_is_empty(document: dict[str, Any]) -> None:
    document = without_nulls(document)
    assert merge_patch.create(document, document) == {}


@given(documents, documents)
def test_a_created_json_patch_leads_from_before_to_after(before: Any, after: Any) -> None:
    untouched = copy.deepcopy(before)
    operations = json_patch.create(before, after)
    assert merge_patch.is_equal(json_patch.apply(before, operations), after)
    assert before == untouched
    assert json_patch.parse([each.to_json() for each in operations]) == operations


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        (["a"], {"a": "b", "c": None}, {"a": "b"}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merge_patch_follows_rfc_7386(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch.apply(target, patch) == expected


def patched(document: Any, *operations: dict[str, Any]) -> Any:
    return json_patch.apply(document, json_patch.parse(list(operations)))


def test_json_patch_follows_rfc_6902() -> None:
    assert patched({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}) == {"a": [1, 2, 3]}
    assert patched({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}) == {"a": [1, 2]}
    assert patched({"a/b": 1}, {"op": "remove", "path": "/a~1b"}) == {}
    assert patched({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}) == {"b": 1}
    assert patched({"a": {"x": 1}}, {"op": "copy", "from": "/a", "path": "/b"}) == {
        "a": {"x": 1},
        "b": {"x": 1},
    }
    assert patched({"a": 1}, {"op": "replace", "path": "", "value": 2}) == 2
    assert patched({"a": None}, {"op": "test", "path": "/a", "value": None}) == {"a": None}


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/a", "value": 2}, id="a test that fails"),
        pytest.param({"op": "test", "path": "/a", "value": True}, id="one is not true"),
        pytest.param({"op": "remove", "path": "/b"}, id="remove what is not there"),
        pytest.param({"op": "add", "path": "", "value": {}}, id="add the whole document"),
        pytest.param({"op": "test", "path": "/b/c", "value": None}, id="a test without parent"),
        pytest.param({"op": "add", "path": "/b/c", "value": 1}, id="no parent"),
        pytest.param({"op": "add", "path": "/l/9", "value": 1}, id="index out of range"),
        pytest.param({"op": "remove", "path": "/l/-1"}, id="negative index"),
        pytest.param({"op": "remove", "path": "/l/01"}, id="leading zero"),
        pytest.param({"op": "add", "path": "/a/x", "value": 1}, id="into a scalar"),
        pytest.param({"op": "add", "path": "a", "value": 1}, id="no slash"),
    ],
)
def test_an_operation_that_cannot_be_done_leaves_the_document(operation: dict[str, Any]) -> None:
    document = {"a": 1, "l": [1]}
    with pytest.raises(JsonPatchError) as caught:
        patched(document, {"op": "add", "path": "/z", "value": 1}, operation)
    assert caught.value.index == 1
    assert document == {"a": 1, "l": [1]}


def test_a_missing_member_passes_a_test_for_null() -> None:
    document = {"a": 1}
    operations = json_patch.parse([{"op": "test", "path": "/b", "value": None}])
    assert json_patch.apply(document, operations) == document


@pytest.mark.parametrize(
    "document",
    [{}, ["x"], [{"op": "jump", "path": "/a"}], [{"op": "add"}], [{"op": "move", "path": "/a"}]],
)
def test_a_document_that_is_not_a_patch_is_refused(document: Any) -> None:
    with pytest.raises(MalformedPatch):
        json_patch.parse(document)


@pytest.mark.parametrize(
    ("document", "operation", "expected"),
    [
        pytest.param(
            {"a": 1}, {"op": "replace", "path": "/b", "value": 2}, {"a": 1, "b": 2}, id="new"
        ),
        pytest.param(
            {"a": 1}, {"op": "copy", "from": "/x", "path": "/b"}, {"a": 1, "b": None}, id="copy"
        ),
        pytest.param([1, 2], {"op": "replace", "path": "/1", "value": 3}, [1, 3], id="in a list"),
        pytest.param(
            [[1], [2]], {"op": "copy", "from": "/1/0", "path": "/0/-"}, [[1, 2], [2]], id="nested"
        ),
        pytest.param({"a": 1}, {"op": "test", "path": "", "value": {"a": 1}}, {"a": 1}, id="root"),
    ],
)
def test_pointers_reach_roots_and_lists(
    document: Any, operation: dict[str, Any], expected: Any
) -> None:
    assert json_patch.apply(document, json_patch.parse([operation])) == expected


@pytest.mark.parametrize("path", ["/b", "/a/b", "/2"], ids=["absent", "below a number", "too far"])
def test_a_test_of_what_is_not_there_fails(path: str) -> None:
    operations = json_patch.parse([{"op": "test", "path": path, "value": 1}])
    with pytest.raises(json_patch.JsonPatchError):
        json_patch.apply({"a": 1}, operations)


def test_a_merge_patch_that_is_no_object_replaces_the_target() -> None:
    assert merge_patch.apply({"a": 1}, [1]) == [1]


def test_copies_of_copies_are_bounded() -> None:
    document = {"a": ["x" * 64]}
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/{index}"} for index in range(60)]
    with pytest.raises(json_patch.JsonPatchError, match="exceeding the limit 3145728"):
        json_patch.apply(document, json_patch.parse(doubling))
