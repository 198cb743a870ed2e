"""Sets of fields: FieldsV1 form and the algebra of sets."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.wire.apply import FieldSet, fieldset

elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"s"'])


def tries(depth: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """FieldsV1 documents: a node with children may be a member, one without is."""
    leaf: st.SearchStrategy[dict[str, Any]] = st.just({})
    if depth == 0:
        return leaf

    def node(children: dict[str, Any], member: bool) -> dict[str, Any]:
        return {".": {}, **children} if member and children else children

    inner = st.builds(node, st.dictionaries(elements, tries(depth - 1), max_size=3), st.booleans())
    return st.one_of(leaf, inner) if depth < 3 else st.dictionaries(elements, tries(depth - 1))


sets = tries().map(FieldSet)


def members(fields: FieldSet) -> set[str]:
    return set(fields.paths())


@given(sets, sets)
def test_union_has_the_members_of_either(left: FieldSet, right: FieldSet) -> None:
    assert members(left.union(right)) == members(left) | members(right)


@given(sets, sets)
def test_intersection_has_the_members_of_both(left: FieldSet, right: FieldSet) -> None:
    assert members(left.intersection(right)) == members(left) & members(right)


@given(sets, sets)
def test_difference_has_the_members_the_other_lacks(left: FieldSet, right: FieldSet) -> None:
    assert members(left.difference(right)) == members(left) - members(right)


@given(sets, sets)
def test_recursive_difference_drops_nested_members_too(left: FieldSet, right: FieldSet) -> None:
    kept = {
        path
        for path in members(left)
        if not any(path == gone or _below(path, gone) for gone in members(right))
    }
    assert members(left.recursive_difference(right)) == kept


def _below(path: str, parent: str) -> bool:
    return path.startswith(parent) and path[len(parent) :][:1] in (".", "[")


@given(sets)
def test_reading_back_what_was_written_gives_the_same_set(fields: FieldSet) -> None:
    assert FieldSet.from_fields_v1(fields.to_fields_v1()) == fields


@given(sets, sets)
def test_sets_with_the_same_members_are_equal(left: FieldSet, right: FieldSet) -> None:
    assert (left == right) == (members(left) == members(right))
    assert left.union(right) == right.union(left)
    assert hash(left.union(right)) == hash(right.union(left))


@given(sets, st.lists(elements, min_size=1, max_size=4).map(tuple))
def test_a_path_is_in_the_set_if_a_set_of_it_alone_is_a_part(
    fields: FieldSet, path: tuple[str, ...]
) -> None:
    trie: dict[str, Any] = {}
    for element in reversed(path):
        trie = {element: trie}
    alone = FieldSet(trie)
    assert (path in fields) == (fields.intersection(alone) == alone)
    assert () not in fields


def test_documents_are_written_in_the_order_kubernetes_writes_them() -> None:
    fields = FieldSet.from_fields_v1(
        {
            'v:"b"': {},
            "v:10": {},
            "v:9": {},
            'k:{"port":10}': {},
            'k:{"port":9}': {},
            "f:b": {},
            "f:a": {"f:x": {}, ".": {}},
        }
    )
    written = fields.to_fields_v1()
    assert list(written) == [
        "f:a", "f:b", 'k:{"port":9}', 'k:{"port":10}', "v:9", "v:10", 'v:"b"'
    ]  # fmt: skip
    assert list(written["f:a"]) == [".", "f:x"]


def test_keys_are_read_whatever_their_spelling() -> None:
    spelled = FieldSet.from_fields_v1({'k:{ "b": 1, "a": "<" }': {}})
    assert list(spelled.to_fields_v1()) == ['k:{"a":"\\u003c","b":1}']


def test_members_are_shown_as_people_write_them() -> None:
    fields = FieldSet.from_fields_v1(
        {
            "f:spec": {
                "f:ports": {'k:{"name":"x","port":80}': {".": {}, "f:v": {}}},
                "f:set": {'v:"s"': {}},
            }
        }
    )
    assert list(fields.paths()) == [
        '.spec.ports[name="x",port=80]',
        '.spec.ports[name="x",port=80].v',
        '.spec.set[="s"]',
    ]


def test_elements_of_unknown_kinds_are_dropped() -> None:
    assert FieldSet.from_fields_v1({"z:future": {}, "f:a": {}}) == FieldSet.of("a")


def test_elements_without_a_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="'nonsense'"):
        FieldSet.from_fields_v1({"nonsense": {}})


def test_paths_can_be_looked_up() -> None:
    fields = FieldSet.of("status", "metadata.labels")
    assert ("f:status",) in fields
    assert ("f:metadata", "f:labels") in fields
    assert ("f:metadata",) not in fields
    assert () not in fields
    assert bool(fields) and not FieldSet()
    assert repr(fields) == "FieldSet(.status, .metadata.labels)"


def with_owner(trie: dict[str, Any], uid: str) -> dict[str, Any]:
    references: dict[str, Any] = {".": {}, f'k:{{"uid":"{uid}"}}': {}, 'k:{"uid":"a"}': {}}
    addresses: dict[str, Any] = {
        'k:{"ip":"10.0.0.9"}': {".": {}, "f:ip": {}},
        'k:{"ip":"10.0.0.10"}': {},
    }
    return {**trie, "f:c": {"f:references": references, "f:ips": addresses, "f:d": trie}}


@given(tries(), st.uuids().map(str))
def test_sets_that_name_an_owner_are_read_and_sorted_like_others(
    trie: dict[str, Any], uid: str
) -> None:
    for each in (trie, with_owner(trie, uid)):
        read, written = fieldset.read_fields(each), fieldset.sort_fields(each)
        assert read == fieldset.canonicalize(each)
        assert written == each
        assert msgspec.json.encode(written) == msgspec.json.encode(fieldset.sort_trie(each))
