"""Telling writes that change nothing from those that do."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.schema import Node
from quarterdeck.wire import diff, merge_patch
from quarterdeck.wire.apply import FieldManager


def node() -> Node:
    found = builtins.node(GVK("", "v1", "ConfigMap"))
    assert found is not None
    return found


def config(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def applied(*configs: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    fields = FieldManager(node(), "v1")
    live: dict[str, Any] | None = None
    for manager, wanted in configs:
        live = fields.apply(live, wanted, manager=manager, force=True, now="T")
    assert live is not None
    return {**live, "metadata": {**live["metadata"], "uid": "u", "resourceVersion": "7"}}


values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.booleans(), st.integers(-2, 2), st.text(max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(objects, objects)
def test_the_smallest_merge_patch_leads_from_one_to_the_other(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    patch = diff.merge_patch(before, after)
    assert (patch is None) == merge_patch.same(before, after)
    assert merge_patch.same(merge_patch.apply(before, patch or {}), after)


def test_applying_the_same_again_changes_nothing() -> None:
    live = applied(("me", config(a="1")))
    assert not diff.would_change(live, config(a="1"), node(), manager="me")


def test_an_object_that_is_not_there_is_a_change() -> None:
    assert diff.would_change(None, config(), node(), manager="me")


@pytest.mark.parametrize(
    ("wanted", "manager"),
    [
        pytest.param(config(a="2"), "me", id="another value"),
        pytest.param(config(a="1", b="2"), "me", id="another member"),
        pytest.param(config(), "me", id="a member less"),
        pytest.param(config(a="1"), "you", id="another owner"),
        pytest.param({**config(a="1"), "nope": 1}, "me", id="refused by the server"),
        pytest.param({**config(a="1"), "apiVersion": "v9"}, "me", id="another version"),
    ],
)
def test_whatever_the_server_would_do_is_a_change(wanted: dict[str, Any], manager: str) -> None:
    live = applied(("me", config(a="1")))
    assert diff.would_change(live, wanted, node(), manager=manager)


def test_what_others_own_besides_is_no_change() -> None:
    live = applied(("me", config(a="1")), ("you", config(b="2")))
    assert not diff.would_change(live, config(a="1"), node(), manager="me")


def test_a_field_another_one_took_is_a_change() -> None:
    live = applied(("me", config(a="1", b="1")), ("you", config(b="2")))
    assert diff.would_change(live, config(a="1", b="1"), node(), manager="me")


def test_quantities_are_compared_by_value() -> None:
    found = builtins.node(GVK("", "v1", "ResourceQuota"))
    assert found is not None
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"cpu": "1000m"}},
    }
    live = FieldManager(found, "v1").apply(None, quota, manager="me", force=True, now="T")
    assert live["spec"]["hard"]["cpu"] == "1"
    assert not diff.would_change(live, quota, found, manager="me")


def test_ownership_that_cannot_be_read_is_a_change() -> None:
    live = applied(("me", config(a="1")))
    live["metadata"]["managedFields"] = [{"manager": "me"}]
    assert diff.would_change(live, config(a="1"), node(), manager="me")
