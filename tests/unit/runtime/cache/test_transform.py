"""What is kept of an object in memory."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.runtime.cache.snapshot import read_head
from quarterdeck.runtime.cache.transform import keep_all, keep_managed_fields_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "manager": st.sampled_from(["ours", "kubectl", '"ours"', "o"]),
            "operation": st.sampled_from(["Apply", "Update"]),
            "subresource": st.sampled_from(["", "status"]),
            "fieldsV1": JSON,
        }
    ),
    max_size=4,
)


def trimmed(document: Any, manager: str = "ours") -> Any:
    raw = msgspec.json.encode(document)
    return msgspec.json.decode(keep_managed_fields_of(manager)(raw, read_head(raw).metadata))


@given(entries=ENTRIES, rest=JSON, name=st.text(max_size=5))
def test_only_the_entries_of_others_are_dropped(entries: Any, rest: Any, name: str) -> None:
    metadata = {"name": name, "managedFields": entries, "uid": "u"}
    ours = {"manager": "ours", "operation": "Apply", "subresource": ""}
    kept = [entry for entry in entries if entry | ours == entry]
    found = trimmed({"kind": "Thing", "metadata": metadata, "spec": rest})
    assert found == {
        "kind": "Thing",
        "metadata": {**metadata, "managedFields": kept},
        "spec": rest,
    }


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"metadata": {"name": "a"}}, id="no managed fields"),
        pytest.param({"metadata": {"managedFields": "Apply"}}, id="no list"),
        pytest.param({"metadata": {"managedFields": [7, "Apply"]}}, id="no entries"),
        pytest.param(
            {
                "data": {"managedFields": [{"manager": "b"}]},
                "metadata": {"managedFields": [{"manager": "b"}]},
            },
            id="a second field of that name",
        ),
        pytest.param({"spec": {"managedFields": [{"manager": "b"}]}}, id="only elsewhere"),
    ],
)
def test_what_is_not_understood_is_kept_whole(document: Any) -> None:
    # An entry that mentions our name and an apply makes the list be decoded.
    assert trimmed(document, manager="") == document


def test_a_name_inside_a_string_is_no_field() -> None:
    note = '{"managedFields":[{"manager":"b"}]}'
    document = {
        "metadata": {"annotations": {"last": note}, "managedFields": [{"manager": "b"}]},
    }
    found = trimmed(document)
    assert found["metadata"] == {"annotations": {"last": note}, "managedFields": []}


def test_everything_can_be_kept() -> None:
    raw = b'{"metadata":{"managedFields":[{"manager":"b"}]}}'
    assert keep_all(raw, read_head(raw).metadata) is raw
