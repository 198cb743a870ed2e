"""Metadata of the usual members is recognized, in whatever order a client sends them."""

import itertools
from typing import Any

import pytest

from quarterdeck.server.registry.plain_metadata import PLAIN_MEMBERS, is_plain, sort_plain

FULL: dict[str, Any] = {
    "name": "a",
    "generateName": "a-",
    "namespace": "default",
    "labels": {"app": "web"},
    "annotations": {"note": ""},
}


def test_usual_members_are_plain_in_every_order_and_sorted_as_go_writes_them() -> None:
    for count in range(len(FULL) + 1):
        for names in itertools.permutations(FULL, count):
            metadata = {name: FULL[name] for name in names}
            assert is_plain(metadata)
            assert list(sort_plain(metadata)) == [each for each in PLAIN_MEMBERS if each in names]
            assert sort_plain(metadata) == metadata


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="list"),
        pytest.param({"uid": "x"}, id="other member"),
        pytest.param({"name": ""}, id="empty name"),
        pytest.param({"name": 1}, id="number for a name"),
        pytest.param({"labels": {}}, id="no labels"),
        pytest.param({"labels": {"a": None}}, id="null label"),
        pytest.param({"labels": {"a": "b", "c": 1}}, id="number for a label"),
        pytest.param({"annotations": ["a"]}, id="list of annotations"),
    ],
)
def test_other_metadata_is_looked_at_closely(metadata: Any) -> None:
    assert not is_plain(metadata)
