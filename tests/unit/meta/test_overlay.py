from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.apis.core import Node, Pod
from quarterdeck.meta.objects import decode
from quarterdeck.meta.overlay import apply_overlay


@pytest.mark.parametrize(
    ("original", "before", "after", "expected"),
    [
        pytest.param({"a": 1, "x": 9}, {"a": 1}, {"a": 2}, {"a": 2, "x": 9}, id="changed"),
        pytest.param({"a": 1, "x": 9}, {"a": 1}, {}, {"x": 9}, id="removed"),
        pytest.param({"x": 9}, {}, {"a": 2}, {"a": 2, "x": 9}, id="added"),
        pytest.param({"x": 9}, {"a": 0}, {"a": 0}, {"x": 9}, id="default of the type"),
        pytest.param(
            {"l": [{"v": 1, "x": 9}, {"v": 2, "x": 8}]},
            {"l": [{"v": 1}, {"v": 2}]},
            {"l": [{"v": 1}, {"v": 3}, {"v": 4}]},
            {"l": [{"v": 1, "x": 9}, {"v": 3, "x": 8}, {"v": 4}]},
            id="entries by position",
        ),
        pytest.param(
            {"l": [{"name": "a", "x": 9}, {"name": "b", "x": 8}]},
            {"l": [{"name": "a"}, {"name": "b"}]},
            {"l": [{"name": "c"}, {"name": "b", "v": 1}]},
            {"l": [{"name": "c"}, {"name": "b", "v": 1, "x": 8}]},
            id="entries by name",
        ),
        pytest.param(
            {"l": ["a", "b"]}, {"l": ["a", "b"]}, {"l": ["b"]}, {"l": ["b"]}, id="plain entries"
        ),
        pytest.param(
            {"l": [1, None]}, {"l": [1]}, {"l": [2]}, {"l": [2]}, id="entries that were not read"
        ),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, {"a": 3}, {"a": 3}, id="another type"),
    ],
)
def test_only_the_difference_is_laid_over(
    original: dict[str, Any],
    before: dict[str, Any],
    after: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    assert apply_overlay(original, before=before, after=after) == expected


_json: st.SearchStrategy[Any] = st.recursive(
    st.integers(0, 2) | st.sampled_from(["a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "a", "b"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_documents = st.dictionaries(st.sampled_from(["a", "b", "c"]), _json, max_size=3)


@settings(max_examples=count_examples(200))
@given(_documents, _documents)
def test_with_nothing_unknown_the_result_is_the_new_state(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert apply_overlay(before, before=before, after=after) == after


def test_null_is_absent_inside_lists_and_maps() -> None:
    pod = decode(Pod, b'{"spec":{"containers":[{"name":"a","args":null,"image":null}]}}')
    assert pod.spec.containers[0].args == ()
    node = decode(Node, b'{"status":{"capacity":{"cpu":"1","memory":null}},"metadata":null}')
    assert node.status.capacity == {"cpu": "1"}
