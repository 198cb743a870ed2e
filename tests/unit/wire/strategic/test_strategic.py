"""Directives of strategic merge patch, one by one."""

import json
from typing import Any

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.meta import builtins
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.schema import Node
from quarterdeck.wire import strategic


def node_of(group: str, kind: str) -> Node:
    node = builtins.find_node(GVK(group, "v1", kind))
    assert node is not None
    return node


POD = node_of("", "Pod")
DEPLOYMENT = node_of("apps", "Deployment")
BUDGET = node_of("policy", "PodDisruptionBudget")


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def names(patched: dict[str, Any], field: str = "containers") -> list[str]:
    return [item["name"] for item in patched["spec"][field]]


LIVE = pod(containers=[{"name": "a", "image": "1"}, {"name": "b", "image": "2"}])


def test_items_merge_by_their_key() -> None:
    patched = strategic.apply(LIVE, pod(containers=[{"name": "b", "image": "3"}]), POD)
    assert {item["name"]: item["image"] for item in patched["spec"]["containers"]} == {
        "a": "1",
        "b": "3",
    }


def test_new_items_come_before_those_only_the_server_has() -> None:
    assert names(strategic.apply(LIVE, pod(containers=[{"name": "c"}]), POD)) == ["c", "a", "b"]


def test_an_item_can_be_deleted() -> None:
    patch = pod(containers=[{"name": "a", "$patch": "delete"}])
    assert names(strategic.apply(LIVE, patch, POD)) == ["b"]


def test_a_list_can_be_replaced() -> None:
    patch = pod(containers=[{"name": "z"}, {"$patch": "replace"}])
    assert strategic.apply(LIVE, patch, POD) == pod(containers=[{"name": "z"}])


def test_a_map_can_be_replaced() -> None:
    live = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}
    assert strategic.apply(live, patch, POD) == {"metadata": {"labels": {"c": "3"}}}


def test_a_map_can_be_emptied() -> None:
    patch = {"metadata": {"labels": {"$patch": "delete"}}}
    patched = strategic.apply({"metadata": {"labels": {"a": "1"}}}, patch, POD)
    assert patched == {"metadata": {"labels": {}}}


def test_null_deletes() -> None:
    live = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}
    patch = {"metadata": {"labels": None, "annotations": {"b": None}}}
    assert strategic.apply(live, patch, POD) == {"metadata": {"annotations": {}}}


def test_nulls_of_what_is_new_are_dropped() -> None:
    patched = strategic.apply({}, {"metadata": {"labels": {"a": None, "b": "1"}}}, POD)
    assert patched == {"metadata": {"labels": {"b": "1"}}}


def test_element_order_is_obeyed() -> None:
    patch = pod(**{"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]})
    assert names(strategic.apply(LIVE, patch, POD)) == ["b", "a"]


def test_items_outside_the_order_keep_their_place() -> None:
    live = pod(containers=[{"name": "a"}, {"name": "x"}, {"name": "b"}])
    patch = pod(**{"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]})
    assert names(strategic.apply(live, patch, POD)) == ["x", "b", "a"]


def test_a_renamed_item_stands_behind_those_only_the_server_has() -> None:
    patch = pod(
        **{
            "$setElementOrder/containers": [{"name": "c"}],
            "containers": [{"name": "c"}, {"name": "a", "$patch": "delete"}],
        }
    )
    assert names(strategic.apply(LIVE, patch, POD)) == ["b", "c"]


def test_an_order_that_contradicts_the_patch_is_refused() -> None:
    patch = pod(
        **{
            "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
            "containers": [{"name": "b"}, {"name": "a"}],
        }
    )
    with pytest.raises(strategic.StrategicMergeError, match="doesn't match"):
        strategic.apply(LIVE, patch, POD)


def test_primitives_are_added_and_deleted() -> None:
    live = {"metadata": {"finalizers": ["a", "b"]}}
    added = strategic.apply(live, {"metadata": {"finalizers": ["c", "a"]}}, POD)
    assert sorted(added["metadata"]["finalizers"]) == ["a", "b", "c"]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert strategic.apply(live, patch, POD) == {"metadata": {"finalizers": ["b"]}}


def test_retained_keys_clear_the_others() -> None:
    live = pod(volumes=[{"name": "v", "emptyDir": {}}])
    volume = {"name": "v", "configMap": {"name": "c"}, "$retainKeys": ["name", "configMap"]}
    patched = strategic.apply(live, pod(volumes=[volume]), POD)
    assert patched == pod(volumes=[{"name": "v", "configMap": {"name": "c"}}])


def test_retained_keys_must_name_what_the_patch_sets() -> None:
    patch = {"spec": {"strategy": {"type": "Recreate", "$retainKeys": ["rollingUpdate"]}}}
    with pytest.raises(strategic.StrategicMergeError) as caught:
        strategic.apply({"spec": {"strategy": {"type": "RollingUpdate"}}}, patch, DEPLOYMENT)
    assert caught.value.to_api_error().code == 400


def test_a_replace_strategy_takes_the_patch_whole() -> None:
    live = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch = {"spec": {"selector": {"matchLabels": {"b": "2"}}}}
    assert strategic.apply(live, patch, BUDGET) == patch


def test_atomic_lists_are_replaced() -> None:
    live = pod(containers=[{"name": "a", "command": ["x", "y"]}])
    patch = pod(containers=[{"name": "a", "command": ["z"]}])
    assert strategic.apply(live, patch, POD) == patch


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"spec": {"$patch": "nope"}}, "unknown patch type: nope"),
        (pod(containers=[{"image": "x"}]), "does not contain declared merge key: name"),
        (pod(containers=[{"name": "a", "$patch": "nope"}]), "unknown patch type"),
        (pod(containers=[{"$patch": "merge"}]), "merging lists cannot yet be specified"),
        (pod(containers=[{"$patch": "delete"}]), "does not contain declared merge key"),
        (pod(containers=[["x"]]), "lists of lists"),
        (pod(containers=["x"]), "list element types are not identical"),
        (pod(**{"$setElementOrder/containers": 1}), "setElementOrder"),
        (pod(**{"$setElementOrder": []}), "setElementOrder"),
        ({"metadata": {"$deleteFromPrimitiveList": []}}, "primitive list"),
    ],
)
def test_malformed_patches_say_what_is_wrong(patch: dict[str, Any], message: str) -> None:
    with pytest.raises(strategic.StrategicMergeError, match=message):
        strategic.apply({**LIVE, "metadata": {"finalizers": ["x"]}}, patch, POD)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param({"$retainKeys": "a"}, "invalid patch format of retainKeys", id="retain"),
        pytest.param(
            {"$setElementOrder/containers": {}}, "invalid patch format of setEl", id="no order"
        ),
        pytest.param({"$setElementOrder": []}, "invalid patch format of setEl", id="order of none"),
        pytest.param(
            {"$setElementOrder/containers": [], "containers": {}},
            "invalid patch format of setElementOrder list",
            id="order of an object",
        ),
        pytest.param(
            {"$deleteFromPrimitiveList": ["a"]}, "primitive list", id="primitives of none"
        ),
        pytest.param(
            {"containers": [{"$patch": "merge", "name": "a"}]},
            "merging lists cannot yet be specified in the patch",
            id="merge a list",
        ),
        pytest.param(
            {"containers": [{"$patch": "jump", "name": "a"}]}, "unknown patch type: jump", id="jump"
        ),
    ],
)
def test_broken_directives_are_refused(patch: dict[str, Any], message: str) -> None:
    with pytest.raises(strategic.StrategicMergeError, match=message):
        strategic.apply(LIVE, {"spec": patch}, POD)


@pytest.mark.parametrize(
    ("code", "reason"), [(400, "BadRequest"), (422, "Invalid"), (500, "InternalError")]
)
def test_errors_become_a_status_with_their_code(code: int, reason: str) -> None:
    status = strategic.StrategicMergeError("why", code=code).to_api_error().to_status()
    assert (status["code"], status["reason"], status["message"]) == (code, reason, "why")


def test_maps_without_a_schema_merge_too() -> None:
    live = {"metadata": {"annotations": {"a": "1"}}, "extra": {"x": {"y": 1}, "l": [1]}}
    patch = {"extra": {"x": {"z": 2}, "l": [2]}}
    assert strategic.apply(live, patch, POD)["extra"] == {"x": {"y": 1, "z": 2}, "l": [2]}


def test_a_directive_in_something_new_is_not_kept() -> None:
    patch = {"metadata": {"labels": {"$patch": "delete"}}, "spec": {"x": [{"$patch": "delete"}]}}
    assert strategic.apply({}, patch, POD) == {"metadata": {}, "spec": {"x": []}}
    assert strategic.apply({"spec": 1}, {"spec": {"$patch": "delete"}}, POD) == {}


def test_new_lists_with_an_order_are_ordered() -> None:
    patch = pod(
        **{
            "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
            "containers": [{"name": "a"}, {"name": "b"}, {"name": "c", "$patch": "delete"}],
        }
    )
    assert names(strategic.apply({"spec": {}}, patch, POD)) == ["a", "b"]


def test_an_element_order_without_a_list_is_ignored() -> None:
    patch = pod(**{"$setElementOrder/containers": [{"name": "a"}]})
    assert strategic.apply({"spec": {}}, patch, POD) == {"spec": {}}


def test_three_way_patch_drops_what_was_applied_and_keeps_what_others_added() -> None:
    original = pod(containers=[{"name": "a", "env": [{"name": "X", "value": "1"}]}])
    modified = pod(containers=[{"name": "a", "image": "new"}])
    current = pod(
        containers=[{"name": "a", "image": "old", "env": [{"name": "X", "value": "1"}]}],
        dnsPolicy="ClusterFirst",
    )
    patch = strategic.create(original, modified, current, POD)
    assert strategic.apply(current, patch, POD) == pod(
        containers=[{"name": "a", "image": "new"}], dnsPolicy="ClusterFirst"
    )


def test_three_way_patch_of_the_same_is_empty() -> None:
    assert strategic.create(LIVE, LIVE, LIVE, POD) == {}


@pytest.mark.parametrize(
    "modified",
    [
        {"kind": "Other", "metadata": {"name": "a"}},
        {"kind": "Pod", "metadata": {"name": "b"}},
    ],
)
def test_three_way_patch_never_changes_identity(modified: dict[str, Any]) -> None:
    current = {"kind": "Pod", "metadata": {"name": "a"}}
    with pytest.raises(strategic.PreconditionFailed, match="may not change"):
        strategic.create(current, modified, current, POD)


texts = st.sampled_from(["a", "b", "c"])


def items(key: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    item = st.fixed_dictionaries({key: texts}, optional=members)
    return st.lists(item, max_size=3, unique_by=lambda found: str(found[key]))


containers = items(
    "name",
    image=texts,
    env=items("name", value=texts),
    volumeMounts=items("mountPath", name=texts),
    command=st.lists(texts, max_size=2),
    resources=st.fixed_dictionaries({}, optional={"limits": st.dictionaries(texts, texts)}),
)
pods = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p")},
            optional={
                "labels": st.dictionaries(texts, texts),
                "finalizers": st.lists(texts, unique=True, max_size=3),
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": containers}, optional={"nodeSelector": st.dictionaries(texts, texts)}
        ),
    }
)


@settings(max_examples=count_examples(150), deadline=None)
@given(pods, pods)
def test_applying_a_two_way_patch_gives_the_other_object(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert strategic.apply(before, strategic.diff(before, after, POD), POD) == after


@settings(max_examples=count_examples(150), deadline=None)
@given(pods, pods)
def test_three_way_patch_applied_to_its_original_gives_the_modified(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    patch = strategic.create(before, after, before, POD)
    assert strategic.apply(before, patch, POD) == after


@settings(max_examples=count_examples(100), deadline=None)
@given(pods, pods)
def test_applying_changes_no_argument(live: dict[str, Any], patch: dict[str, Any]) -> None:
    before = json.dumps([live, patch])
    strategic.apply(live, patch, POD)
    assert json.dumps([live, patch]) == before
