"""What mutations of a policy do to objects, whatever the objects are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.cel import Budget
from quarterdeck.cel.values import Duration, Message
from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.policies.mutation import (
    MutatingPolicy,
    MutationFailed,
    mutate,
    to_json,
)

Object = dict[str, Any]
NAMES = st.text("abcdef", min_size=1, max_size=4)
LABELS = st.dictionaries(NAMES, NAMES, max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


def run(kind: str, patch_type: str, expression: str, value: Object, **known: Any) -> Object:
    member = "jsonPatch" if patch_type == "JSONPatch" else "applyConfiguration"
    spec: Object = {"mutations": [{"patchType": patch_type, member: {"expression": expression}}]}
    if known:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    policy = MutatingPolicy({"metadata": {"name": "p"}, "spec": spec})
    node = builtins.find_node(GVK("", "v1", kind))
    assert node is not None
    (mutation,) = policy.programs.mutations
    variables = {"object": value, "oldObject": None, **known}
    return mutate(policy, mutation, variables, node=node, budget=Budget(size=1000))


def config_map(labels: Object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": labels}}


@given(LABELS, LABELS)
def test_configuration_adds_and_replaces_and_never_removes(before: Object, added: Object) -> None:
    expression = "Object{metadata: Object.metadata{labels: params.data}}"
    value = config_map(before)
    once = run("ConfigMap", "ApplyConfiguration", expression, value, params={"data": added})
    assert once["metadata"]["labels"] == {**before, **added}
    assert once["metadata"]["name"] == "a"
    again = run("ConfigMap", "ApplyConfiguration", expression, once, params={"data": added})
    assert again == once
    assert value == config_map(before), "the object itself is left as it was"


@given(st.lists(NAMES, unique=True, max_size=4), st.lists(NAMES, unique=True, max_size=4))
def test_items_are_merged_by_their_names(before: list[str], added: list[str]) -> None:
    expression = (
        "Object{spec: Object.spec{containers: params.data.names.map(n,"
        " Object.spec.containers{name: n, image: 'new'})}}"
    )
    containers = [{"name": name, "image": "old", "tty": True} for name in before]
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": containers},
    }
    params = {"data": {"names": added}}
    found = run("Pod", "ApplyConfiguration", expression, value, params=params)
    merged = {each["name"]: each for each in found["spec"]["containers"]}
    assert set(merged) == {*before, *added}
    assert all(merged[name]["image"] == "new" for name in added)
    assert all(merged[name]["tty"] for name in before)


@given(LABELS)
def test_patch_does_what_its_operations_say(labels: Object) -> None:
    expression = (
        "object.metadata.labels.map(k, JSONPatch{op: 'remove',"
        " path: '/metadata/labels/' + jsonpatch.escapeKey(k)})"
    )
    found = run("ConfigMap", "JSONPatch", expression, config_map(labels))
    assert found["metadata"]["labels"] == {}


@given(JSON)
def test_values_of_objects_stay_the_json_they_are(value: Any) -> None:
    assert to_json(value) == value


def test_other_values_become_json_or_an_error() -> None:
    assert to_json(Message("Object", {"a": [Message("Object.a", {"b": Duration(10**9)})]})) == {
        "a": [{"b": "1s"}]
    }
    assert to_json(b"ab") == "YWI="
    with pytest.raises(MutationFailed, match="is not a string"):
        to_json({1: 2})
    with pytest.raises(MutationFailed, match="cannot become JSON"):
        to_json(object())
